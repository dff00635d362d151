"""Lists that end at the end of a page, found in real documents, with what a reader says of them.

A case is a page whose last item belongs to a list and ends cleanly: from the page alone nobody can tell whether the
list goes on. Cases are found by their enumerators; whether the list goes on was read and written down for each
(completeness_labels.jsonl), before the judge was run on any.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from evaluation.task import read_lines

from engine.completeness.markers import Reading, markers_of
from engine.documents.document import Document, Line
from engine.documents.furniture import furniture
from engine.rows import Span

LABELS = Path(__file__).with_name("completeness_labels.jsonl")
_CLEAN = (".", ";", ".”", '."', ".)", ";”")
_SHORTEST_LIST = 2
_BACK = 120
"""So many lines before the end of a page are searched for the items of its list."""


@dataclass(frozen=True)
class Case:
    """A page end: `page` is the last page shown, `items` the spans of the items shown, `lines` the document's.

    `moved`: the page end was put there, behind an item of a list that the document shows inside a page.
    """

    document: str
    page: int
    items: tuple[Span, ...]
    lines: tuple[Line, ...]
    moved: bool

    @property
    def name(self) -> str:
        """Return what tells it from others: the number of its last line is that of the unchanged document."""
        return f"{self.document}:{self.items[-1].last}{':moved' if self.moved else ''}"


def labels() -> dict[str, str]:
    """Read what was written down by name of case: 'truncated', 'complete' or 'unclear' (left out of the figures)."""
    return {row["case"]: row["label"] for row in read_lines(LABELS)}


def natural_cases(name: str, document: Document) -> Iterator[Case]:
    """Find the lists that stand at the end of a page of a document as it is."""
    skipped = furniture(document.lines)
    body = [line for line in document.lines if line.number not in skipped]
    for page, group in groupby(body, key=lambda line: line.page):
        last = list(group)[-1]
        items = _items(body, last)
        if items and last.number < body[-1].number:
            yield Case(name, page, items, document.lines, moved=False)


def moved_cases(name: str, document: Document, *, every: int) -> Iterator[Case]:
    """End a page behind items that end cleanly in the middle of one: the rest of the page moves to a new one.

    Taken are one of `every` ends that an enumerator of the same style follows, and each third of the others.
    """
    skipped = furniture(document.lines)
    body = [line for line in document.lines if line.number not in skipped]
    alike: list[Line] = []
    other: list[Line] = []
    for one, following in zip(body, body[1:], strict=False):
        items = _items(body, one) if one.page == following.page and _begins_unit(following) else ()
        if len(items) > _SHORTEST_LIST:
            styles = {reading.style for reading in _readings(document.lines[items[-1].first - 1])}
            goes_on = any(reading.style in styles for reading in _readings(following))
            (alike if goes_on else other).append(one)
    for last in (*alike[every // 2 :: every], *other[1::3]):
        lines = tuple(
            line if line.number <= last.number else replace(line, page=line.page + 1) for line in document.lines
        )
        yield Case(name, last.page, _items(body, last), lines, moved=True)


def _begins_unit(line: Line) -> bool:
    """Say whether a line may begin something new: it opens with an enumerator, a capital or a quotation mark."""
    text = line.text.strip()
    return bool(markers_of(text)) or text[:1].isupper() or text[:1] in '“"'


def _items(body: Sequence[Line], last: Line) -> tuple[Span, ...]:
    """Return the items of the innermost list that `last` ends cleanly, () where it ends none of two items or more."""
    if not last.text.rstrip().endswith(_CLEAN):
        return ()
    before = [line for line in body if line.number <= last.number][-_BACK:]
    opened = [(line, readings) for line in before if (readings := _readings(line))]
    if not opened:
        return ()
    line, readings = opened[-1]
    for reading in readings:
        starts = [line, *_earlier(opened[:-1], reading)]
        if len(starts) >= _SHORTEST_LIST:
            numbers = [start.number for start in reversed(starts)]
            ends = [_line_before(body, number) for number in numbers[1:]]
            return tuple(Span(a, b) for a, b in zip(numbers, [*ends, last.number], strict=True))
    return ()


def _readings(line: Line) -> tuple[Reading, ...]:
    markers = [marker for marker in markers_of(line.text) if not marker.is_inline]
    return markers[-1].readings if markers else ()


def _earlier(opened: Sequence[tuple[Line, tuple[Reading, ...]]], reading: Reading) -> Iterator[Line]:
    """Yield the lines on which the items before one begin, the nearest first."""
    wanted = reading.ordinal
    for line, readings in reversed(opened):
        same = [r for r in readings if r.style == reading.style]
        if not same:
            continue
        if wanted is not None:
            wanted -= 1
        if not any(r.ordinal == wanted for r in same):
            return
        yield line


def _line_before(body: Sequence[Line], number: int) -> int:
    return max(line.number for line in body if line.number < number)
