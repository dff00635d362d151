"""What a PDF page says besides its text: notes of its readers, and values of form fields that it does not show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from engine.documents.document import Box
from engine.documents.drafts import LineDraft
from engine.documents.mupdf import MUPDF_ERRORS, pymupdf
from engine.documents.reading_order import Fragment

WIDGET_ERRORS: tuple[type[Exception], ...] = (*MUPDF_ERRORS, TypeError, IndexError, KeyError, AttributeError)
"""What PyMuPDF raises on broken annotations and fields."""

_SHOWN_BY_THEMSELVES = (pymupdf.PDF_ANNOT_FREE_TEXT, pymupdf.PDF_ANNOT_POPUP)
"""The text of the first is part of the page; the other only shows a note."""
_WITH_TEXT = (pymupdf.PDF_WIDGET_TYPE_TEXT, pymupdf.PDF_WIDGET_TYPE_COMBOBOX, pymupdf.PDF_WIDGET_TYPE_LISTBOX)
_LEAST_TELLING = 12
"""Characters, without spaces, of a value that does not stand on a page by chance."""


def read_notes(page: Any, matrix: Any) -> Iterator[LineDraft]:
    """Yield the notes as `[note] AUTHOR: TEXT`, one line each; raises WIDGET_ERRORS."""
    if page.first_annot is None:
        return
    for note in page.annots():
        text = " ".join((note.info.get("content") or "").split())
        is_name = note.type[0] == pymupdf.PDF_ANNOT_FILE_ATTACHMENT and text == note.file_info.get("filename")
        if text and not is_name and note.type[0] not in _SHOWN_BY_THEMSELVES:
            author = " ".join((note.info.get("title") or "").split())
            yield LineDraft(f"[note] {author}: {text}" if author else f"[note] {text}", _box(note.rect, matrix))


def read_fields(page: Any, matrix: Any, fragments: Sequence[Fragment]) -> Iterator[LineDraft]:
    """Yield `[field] NAME: VALUE` for each field whose value the page does not show; raises WIDGET_ERRORS."""
    if page.first_widget is None:
        return
    everything = _bare(" ".join(fragment.text for fragment in fragments))
    for field in page.widgets(types=_WITH_TEXT):
        value = field.field_value
        texts = value if isinstance(value, list | tuple) else [value]
        text = ", ".join(" ".join(part.split()) for part in texts if isinstance(part, str) and part.strip())
        box = _box(field.rect, matrix)
        if text and not _is_shown(_bare(text), box, fragments, everything):
            name = " ".join((field.field_label or field.field_name or "").split())
            yield LineDraft(f"[field] {name}: {text}", box)


def _is_shown(value: str, box: Box, fragments: Sequence[Fragment], everything: str) -> bool:
    """Say whether a field shows its value, or the page does elsewhere; short values stand on any page by chance."""
    own = _bare(" ".join(fragment.text for fragment in fragments if is_inside(fragment.box, box)))
    return value in own or (len(value) >= _LEAST_TELLING and value in everything)


def is_inside(inner: Box, outer: Box) -> bool:
    """Say whether the middle of a box lies in another."""
    x, y = (inner.x0 + inner.x1) / 2, (inner.y0 + inner.y1) / 2
    return outer.x0 <= x <= outer.x1 and outer.y0 <= y <= outer.y1


def _bare(text: str) -> str:
    return "".join(c for c in text.casefold() if not c.isspace())


def _box(rect: Any, matrix: Any) -> Box:
    placed = pymupdf.Rect(rect) * matrix
    return Box(float(placed.x0), float(placed.y0), float(placed.x1), float(placed.y1))
