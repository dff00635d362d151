"""Read a printed table of contents, and find where its entries begin: the outline that the file forgot to bring."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.documents.document import Line
from engine.documents.headings import Heading
from engine.documents.structure import begins_alike

_LEADERS = re.compile(r"(?P<title>\S.*?)\s*(?:(?:[.·_]\s?){3,}|…+\s*)\s*(?P<page>\d{1,4})$")
_SPACED = re.compile(r"(?P<title>\S.*?)\s+(?P<page>\d{1,4})$")
_NAMED = re.compile(r"(?:table\s+of\s+)?contents|index|inhalt(?:sverzeichnis)?|sommaire|índice", re.IGNORECASE)
_DEPTH = re.compile(r"(?:section|§)?\s*(\d{1,3}(?:\.\d{1,3})*)", re.IGNORECASE)
_PART = re.compile(r"(?:article|part|chapter|book|title|[IVXLC]+\.)\b", re.IGNORECASE)
_FEWEST = 3
_LARGEST_GAP = 4
_FIRST_PART = 0.3
_FIRST_LINES = 400
_FOUND = 0.5
_SHORTEST = 4
_INDENT_POINTS = 8.0


@dataclass(frozen=True, slots=True)
class ContentsEntry:
    """An entry and the line where its section begins; `is_found` unless that is only the top of its page."""

    heading: Heading
    is_found: bool


@dataclass(frozen=True, slots=True)
class _Printed:
    line: Line
    title: str
    page: int


def contents_entries(lines: Sequence[Line]) -> tuple[ContentsEntry, ...]:
    """Return the entries of a printed contents page in order, () without one.

    It stands near the beginning, its page numbers do not fall, and half of its titles are found behind it.
    """
    printed = _contents(lines)
    if not printed:
        return ()
    starts = _starts(printed, lines)
    found = [start for start in starts if start is not None]
    if len(found) < max(2, _FOUND * len(printed)):
        return ()
    offset = Counter(lines[s - 1].page - p.page for s, p in zip(starts, printed, strict=True) if s).most_common(1)[0][0]
    levels = _levels(printed)
    entries, after = [], printed[-1].line.number
    for entry, start, level in zip(printed, starts, levels, strict=True):
        at = start or _top_of(lines, entry.page + offset, after)
        if at is not None:
            after = at
            entries.append(ContentsEntry(Heading(at, level, entry.title), start is not None))
    return tuple(entries)


def _contents(lines: Sequence[Line]) -> list[_Printed]:
    """Find the longest run of entries near the beginning."""
    reach = max(_FIRST_LINES, int(_FIRST_PART * len(lines)))
    runs: list[list[_Printed]] = [[]]
    named = [line.number for line in lines[:reach] if _NAMED.fullmatch(line.text.strip(" .:-"))]
    for entry in _printed(lines[:reach], named):
        run = runs[-1]
        if run and (entry.line.number - run[-1].line.number > _LARGEST_GAP or entry.page < run[-1].page):
            runs.append([])
        runs[-1].append(entry)
    longest = max(runs, key=len)
    return longest if len(longest) >= _FEWEST else []


def _printed(lines: Sequence[Line], named: Sequence[int]) -> Iterator[_Printed]:
    """Yield lines that end in a page number behind leaders; behind a mere space only under the word 'Contents'."""
    for line in lines:
        text = line.text.strip()
        found = _LEADERS.fullmatch(text)
        if found is None and any(name < line.number for name in named):
            found = _SPACED.fullmatch(text)
        if found is not None and any(c.isalpha() for c in found["title"]):
            yield _Printed(line, " ".join(found["title"].split()), int(found["page"]))


def _starts(printed: Sequence[_Printed], lines: Sequence[Line]) -> list[int | None]:
    """Find for each entry the first line behind the contents, and behind the entry before it, that begins alike."""
    after, starts = printed[-1].line.number + 1, list[int | None]()
    for entry in printed:
        start = next((line.number for line in lines[after - 1 :] if _is_its_heading(line.text, entry.title)), None)
        starts.append(start)
        after = start + 1 if start else after
    return starts


def _is_its_heading(text: str, title: str) -> bool:
    short = len(text.strip()) < _SHORTEST and len(title) >= _SHORTEST
    return not short and not _LEADERS.fullmatch(text.strip()) and begins_alike(text, title)


def _levels(printed: Sequence[_Printed]) -> list[int]:
    """Read levels off the numbers, else off the indents; without gaps, the highest 1."""
    depths = [_depth(entry.title) for entry in printed]
    if any(depth is None for depth in depths):
        edges = sorted({entry.line.box.x0 for entry in printed if entry.line.box})
        steps = [x for x, before in zip(edges, [-1e9, *edges], strict=False) if x - before > _INDENT_POINTS]
        depths = [sum(entry.line.box.x0 >= step for step in steps) if entry.line.box else 1 for entry in printed]
    known = sorted({depth for depth in depths if depth is not None})
    return [known.index(depth) + 1 if depth is not None else 1 for depth in depths]


def _depth(title: str) -> int | None:
    if _PART.match(title):
        return 1
    number = _DEPTH.match(title)
    return 2 + number[1].count(".") if number else None


def _top_of(lines: Sequence[Line], page: int, after: int) -> int | None:
    return next((line.number for line in lines if line.page >= page and line.number >= after), None)
