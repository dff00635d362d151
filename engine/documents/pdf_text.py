"""The text layer of one PDF page, in the space of the displayed page, and what notes and form fields say besides."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.documents.document import Box, Hidden
from engine.documents.drafts import LineDraft
from engine.documents.mupdf import MUPDF_ERRORS, first_line, pymupdf
from engine.documents.pdf_hidden import Place, hidden_characters, how_hidden
from engine.documents.raised import raised
from engine.documents.reading_order import ASKEW, Fragment, is_right_to_left, turned

FLAGS = pymupdf.TEXT_CID_FOR_UNKNOWN_UNICODE
"""No ligature code points (they become letters), no pictures; also what lies outside the page."""

_ASKEW_DEGREES = 10
_TOUCHING = 0.1
"""Heights of the letters."""
_SAME_LINE = 0.6
_RAISED_HEIGHTS = 0.15
_RAISED_SIZE = 0.9
_MANY_PATHS = 5000
_BOLD_FONT = re.compile(r"bold|black|heavy|demi", re.IGNORECASE)
_BUTTONS = (pymupdf.PDF_WIDGET_TYPE_CHECKBOX, pymupdf.PDF_WIDGET_TYPE_RADIOBUTTON)

WIDGET_ERRORS: tuple[type[Exception], ...] = (*MUPDF_ERRORS, TypeError, IndexError, KeyError, AttributeError)
"""What PyMuPDF raises on broken annotations and fields."""

_SHOWN_BY_THEMSELVES = (pymupdf.PDF_ANNOT_FREE_TEXT, pymupdf.PDF_ANNOT_POPUP)
"""The text of the first is part of the page; the other only shows a note."""
_WITH_TEXT = (pymupdf.PDF_WIDGET_TYPE_TEXT, pymupdf.PDF_WIDGET_TYPE_COMBOBOX, pymupdf.PDF_WIDGET_TYPE_LISTBOX)
_LEAST_TELLING = 12
"""Characters, without spaces, of a value that does not stand on a page by chance."""


@dataclass(frozen=True, slots=True)
class TextLayer:
    """What a page holds besides pictures of text.

    `fragments` are its visible text, `hidden` what a reader of the page does not see, `notes` what annotations and form
    fields say besides; `doubts` what of these could not be read. `rules` are ruling lines, `raised` the places of
    raised digits, `image_share` the share 0..1 of the page covered by pictures, and `unread_share` the share covered by
    pictures on which the layer has no text. `has_drawings` says whether vector paths are drawn.
    """

    fragments: tuple[Fragment, ...]
    hidden: tuple[Fragment, ...]
    rules: tuple[Box, ...]
    raised: tuple[Box, ...]
    image_share: float
    unread_share: float
    has_drawings: bool
    notes: tuple[LineDraft, ...] = ()
    doubts: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Return the text in the order of the file, for statistics."""
        return "\n".join(fragment.text for fragment in self.fragments)


def read_text_layer(page: Any) -> TextLayer:
    """Read the text layer of a page; the page keeps its rotation."""
    matrix = page.rotation_matrix
    paths = page.get_cdrawings()
    images = [_box(pymupdf.Rect(info["bbox"]) * matrix & page.rect) for info in page.get_image_info()]
    area = max(abs(page.rect), 1.0)
    image_share = min(1.0, sum(map(_area, images)) / area)
    lines = _lines(page, "dict")
    hidden = hidden_characters(page, lines, paths, image_share)
    if hidden:
        lines = _lines(page, "rawdict")
    every = [f for line in lines for part in _parts(line, hidden) if (f := _fragment(part, matrix)) is not None]
    fragments = [fragment for fragment in every if fragment.hidden is None]
    notes: list[LineDraft] = []
    doubts: list[str] = []
    try:
        if page.first_widget is not None:
            fragments = _with_buttons(page, fragments, matrix)
        notes += _fields(page, matrix, fragments)
    except WIDGET_ERRORS as error:
        doubts.append(f"its form fields could not be read ({first_line(error)}); its text was")
    try:
        notes += _notes(page, matrix)
    except WIDGET_ERRORS as error:
        doubts.append(f"its notes could not be read ({first_line(error)}); its text was")
    return TextLayer(
        fragments=tuple(fragments),
        hidden=tuple(fragment for fragment in every if fragment.hidden is not None),
        rules=_rules(paths, matrix) if len(paths) <= _MANY_PATHS else (),
        raised=tuple(_box(pymupdf.Rect(span["bbox"]) * matrix) for line in lines for span in _raised_digits(line)),
        image_share=image_share,
        unread_share=min(1.0, sum(_area(image) for image in images if not _has_text(image, fragments)) / area),
        has_drawings=bool(paths),
        notes=tuple(notes),
        doubts=tuple(doubts),
    )


def _lines(page: Any, form: str) -> list[dict[str, Any]]:
    blocks = page.get_text(form, flags=FLAGS, clip=pymupdf.INFINITE_RECT())["blocks"]
    return [line for block in blocks for line in _joined(block.get("lines", ()))]


