"""The kinds of paper: letter, court order, form and deposition transcript, each from one source."""

from __future__ import annotations

import textwrap
from typing import Any

from printing.blocks import parse
from printing.paper import FACES, HEIGHT, WIDTH, Paper

LINES_PER_PAGE = 25
FIRST_TRANSCRIPT_LINE, TRANSCRIPT_PITCH = 96.0, 24.5


def print_sheet(source: dict[str, Any]) -> bytes:
    """Return the PDF of a source whose `paper.style` is letter, court, form, typewriter or transcript."""
    paper = source["paper"]
    if paper["style"] == "transcript":
        return _transcript(source)
    sheet = Paper(FACES[paper["style"]], paper.get("footer", ""), paper.get("stamp", ""))
    sheet.new_page(top=paper.get("top", 48.0))
    _letterhead(sheet, paper.get("letterhead", []))
    if "caption" in paper:
        _caption(sheet, paper["caption"])
    sheet.write(parse(source["body"]))
    return sheet.finish(source["title"])


def _letterhead(sheet: Paper, lines: list[str]) -> None:
    if not lines:
        return
    if sheet.face.letterhead_centred:
        sheet.centre(lines[0], bold=True, size=sheet.face.size + 5)
        for line in lines[1:]:
            sheet.centre(line, size=sheet.face.size - 1.5)
    else:
        _band(sheet, lines)
    sheet.y += 6
    sheet.rule(1.4)
    sheet.y += 3
    sheet.rule(0.4)
    sheet.y += 12


def _band(sheet: Paper, lines: list[str]) -> None:
    """Write name and address at the left, the number of the form at the right."""
    *names, number = lines
    sheet.text(WIDTH - sheet.face.right - sheet.width(number, size=8), sheet.y + 10, number, size=8)
    for i, line in enumerate(names):
        size = 13.0 if i == 0 else 9.5
        sheet.y += size + 2
        sheet.text(sheet.face.left, sheet.y, line, bold=i == 0, size=size)


def _caption(sheet: Paper, caption: dict[str, Any]) -> None:
    """Draw the caption of a court paper: parties at the left, a column of brackets, the number at the right."""
    for line in caption["court"]:
        sheet.centre(line, bold=True)
    sheet.y += 14
    left: list[str] = caption["parties"]
    right: list[str] = caption["number"]
    for i, line in enumerate(left):
        sheet.y += 15
        sheet.text(sheet.face.left, sheet.y, line)
        sheet.text(318, sheet.y, ")")
        if 0 <= i - 2 < len(right):
            sheet.text(342, sheet.y, right[i - 2])
    sheet.y += 26
    for line in caption["heading"]:
        sheet.centre(line, bold=True)
    sheet.y += 12


def _transcript(source: dict[str, Any]) -> bytes:
    paper = source["paper"]
    sheet = Paper(FACES["typewriter"], paper.get("footer", ""), paper.get("stamp", ""))
    sheet.new_page()
    if "caption" in paper:
        _caption(sheet, paper["caption"])
    sheet.write(parse(paper["cover"]))
    lines = transcript_lines(source["body"])
    for start in range(0, len(lines), LINES_PER_PAGE):
        _transcript_page(sheet, lines[start : start + LINES_PER_PAGE], paper["first_page"] + start // LINES_PER_PAGE)
    return sheet.finish(source["title"])


def transcript_lines(body: str) -> list[str]:
    """Return the body in lines of at most 56 characters: Q and A indented, their further lines at the margin."""
    lines: list[str] = []
    for chunk in body.strip().split("\n\n"):
        words = " ".join(chunk.split())
        first = "     " if words[:2] in ("Q ", "A ") else "          "
        if words[:2] in ("Q ", "A "):
            words = f"{words[0]}    {words[2:]}"
        lines += textwrap.wrap(words, 56, initial_indent=first, subsequent_indent="", drop_whitespace=True)
    return lines


def _transcript_page(sheet: Paper, lines: list[str], number: int) -> None:
    sheet.new_page()
    sheet.page.draw_line((112, 70), (112, HEIGHT - 66), width=0.7)
    sheet.page.draw_line((115, 70), (115, HEIGHT - 66), width=0.7)
    sheet.page.draw_line((WIDTH - 60, 70), (WIDTH - 60, HEIGHT - 66), width=0.7)
    sheet.text(WIDTH - 84, 58, str(number))
    for i, line in enumerate(lines):
        y = FIRST_TRANSCRIPT_LINE + i * TRANSCRIPT_PITCH
        sheet.text(88, y, f"{i + 1:>2}", size=10)
        sheet.text(126 + 6.3 * (len(line) - len(line.lstrip())), y, line.strip())
