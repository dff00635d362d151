"""Turn pictures of pages into lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean

import numpy as np

from engine.documents.document import Box
from engine.documents.drafts import LineDraft
from engine.documents.ocr import Image, OcrPage, load_ocr
from engine.documents.reading_order import Fragment, Row, arrange, enclosing, join_row

_BLANK_CONTRAST = 24
_DOUBTFUL = 0.8


def read_picture(image: Image, points_per_pixel: float, threads: int) -> OcrPage:
    """Read a picture of a page; a blank one is not sent to OCR."""
    if int(image[::4, ::4].max()) - int(image[::4, ::4].min()) < _BLANK_CONTRAST:
        return OcrPage((), 0.0, 0.0, 0)
    return load_ocr(threads).read(np.ascontiguousarray(image), points_per_pixel)


def page_lines(fragments: Iterable[Fragment], rules: Sequence[Box] = ()) -> list[LineDraft]:
    """Put the fragments of a page, from its text layer or from OCR, into lines in reading order."""
    return [_line(row) for row in arrange(fragments, rules)]


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
        doubts.append(f"{read.unreadable} places with possible text could not be read")
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
