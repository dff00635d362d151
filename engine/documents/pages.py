"""Turn pictures of pages into lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING

from engine.documents.document import Box
from engine.documents.drafts import LineDraft
from engine.documents.reading_order import Fragment, Row, arrange, enclosing, join_row

if TYPE_CHECKING:
    from engine.documents.ocr import Image, OcrPage

_BLANK_CONTRAST = 24
_DOUBTFUL = 0.8
_SAME_PLACE = 3.0


def read_picture(image: Image, points_per_pixel: float, threads: int) -> OcrPage:
    """Read a picture of a page; a blank one is not sent to OCR."""
    from engine.documents.ocr import OcrPage, load_ocr  # noqa: PLC0415 - loads OpenCV, which pages of text need not

    if int(image[::4, ::4].max()) - int(image[::4, ::4].min()) < _BLANK_CONTRAST:
        return OcrPage((), 0.0, 0.0, 0)
    return load_ocr(threads).read(image, points_per_pixel)


def page_lines(fragments: Iterable[Fragment], rules: Sequence[Box] = ()) -> list[LineDraft]:
    """Put the fragments of a page, from its text layer or from OCR, into lines in reading order."""
    return [_line(row) for row in arrange(fragments, rules)]


def with_hidden(lines: Sequence[LineDraft], hidden: Iterable[Fragment]) -> list[LineDraft]:
    """Put what is hidden on a page among its lines, each piece behind the visible line that is nearest to it."""
    kinds: dict[str, list[Fragment]] = {}
    for fragment in hidden:
        kinds.setdefault(fragment.hidden or "", []).append(fragment)
    added: dict[int, list[LineDraft]] = {}
    for fragments in kinds.values():
        for row in arrange(fragments):
            line = replace(_line(row), hidden=row[0].hidden)
            if not any(other.text == line.text and _is_at(other, line) for other in lines):
                added.setdefault(_nearest(lines, line), []).append(line)
    merged = list(added.get(0, ()))
    for number, visible in enumerate(lines, 1):
        merged += [visible, *added.get(number, ())]
    return merged


def _is_at(line: LineDraft, other: LineDraft) -> bool:
    """Say whether two lines are at one place: text that is printed twice."""
    first, second = line.box, other.box
    return (
        first is not None and second is not None and abs(first.x0 - second.x0) < _SAME_PLACE > abs(first.y0 - second.y0)
    )


def _nearest(lines: Sequence[LineDraft], line: LineDraft) -> int:
    """Return how many of the lines come before one that is put among them."""
    at = line.box
    if at is None:
        return len(lines)
    distances = [(_distance(other.box, at), number) for number, other in enumerate(lines) if other.box is not None]
    if not distances:
        return len(lines)
    number = min(distances)[1]
    nearest = lines[number].box
    is_above = nearest is not None and at.y0 + at.y1 < nearest.y0 + nearest.y1 and at.y1 < (nearest.y0 + nearest.y1) / 2
    return number if is_above else number + 1


def _distance(box: Box, other: Box) -> float:
    across = max(box.x0 - other.x1, other.x0 - box.x1, 0.0)
    down = abs(box.y0 + box.y1 - other.y0 - other.y1) / 2
    return down + across / 4


def mostly_ocr(lines: Iterable[LineDraft]) -> bool:
    """Say whether more characters come from OCR than from a text layer."""
    count = {"text": 0, "ocr": 0}
    for line in lines:
        count[line.source] += len(line.text)
    return count["ocr"] > count["text"]


def ocr_doubts(read: OcrPage) -> list[str]:
    """Say what a reader should know about a page that OCR read badly."""
    doubts = []
    if read.unreadable:
        places = "1 place" if read.unreadable == 1 else f"{read.unreadable:,} places"
        doubts.append(f"{places} with possible text could not be read")
    if read.fragments and read.confidence < _DOUBTFUL:
        doubts.append(f"the picture is hard to read (mean OCR confidence {read.confidence:.2f}); check its text")
    return doubts


def _line(row: Row) -> LineDraft:
    """Make one line; it counts as OCR when most of its characters are."""
    read = [f for f in row if f.confidence is not None]
    box, text = enclosing(f.box for f in row), join_row(row)
    if 2 * sum(len(f.text) for f in read) <= sum(len(f.text) for f in row):
        return LineDraft(text, box, bold=all(f.bold for f in row))
    return LineDraft(text, box, "ocr", round(fmean(f.confidence or 0.0 for f in read), 3))
