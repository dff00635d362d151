"""Find what stands on pages without being part of their text: running heads and feet, page numbers, footnotes."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from statistics import median

from engine.documents.document import Line

_REACH = 4
"""So many lines at either end of a page may be its head or foot."""
_SAME_PLACE_POINTS = 8.0
_FEWEST_PAGES = 2
_OFTEN = 3
_SMALL = 0.88
"""A footnote is set in letters of at most so many times the usual height of its page."""
_PAGE_NUMBER = re.compile(
    r"(?:page\s*)?[-–—\[(|]*\s*(?:\d{1,4}|[ivxl]{1,6}|[A-Z]{1,2}-\d{1,3})\s*[-–—\])|]*(?:\s*(?:of|/)\s*\d{1,4})?",
    re.IGNORECASE,
)
_NOTE = re.compile(r"(?:\d{1,3}|[*†‡]+|\[\d{1,3}\])\s*\S")


def furniture(lines: Sequence[Line]) -> frozenset[int]:
    """Return the numbers of lines that are no part of the running text; blank lines are among them."""
    pages = [list(group) for _, group in groupby(lines, key=lambda line: line.page)]
    numbers = {line.number for line in lines if not any(c.isalnum() for c in line.text) and not _is_mark(line.text)}
    numbers |= set(_repeated(pages))
    if len(pages) >= _FEWEST_PAGES:
        for page in pages:
            numbers |= set(_page_numbers(page, numbers))
    for page in pages:
        numbers |= set(_footnotes(page, numbers))
    return frozenset(numbers)


def _is_mark(text: str) -> bool:
    """Keep a bullet that stands alone on its line: its text is on the next."""
    stripped = text.strip()
    return len(stripped) == 1 and stripped in "•●○■□▪▫◦‣\uf0b7\uf0a7"


def _ends(page: Sequence[Line]) -> Iterator[tuple[str, Line]]:
    """Yield the lines near the top and the bottom of a page, by where they stand where that is known."""
    written = [line for line in page if line.text.strip()]
    if all(line.box for line in written):
        written.sort(key=lambda line: line.box.y0 if line.box else 0.0)
    yield from (("top", line) for line in written[:_REACH])
    yield from (("bottom", line) for line in written[-_REACH:])


def _repeated(pages: Sequence[Sequence[Line]]) -> Iterator[int]:
    """Yield lines that read alike but for numbers, in one place on several pages."""
    places: dict[tuple[str, str], list[Line]] = defaultdict(list)
    for page in pages:
        for end, line in _ends(page):
            places[end, _alike(line.text)].append(line)
    needed = _OFTEN if len(pages) > _OFTEN else _FEWEST_PAGES
    for same in places.values():
        for line in same:
            near = {other.page for other in same if _same_place(line, other)}
            if len(near) >= needed:
                yield line.number


def _alike(text: str) -> str:
    return re.sub(r"\d+", "#", " ".join(text.lower().split()))


def _same_place(line: Line, other: Line) -> bool:
    if line.box is None or other.box is None:
        return True
    return abs(line.box.y0 - other.box.y0) <= _SAME_PLACE_POINTS


def _page_numbers(page: Sequence[Line], known: set[int]) -> Iterator[int]:
    """Yield page numbers: outermost on their page but for other furniture."""
    written = [line for line in page if line.text.strip()]
    for direction in (written, written[::-1]):
        for line in direction[:_REACH]:
            if _PAGE_NUMBER.fullmatch(line.text.strip()):
                yield line.number
            elif line.number not in known:
                break


def _footnotes(page: Sequence[Line], known: set[int]) -> Iterator[int]:
    """Yield the small print at the bottom of a page, if it opens like a note."""
    body = [line for line in page if line.number not in known and line.box and line.source == "text"]
    if not body:
        return
    usual = median(_height(line) for line in body for _ in range(len(line.text)))
    small: list[Line] = []
    for line in reversed(body):
        if _height(line) > _SMALL * usual:
            break
        small.append(line)
    if small and len(small) < len(body) and _NOTE.match(small[-1].text.strip()):
        yield from (line.number for line in small)


def _height(line: Line) -> float:
    return line.box.y1 - line.box.y0 if line.box else 0.0