def _joined(lines: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Join the pieces of a line that is read from right to left, which MuPDF cuts at each number and mark in it."""
    before: dict[str, Any] | None = None
    for line in lines:
        if before is not None and _goes_on_leftwards(before, line):
            box = _around((before["bbox"], line["bbox"]))
            before = {**before, "spans": [*before["spans"], *line["spans"]], "bbox": box}
            continue
        if before is not None:
            yield before
        before = line
    if before is not None:
        yield before


def _goes_on_leftwards(before: Mapping[str, Any], line: Mapping[str, Any]) -> bool:
    """Say whether a piece ends where the one before begins, on one baseline, and one of them reads from the right."""
    (x0, y0, _, y1), (_, top, right, bottom) = before["bbox"], line["bbox"]
    height = min(y1 - y0, bottom - top)
    return (
        before["dir"] == line["dir"] == (1.0, 0.0)
        and abs(x0 - right) <= _TOUCHING * height
        and min(y1, bottom) - max(y0, top) >= _SAME_LINE * height
        and is_right_to_left("".join(_text_of(span) for piece in (before, line) for span in piece["spans"]))
    )


def _texts(line: Mapping[str, Any]) -> list[str]:
    """Return the texts of a line's spans; raised digits right behind a word are written as such."""
    texts: list[str] = []
    base: Mapping[str, Any] | None = None
    for span in line["spans"]:
        text = _text_of(span)
        if base is None or not _is_raised(span, base, line["dir"]):
            base = span
        elif texts[-1][-1:].strip():
            text = raised(text)
        texts.append(text)
    return texts


def _raised_digits(line: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the spans of a line whose digits are written as raised ones."""
    spans = zip(line["spans"], _texts(line), strict=True)
    return (span for span, text in spans if text != _text_of(span))


def _is_raised(span: Mapping[str, Any], base: Mapping[str, Any], direction: tuple[float, float]) -> bool:
    """Say whether a span is set smaller than the one before it and above its baseline."""
    (x, y), (left, top), (right, bottom) = direction, base["origin"], span["origin"]
    above = (right - left) * y - (bottom - top) * x
    return bool(span["size"] <= _RAISED_SIZE * base["size"] and above >= _RAISED_HEIGHTS * base["size"])


def _text_of(span: Mapping[str, Any]) -> str:
    return span["text"] if "text" in span else "".join(character["c"] for character in span["chars"])


@dataclass(frozen=True, slots=True)
class _Part:
    """A stretch of a line that is visible, or hidden in one way."""

    text: str
    box: Any
    direction: tuple[float, float]
    bold: bool
    hidden: Hidden | None = None


def _parts(line: dict[str, Any], hidden: Mapping[Place, Hidden]) -> Iterator[_Part]:
    """Cut a line where it becomes hidden or visible; a space goes with what precedes it."""
    spans, texts = line["spans"], _texts(line)
    if not hidden:
        yield _Part("".join(texts), line["bbox"], line["dir"], _is_bold(spans))
        return
    runs: list[tuple[Hidden | None, list[tuple[str, Any, dict[str, Any]]]]] = []
    for span, whole in zip(spans, texts, strict=True):
        for character, text in zip(span["chars"], whole, strict=True):
            kind = runs[-1][0] if runs and text.isspace() else how_hidden(character, hidden)
            if not runs or runs[-1][0] != kind:
                runs.append((kind, []))
            runs[-1][1].append((text, character["bbox"], span))
    for kind, run in runs:
        styles = [{**span, "text": text} for text, _, span in run]
        boxes = [box for text, box, _ in run if not text.isspace()] or [box for _, box, _ in run]
        box = line["bbox"] if len(runs) == 1 else pymupdf.Rect(_around(boxes))
        yield _Part("".join(text for text, _, _ in run), box, line["dir"], _is_bold(styles), kind)


def _around(boxes: Sequence[Any]) -> tuple[float, float, float, float]:
    left, top, right, bottom = zip(*boxes, strict=True)
    return min(left), min(top), max(right), max(bottom)


def _fragment(part: _Part, matrix: Any) -> Fragment | None:
    text = " ".join(part.text.split())
    box = _box(pymupdf.Rect(part.box) * matrix)
    if not text or box.x1 <= box.x0 or box.y1 <= box.y0:
        return None
    turn = _turn(part.direction, matrix)
    return Fragment(text, box, turned(box, turn), turn, bold=part.bold, hidden=part.hidden)


def _is_bold(spans: list[dict[str, Any]]) -> bool:
    """Say whether all letters are bold, by the font's flag or its name."""
    lettered = [span for span in spans if any(c.isalnum() for c in span["text"])]
    return bool(lettered) and all(
        span["flags"] & pymupdf.TEXT_FONT_BOLD or _BOLD_FONT.search(span["font"]) for span in lettered
    )


def _turn(direction: tuple[float, float], matrix: Any) -> int:
    """Return the reading direction on the displayed page, degrees clockwise: 0, 90, 180, 270 or ASKEW."""
    x, y = direction
    angle = math.degrees(math.atan2(x * matrix.b + y * matrix.d, x * matrix.a + y * matrix.c)) % 360
    quarter = round(angle / 90) * 90
    return quarter % 360 if abs(angle - quarter) <= _ASKEW_DEGREES else ASKEW


def _with_buttons(page: Any, fragments: list[Fragment], matrix: Any) -> list[Fragment]:
    """Write check boxes and radio buttons as `[x]` and `[ ]`, in place of the glyph that draws the tick."""
    for widget in page.widgets(types=_BUTTONS):
        box = _box(pymupdf.Rect(widget.rect) * matrix)
        fragments = [f for f in fragments if not _is_inside(f.box, box)]
        fragments.append(Fragment("[x]" if _is_ticked(page, widget) else "[ ]", box, box))
    return fragments


def _is_ticked(page: Any, button: Any) -> bool:
    """Say whether the page shows a tick: by the state of the button's appearance, else by the value of its field.

    The state may have any name but `Off`, and several buttons may share one field.
    """
    kind, state = page.parent.xref_get_key(button.xref, "AS")
    if kind == "name":
        return bool(state != "/Off")
    if button.field_value in (None, False, "", "Off"):
        return False
    is_radio = button.field_type == pymupdf.PDF_WIDGET_TYPE_RADIOBUTTON
    return not is_radio or button.field_value is True or button.field_value == button.on_state()


def _notes(page: Any, matrix: Any) -> Iterator[LineDraft]:
    """Yield the notes as `[note] AUTHOR: TEXT`, one line each; raises WIDGET_ERRORS."""
    if page.first_annot is None:
        return
    for note in page.annots():
        text = " ".join((note.info.get("content") or "").split())
        is_name = note.type[0] == pymupdf.PDF_ANNOT_FILE_ATTACHMENT and text == note.file_info.get("filename")
        if text and not is_name and note.type[0] not in _SHOWN_BY_THEMSELVES:
            author = " ".join((note.info.get("title") or "").split())
            said = f"[note] {author}: {text}" if author else f"[note] {text}"
            yield LineDraft(said, _box(pymupdf.Rect(note.rect) * matrix))


def _fields(page: Any, matrix: Any, fragments: Sequence[Fragment]) -> Iterator[LineDraft]:
    """Yield `[field] NAME: VALUE` for each field whose value the page does not show; raises WIDGET_ERRORS."""
    if page.first_widget is None:
        return
    everything = _bare(" ".join(fragment.text for fragment in fragments))
    for field in page.widgets(types=_WITH_TEXT):
        value = field.field_value
        texts = value if isinstance(value, list | tuple) else [value]
        text = ", ".join(" ".join(part.split()) for part in texts if isinstance(part, str) and part.strip())
        box = _box(pymupdf.Rect(field.rect) * matrix)
        if text and not _is_shown(_bare(text), box, fragments, everything):
            name = " ".join((field.field_label or field.field_name or "").split())
            yield LineDraft(f"[field] {name}: {text}", box)


def _is_shown(value: str, box: Box, fragments: Sequence[Fragment], everything: str) -> bool:
    """Say whether a field shows its value, or the page does elsewhere; short values stand on any page by chance."""
    own = _bare(" ".join(fragment.text for fragment in fragments if _is_inside(fragment.box, box)))
    return value in own or (len(value) >= _LEAST_TELLING and value in everything)


def _is_inside(inner: Box, outer: Box) -> bool:
    """Say whether the middle of a box lies in another."""
    x, y = (inner.x0 + inner.x1) / 2, (inner.y0 + inner.y1) / 2
    return outer.x0 <= x <= outer.x1 and outer.y0 <= y <= outer.y1


def _bare(text: str) -> str:
    return "".join(c for c in text.casefold() if not c.isspace())


def _rules(paths: list[dict[str, Any]], matrix: Any) -> tuple[Box, ...]:
    """Return straight lines and the upper edges of rectangles."""
    rules = []
    for path in paths:
        for item in path["items"]:
            if item[0] == "l":
                rules.append(_box(pymupdf.Rect(*item[1], *item[2]).normalize() * matrix))
            elif item[0] == "re":
                box = _box(pymupdf.Rect(item[1]).normalize() * matrix)
                rules.append(Box(box.x0, box.y0, box.x1, box.y0))
    return tuple(rules)


def _has_text(image: Box, fragments: list[Fragment]) -> bool:
    return sum(len(f.text) for f in fragments if _is_inside(f.box, image)) >= 20


def _area(box: Box) -> float:
    return max(0.0, box.x1 - box.x0) * max(0.0, box.y1 - box.y0)


def _box(rect: Any) -> Box:
    return Box(float(rect.x0), float(rect.y0), float(rect.x1), float(rect.y1))
