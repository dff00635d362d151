"""Draws blocks on letter-size pages with the fourteen standard fonts."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from typing import Any

import pymupdf

from printing.blocks import Block, Form, Grid, Heading, PageBreak, Paragraph, Signature

WIDTH, HEIGHT = 612.0, 792.0
DATED = "D:20240105090000Z"


@dataclass(frozen=True, slots=True)
class Face:
    """The look of one agency's paper: base-14 font names, body size in points, page margins in points."""

    regular: str = "tiro"
    bold: str = "tibo"
    size: float = 11.0
    left: float = 72.0
    right: float = 72.0
    leading: float = 1.24
    letterhead_centred: bool = True


FACES = {
    "letter": Face(),
    "court": Face(size=12.0, leading=1.3),
    "form": Face("helv", "hebo", 9.5, 48.0, 48.0, 1.28, letterhead_centred=False),
    "typewriter": Face("cour", "cobo", 10.5, 70.0, 64.0, 1.2),
}


@dataclass(slots=True)
class Paper:
    """A growing PDF: blocks are written downwards, a full page is closed with its footer and stamp."""

    face: Face
    footer: str = ""
    stamp: str = ""
    doc: Any = field(default_factory=pymupdf.open)
    page: Any = None
    y: float = 0.0
    outline: list[list[Any]] = field(default_factory=list)

    def new_page(self, top: float = 64.0) -> None:
        self.page = self.doc.new_page(width=WIDTH, height=HEIGHT)
        self.y = top

    @property
    def bottom(self) -> float:
        return HEIGHT - 74.0

    def text(self, x: float, y: float, words: str, *, bold: bool = False, size: float = 0.0) -> None:
        """Write `words` with the baseline starting at (x, y)."""
        font = self.face.bold if bold else self.face.regular
        self.page.insert_text((x, y), words, fontname=font, fontsize=size or self.face.size)

    def width(self, words: str, *, bold: bool = False, size: float = 0.0) -> float:
        font = self.face.bold if bold else self.face.regular
        return pymupdf.get_text_length(words, fontname=font, fontsize=size or self.face.size)

    def centre(self, words: str, *, bold: bool = False, size: float = 0.0) -> None:
        """Write one centred line and go down."""
        size = size or self.face.size
        self.y += size
        self.text((WIDTH - self.width(words, bold=bold, size=size)) / 2, self.y, words, bold=bold, size=size)
        self.y += size * 0.3

    def rule(self, thickness: float = 0.8) -> None:
        self.page.draw_line((self.face.left, self.y), (WIDTH - self.face.right, self.y), width=thickness)

    def need(self, points: float) -> None:
        """Start a new page unless `points` are left on this one."""
        if self.y + points > self.bottom:
            self.new_page()

    def wrap(self, words: str, room: float, *, bold: bool = False, size: float = 0.0) -> list[str]:
        """Break `words` into lines no wider than `room` points."""
        lines: list[str] = []
        line = ""
        for word in words.split():
            longer = f"{line} {word}" if line else word
            if line and self.width(longer, bold=bold, size=size) > room:
                lines.append(line)
                line = word
            else:
                line = longer
        return [*lines, line]

    def flow(self, words: str, indent: float = 0.0, *, bold: bool = False, inset: float = 0.0) -> None:
        """Write a paragraph's lines from the current place downwards, over page ends."""
        room = WIDTH - self.face.left - self.face.right - indent - inset
        for line in self.wrap(words, room, bold=bold):
            self.need(self.face.size * self.face.leading)
            self.y += self.face.size * self.face.leading
            self.text(self.face.left + indent, self.y, line, bold=bold)
        self.y += self.face.size * 0.6

    def write(self, blocks: list[Block]) -> None:
        for block in blocks:
            DRAWERS[type(block)](self, block)

    def finish(self, title: str) -> bytes:
        """Close the document: footers, stamps, outline, fixed dates. The bytes are the same each time."""
        for number, page in enumerate(self.doc, start=1):
            self.page = page
            self._foot(number)
        if self.outline:
            self.doc.set_toc(self.outline)
        self.doc.set_metadata({"title": title, "creationDate": DATED, "modDate": DATED, "producer": "", "creator": ""})
        return self.doc.tobytes(garbage=3, deflate=True, no_new_id=True)

    def _foot(self, number: int) -> None:
        line = self.footer.format(page=number, pages=self.doc.page_count)
        self.text(self.face.left, HEIGHT - 42, line, size=8)
        if self.stamp:
            prefix, _, first = self.stamp.rpartition(" ")
            mark = f"{prefix} {int(first) + number - 1:06d}"
            length = pymupdf.get_text_length(mark, fontname="helv", fontsize=8.5)
            self.page.insert_text((WIDTH - 40 - length, HEIGHT - 22), mark, fontname="helv", fontsize=8.5)


