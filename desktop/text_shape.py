"""Where the letters of one line stand, also where it is read from right to left or its letters differ in width."""

from __future__ import annotations

import unicodedata
from typing import cast

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QTextLayout, QTextLine, QTextOption

_FROM_RIGHT = ("R", "AL")
_UNBOUNDED = 1e6


def reads_from_right(text: str) -> bool:
    """Say whether the first letter of a text is of a script that is read from right to left (Arabic, Hebrew)."""
    directions = (unicodedata.bidirectional(character) for character in text)
    return next((direction for direction in directions if direction in ("L", *_FROM_RIGHT)), "L") != "L"


def has_letters_from_right(text: str) -> bool:
    """Say whether any letter of a text is of such a script."""
    return not text.isascii() and any(unicodedata.bidirectional(character) in _FROM_RIGHT for character in text)


def shaped(text: str, font: QFont, *, from_right: bool) -> tuple[QTextLayout, QTextLine]:
    """Set a text in one line as wide as it is, with the spaces at its end; the line lives as long as its layout."""
    layout = QTextLayout(text, font)
    option = QTextOption()
    option.setWrapMode(QTextOption.WrapMode.NoWrap)
    option.setTextDirection(Qt.LayoutDirection.RightToLeft if from_right else Qt.LayoutDirection.LeftToRight)
    option.setFlags(QTextOption.Flag.IncludeTrailingSpaces)
    layout.setTextOption(option)
    layout.beginLayout()
    line = layout.createLine()
    line.setLineWidth(_UNBOUNDED)
    line.setLineWidth(line.naturalTextWidth())
    layout.endLayout()
    return layout, line


def units(text: str, place: int) -> int:
    """Return a place in a text as Qt counts it: signs beyond the first 65,536 are two."""
    return place + sum(character > "\uffff" for character in text[:place])


def edges_of(text: str, font: QFont) -> list[float]:
    """Return the x of the edge before each character in the order of the text, and of that behind the last one."""
    _layout, line = shaped(text, font, from_right=reads_from_right(text))
    edges = []
    for place in range(len(text) + 1):
        x, _ = cast("tuple[float, int]", line.cursorToX(units(text, place)))
        edges.append(x)
    return edges


def width_of(text: str, font: QFont) -> float:
    """Return how wide a text is."""
    _layout, line = shaped(text, font, from_right=False)
    return line.naturalTextWidth()


def span_of(text: str, font: QFont, begin: int, end: int, *, from_right: bool) -> tuple[float, float]:
    """Return from where to where the characters from `begin` to `end` (exclusive) reach."""
    layout, _ = shaped(text, font, from_right=from_right)
    first = units(text, begin)
    boxes = [run.boundingRect() for run in layout.glyphRuns(first, units(text, end) - first)]
    if not boxes:
        return 0.0, 0.0
    return min(box.left() for box in boxes), max(box.right() for box in boxes)
