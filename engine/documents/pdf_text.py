"""The text layer of one PDF page, in the space of the displayed page."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from engine.documents.document import Box
from engine.documents.mupdf import pymupdf
from engine.documents.reading_order import ASKEW, Fragment, turned

FLAGS = pymupdf.TEXT_MEDIABOX_CLIP | pymupdf.TEXT_CID_FOR_UNKNOWN_UNICODE
"""No ligature code points (they become letters), no pictures, nothing outside the page."""

_ASKEW_DEGREES = 10
_MANY_PATHS = 5000
_BOLD_FONT = re.compile(r"bold|black|heavy|demi", re.IGNORECASE)
_BUTTONS = (pymupdf.PDF_WIDGET_TYPE_CHECKBOX, pymupdf.PDF_WIDGET_TYPE_RADIOBUTTON)


@dataclass(frozen=True, slots=True)
class TextLayer:
    """What a page holds besides pictures of text.

    `rules` are ruling lines, `image_share` the share 0..1 of the page covered by pictures, and `unread_share` the
    share covered by pictures on which the layer has no text. `has_drawings` says whether vector paths are drawn.
    """

    fragments: tuple[Fragment, ...]
    rules: tuple[Box, ...]
    image_share: float
    unread_share: float
    has_drawings: bool

    @property
    def text(self) -> str:
        """Return the text in the order of the file, for statistics."""
        return "\n".join(fragment.text for fragment in self.fragments)


def read_text_layer(page: Any) -> TextLayer:
    """Read the text layer of a page; the page keeps its rotation."""
    matrix = page.rotation_matrix
    fragments = [
        fragment
        for block in page.get_text("dict", flags=FLAGS)["blocks"]
        for line in block.get("lines", ())
        if (fragment := _fragment(line, matrix)) is not None
    ]
    if page.first_widget is not None:
        fragments = _with_buttons(page, fragments, matrix)
    paths = page.get_cdrawings()
    images = [_box(pymupdf.Rect(info["bbox"]) * matrix & page.rect) for info in page.get_image_info()]
    area = max(abs(page.rect), 1.0)
    return TextLayer(
        fragments=tuple(fragments),
        rules=_rules(paths, matrix) if len(paths) <= _MANY_PATHS else (),
        image_share=min(1.0, sum(map(_area, images)) / area),
        unread_share=min(1.0, sum(_area(image) for image in images if not _has_text(image, fragments)) / area),
        has_drawings=bool(paths),
    )


def _fragment(line: dict[str, Any], matrix: Any) -> Fragment | None:
    text = " ".join("".join(span["text"] for span in line["spans"]).split())
    box = _box(pymupdf.Rect(line["bbox"]) * matrix)
    if not text or box.x1 <= box.x0 or box.y1 <= box.y0:
        return None
    turn = _turn(line["dir"], matrix)
    return Fragment(text, box, turned(box, turn), turn, bold=_is_bold(line["spans"]))


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
        mark = "[x]" if widget.field_value not in (None, False, "", "Off", "No") else "[ ]"
        if widget.field_type == pymupdf.PDF_WIDGET_TYPE_RADIOBUTTON and mark == "[x]":
            mark = "[x]" if widget.field_value == widget.on_state() or widget.field_value is True else "[ ]"
        fragments = [f for f in fragments if not _inside(f.box, box)]
        fragments.append(Fragment(mark, box, box))
    return fragments


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
    return sum(len(f.text) for f in fragments if _inside(f.box, image)) >= 20


def _inside(inner: Box, outer: Box) -> bool:
    x, y = (inner.x0 + inner.x1) / 2, (inner.y0 + inner.y1) / 2
    return outer.x0 <= x <= outer.x1 and outer.y0 <= y <= outer.y1


def _area(box: Box) -> float:
    return max(0.0, box.x1 - box.x0) * max(0.0, box.y1 - box.y0)


def _box(rect: Any) -> Box:
    return Box(float(rect.x0), float(rect.y0), float(rect.x1), float(rect.y1))