def _heading(paper: Paper, block: Heading) -> None:
    paper.need(60)
    paper.y += 5
    if block.level == 1:
        paper.outline.append([1, block.text, paper.doc.page_count])
    paper.flow(block.text, bold=True)


def _paragraph(paper: Paper, block: Paragraph) -> None:
    if not block.mark:
        indent = 30.0 if block.quoted else 0.0
        paper.flow(block.text, indent, bold=block.bold, inset=indent)
        return
    paper.need(paper.face.size * paper.face.leading * 2)
    line = paper.y + paper.face.size * paper.face.leading
    paper.text(paper.face.left, line, block.mark)
    paper.flow(block.text, 26.0)


def _grid(paper: Paper, block: Grid) -> None:
    size = paper.face.size - 1.5
    room = WIDTH - paper.face.left - paper.face.right
    longest = [max(len(row[i]) for row in block.rows) for i in range(len(block.rows[0]))]
    shares = [math.sqrt(length) + 1 for length in longest]
    widths = [room * share / sum(shares) for share in shares]
    for number, row in enumerate(block.rows):
        _grid_row(paper, row, widths, size, header=number == 0)
    paper.y += 8


def _grid_row(paper: Paper, row: tuple[str, ...], widths: list[float], size: float, *, header: bool) -> None:
    cells = [paper.wrap(cell, width - 8, bold=header, size=size) for cell, width in zip(row, widths, strict=True)]
    height = max(len(lines) for lines in cells) * size * 1.2 + 6
    paper.need(height)
    x = paper.face.left
    for lines, width in zip(cells, widths, strict=True):
        fill = (0.9, 0.9, 0.9) if header else None
        paper.page.draw_rect(pymupdf.Rect(x, paper.y, x + width, paper.y + height), width=0.6, fill=fill)
        for i, line in enumerate(lines):
            paper.text(x + 4, paper.y + size * 1.2 * (i + 1), line, bold=header, size=size)
        x += width
    paper.y += height


def _form(paper: Paper, block: Form) -> None:
    room = WIDTH - paper.face.left - paper.face.right
    for row in block.rows:
        shares = [max(math.sqrt(len(label)), math.sqrt(len(value))) + 2 for label, value in row]
        paper.need(27)
        x = paper.face.left
        for (label, value), share in zip(row, shares, strict=True):
            width = room * share / sum(shares)
            paper.page.draw_rect(pymupdf.Rect(x, paper.y, x + width, paper.y + 27), width=0.6)
            paper.text(x + 3, paper.y + 9, label, size=6.5)
            paper.text(x + 5, paper.y + 21.5, value, size=9.5)
            x += width
        paper.y += 27
    paper.y += 8


def _signature(paper: Paper, block: Signature) -> None:
    paper.need(70)
    paper.y += 12
    _scribble(paper, block.name)
    paper.y += 28
    paper.page.draw_line((paper.face.left, paper.y), (paper.face.left + 210, paper.y), width=0.6)
    for line in (block.name, *block.title.split(";")):
        paper.y += paper.face.size * 1.2
        paper.text(paper.face.left, paper.y, line.strip())
    paper.y += 14


def _scribble(paper: Paper, name: str) -> None:
    """Draw a signature of loops, the same for the same name."""
    hand = random.Random(name)
    x, y = paper.face.left + 8, paper.y + 18
    points = [(x, y)]
    for _ in range(3 * (4 + len(name) // 6)):
        x += hand.uniform(-3, 11)
        points.append((x, y + hand.uniform(-15, 9)))
    for i in range(0, len(points) - 3, 3):
        paper.page.draw_bezier(*points[i : i + 4], width=hand.uniform(0.7, 1.3), color=(0.05, 0.08, 0.35))


def _page_break(paper: Paper, block: PageBreak) -> None:
    paper.new_page()


DRAWERS: dict[type, Any] = {
    Heading: _heading,
    Paragraph: _paragraph,
    Grid: _grid,
    Form: _form,
    Signature: _signature,
    PageBreak: _page_break,
}
