"""Follow the lists of a text line by line: which are open, and what a new line does to them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from engine.completeness.markers import Marker, Reading, is_named, markers_of
from engine.documents.document import Line

_SAME_INDENT_POINTS = 10.0
_NOUN = r"\b(?:sub-?)?(?:(?:section|clause|paragraph|article|item|exhibit|schedule|part|chapter|page)s?|no\.?)"
_REFERENCE = re.compile(rf"{_NOUN}(?:\s[^;.:]{{0,24}}(?:\band|\bor|\bthrough|\bto|,))?$", re.IGNORECASE)
"""With these words a line does not end before a list item: what follows is a reference."""
_AMOUNT_FOLLOWS = re.compile(r"\b(?:see|under|in|of|to|with|by|than|least|from|on|approximately)$", re.IGNORECASE)
"""Nor with these before an item that is not the first."""
_ENDS_TEXT = re.compile(r"(?:[.;:!?,”\"’)\]—–]|\b(?:and|or|and/or))$", re.IGNORECASE)

Deed = Literal["continues", "begins", "heading", "text"]


@dataclass(frozen=True, slots=True)
class Item:
    """One item: its number (that of a bullet is its place), and the line it begins on."""

    ordinal: int
    line: int


@dataclass(eq=False, slots=True)
class OpenList:
    """A list whose end has not been seen yet. `indent` is where its first item begins, in points, where known."""

    style: str
    indent: float | None
    items: list[Item] = field(default_factory=list)
    is_bulleted: bool = False
    announced_on: int | None = None
    """The line before the first item if it ends in a colon or so."""
    closed_on: int | None = None
    """The line with which it was seen to be over; that line is not part of it."""


@dataclass(frozen=True, slots=True)
class Event:
    """What one line, or one enumerator in it, does: `list` is the one that goes on or begins."""

    deed: Deed
    list: OpenList | None = None
    marker: str = ""


class ListWalk:
    """The open lists of a text, innermost last, while it is read line by line."""

    def __init__(self, headings: frozenset[int]) -> None:
        """Begin; `headings` are the numbers of the lines that are headings."""
        self.open: list[OpenList] = []
        self.seen: list[OpenList] = []
        self.headings = headings
        self._before: Line | None = None

    def read(self, line: Line) -> list[Event]:
        """Take the next line of the running text; return what it does, in order."""
        events = list(self._events(line))
        self._before = line
        return events

    def _events(self, line: Line) -> Iterator[Event]:
        is_heading = line.number in self.headings
        is_marked = False
        for place, marker in enumerate(markers_of(line.text)):
            event = self._take(marker, line, is_first=place == 0, is_heading=is_heading)
            if event is not None:
                is_marked = True
                yield event
        if is_heading and not is_marked:
            self._close(0, line)
            yield Event("heading")
        elif not is_marked:
            yield Event("text")

    def _take(self, marker: Marker, line: Line, *, is_first: bool, is_heading: bool) -> Event | None:
        if is_first and not marker.is_inline and not is_heading and self._is_reference(marker):
            return None  # the line reads on
        indent = line.box.x0 if line.box and is_first and not marker.is_inline else None
        if (continued := self._continued(marker, indent)) is not None:
            open_list, reading = continued
            self._close(self.open.index(open_list) + 1, line)
            open_list.items.append(Item(reading.ordinal or len(open_list.items) + 1, line.number))
            return Event("continues", open_list, marker.text)
        return self._begin(marker, line, indent, is_first=is_first, is_heading=is_heading)

    def _begin(
        self, marker: Marker, line: Line, indent: float | None, *, is_first: bool, is_heading: bool
    ) -> Event | None:
        reading = next((r for r in marker.readings if r.ordinal in (None, 1)), None)
        if reading is None:
            if marker.is_inline or not is_first or not (is_heading or self._text_ended()):
                return None
            reading = marker.readings[0]
            if is_heading:
                self._close(0, line)
        if is_heading and is_named(reading.style):  # 'COUNT I' stands above the numbered paragraphs before it
            plain = (place for place, open_list in enumerate(self.open) if not is_named(open_list.style))
            self._close(next(plain, len(self.open)), line)
        alike = (open_list for open_list in self.open if open_list.style == reading.style)
        same = next(
            (open_list for open_list in alike if not open_list.is_bulleted or _same_indent(indent, open_list.indent)),
            None,
        )
        if same is not None:  # a new list of a style that is open ends the older one
            self._close(self.open.index(same), line)
        before = self._before
        is_announced = before is not None and before.text.rstrip().endswith((":", "—", "–", ":-"))
        new = OpenList(
            reading.style,
            indent,
            [Item(reading.ordinal or 1, line.number)],
            marker.is_bullet,
            before.number if before and is_announced else line.number if marker.is_inline else None,
        )
        self.open.append(new)
        self.seen.append(new)
        return Event("begins", new, marker.text)

    def _continued(self, marker: Marker, indent: float | None) -> tuple[OpenList, Reading] | None:
        """Find the innermost open list that the enumerator counts on."""
        for open_list in reversed(self.open):
            for reading in marker.readings:
                if reading.style != open_list.style:
                    continue
                if reading.ordinal is None and _same_indent(indent, open_list.indent):
                    return open_list, reading
                if reading.ordinal is not None and reading.ordinal == open_list.items[-1].ordinal + 1:
                    return open_list, reading
        return self._skipped(marker)

    def _skipped(self, marker: Marker) -> tuple[OpenList, Reading] | None:
        """Find the open list that the enumerator counts on but for one item, which was misread: '(1)' for '(l)'."""
        if marker.is_inline or any(reading.ordinal in (None, 1) for reading in marker.readings):
            return None
        for open_list in reversed(self.open):
            for reading in marker.readings:
                is_next_but_one = (
                    reading.style == open_list.style and reading.ordinal == open_list.items[-1].ordinal + 2
                )
                if is_next_but_one and len(open_list.items) > 1 and self._text_ended():
                    return open_list, reading
        return None

    def _is_reference(self, marker: Marker) -> bool:
        """Say whether a line that opens with an enumerator only reads on: 'as set out in Section | 4.2. The ...'."""
        text = self._before.text.rstrip() if self._before else ""
        if marker.is_bullet or (self._before is not None and self._before.number in self.headings):
            return False
        is_first = any(reading.ordinal == 1 for reading in marker.readings)
        return bool(_REFERENCE.search(text) or (not is_first and _AMOUNT_FOLLOWS.search(text)))

    def _close(self, place: int, line: Line) -> None:
        """End the open lists from a place on."""
        for ended in self.open[place:]:
            ended.closed_on = line.number
        del self.open[place:]

    def _text_ended(self) -> bool:
        text = self._before.text.rstrip() if self._before else ""
        is_heading = self._before is not None and self._before.number in self.headings
        return not text or is_heading or _ENDS_TEXT.search(text) is not None


def _same_indent(indent: float | None, other: float | None) -> bool:
    return indent is None or other is None or abs(indent - other) <= _SAME_INDENT_POINTS
