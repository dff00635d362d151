"""Selecting words of the lines of a page: where a point stands in the text, and the boxes of what is selected.

A box holds a whole line; where its letters stand within it is reckoned from the widths of a usual font, stretched to
the box. That is exact enough to tell words apart.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtGui import QFont, QFontMetricsF

Box = tuple[float, float, float, float]
"""x0, y0, x1, y1 in points from the top left of the page."""

_WORD = re.compile(r"\S+")
_FONT_PIXELS = 40


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in the text of a page: which line (its place in the list), and before which of its characters."""

    line: int
    character: int


@dataclass(frozen=True, slots=True)
class Stretch:
    """From `first` up to and excluding `last`'s character; both may be in one line."""

    first: Spot
    last: Spot


def spot_in(text: str, box: Box, line: int, x: float) -> Spot:
    """Return the place in a line that is nearest to x."""
    edges = _edges(text, box)
    return Spot(line, min(range(len(edges)), key=lambda place: abs(edges[place] - x)))


def words_between(texts: Sequence[str], one: Spot, other: Spot) -> Stretch:
    """Return the stretch of whole words that two spots are in, or between, in whichever order they are given."""
    first, last = sorted((one, other), key=lambda spot: (spot.line, spot.character))
    if first == last:
        touched = [m.span() for m in _WORD.finditer(texts[first.line]) if m.start() <= first.character <= m.end()]
        begin, end = touched[0] if touched else (first.character, first.character)
    else:
        begin = next((m.start() for m in _WORD.finditer(texts[first.line]) if m.end() > first.character), -1)
        begin = len(texts[first.line]) if begin < 0 else begin
        end = max((m.end() for m in _WORD.finditer(texts[last.line]) if m.start() < last.character), default=0)
        if first.line == last.line:
            end = max(begin, end)
    return Stretch(Spot(first.line, begin), Spot(last.line, end))


def whole(texts: Sequence[str]) -> Stretch:
    """Return the stretch of all lines."""
    return Stretch(Spot(0, 0), Spot(len(texts) - 1, len(texts[-1])))


def text_of(texts: Sequence[str], stretch: Stretch) -> str:
    """Return the text of a stretch, its lines joined by newlines."""
    first, last = stretch.first, stretch.last
    if first.line == last.line:
        return texts[first.line][first.character : last.character]
    between = texts[first.line + 1 : last.line]
    return "\n".join([texts[first.line][first.character :], *between, texts[last.line][: last.character]])


def boxes_of(texts: Sequence[str], boxes: Sequence[Box], stretch: Stretch) -> list[Box]:
    """Return a box for each line of a stretch, as wide as what is selected of it."""
    found = []
    for line in range(stretch.first.line, stretch.last.line + 1):
        edges, (_, y0, _, y1) = _edges(texts[line], boxes[line]), boxes[line]
        begin = stretch.first.character if line == stretch.first.line else 0
        end = stretch.last.character if line == stretch.last.line else len(texts[line])
        found.append((edges[begin], y0, edges[end], y1))
    return found


def _edges(text: str, box: Box) -> list[float]:
    """Return the x of the left edge of each character, and of the end."""
    font = QFont()
    font.setPixelSize(_FONT_PIXELS)
    metrics = QFontMetricsF(font)
    places, at = [0.0], 0.0
    for character in text:
        at += metrics.horizontalAdvance(character)
        places.append(at)
    scale = (box[2] - box[0]) / at if at else 0.0
    return [box[0] + place * scale for place in places]
