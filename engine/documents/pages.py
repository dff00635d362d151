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


def ocr_lines(read: OcrPage) -> list[LineDraft]:
    """Put what OCR read into lines in reading order."""
    return [_ocr_line(row) for row in arrange(read.fragments)]


def ocr_doubts(read: OcrPage) -> list[str]:
    """Say what a reader should know about a page that OCR read badly."""
    doubts = []
    if read.unreadable:
        doubts.append(f"{read.unreadable} places with possible text could not be read")
    if read.fragments and read.confidence < _DOUBTFUL:
        doubts.append(f"the picture is hard to read (mean OCR confidence {read.confidence:.2f}); check its text")
    return doubts


def text_lines(fragments: Iterable[Fragment], rules: Sequence[Box]) -> list[LineDraft]:
    """Put a text layer into lines in reading order."""
    return [LineDraft(join_row(row), enclosing(f.box for f in row)) for row in arrange(fragments, rules)]


def _ocr_line(row: Row) -> LineDraft:
    confidence = round(fmean(f.confidence or 0.0 for f in row), 3)
    return LineDraft(join_row(row), enclosing(f.box for f in row), "ocr", confidence)
