"""How a document is made up: where its pages and sections begin, and where each section ends.

Sections come from the file's own outline, a printed contents page, or the headings.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.documents.document import Document, Line, OutlineEntry
from engine.documents.furniture import furniture
from engine.documents.headings import Heading, headings


@dataclass(frozen=True, slots=True)
class Structure:
    """The beginnings in a document of `lines` lines: of pages that have lines, `(page, line)`, and of its sections."""

    lines: int
    pages: tuple[tuple[int, int], ...] = ()
    headings: tuple[Heading, ...] = ()


def structure_of(document: Document) -> Structure:
    """Find where pages and sections begin; headings come from the file's own outline if it has one."""
    texts = [line.text for line in document.lines]
    return Structure(
        lines=len(document.lines),
        pages=tuple((page.number, page.lines.first) for page in document.pages if page.lines),
        headings=_outline_headings(document) or headings(texts, _heights_of_letters(document.lines)),
    )


def _heights_of_letters(lines: Sequence[Line]) -> list[float | None]:
    """Return the height of each line's letters; None for OCR, whose boxes follow the ink and tell little of it."""
    return [line.box.y1 - line.box.y0 if line.box and line.source == "text" else None for line in lines]


def _outline_headings(document: Document) -> tuple[Heading, ...]:
    """Find the line of each entry: the first on its page that begins with the title, else the page's first."""
    found, after = list[Heading](), 0
    for entry in document.outline:
        line = _line_of(document, entry, after)
        if line is not None:
            after = line
            found.append(Heading(line, entry.level, " ".join(entry.title.split())))
    return tuple(found)


def _line_of(document: Document, entry: OutlineEntry, after: int) -> int | None:
    page = next((p for p in document.pages if p.number >= entry.page and p.lines), None)
    if page is None or page.lines is None:
        return None
    for line in document.lines[page.lines.first - 1 : page.lines.last]:
        if line.number >= after and _begins_alike(line.text, entry.title):
            return line.number
    return max(page.lines.first, after)


def _begins_alike(text: str, title: str) -> bool:
    """Say whether a line begins with a title, or the title with the line: letters and digits only, in any case."""
    bare, wanted = _bare(text), _bare(title)
    return bool(bare and wanted) and (bare.startswith(wanted) or wanted.startswith(bare))


def _bare(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).casefold()


# Read a printed table of contents, and find where its entries begin: the outline that the file forgot to bring.

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
class _Printed:
    line: Line
    title: str
    page: int


def contents_entries(lines: Sequence[Line]) -> tuple[Heading, ...]:
    """Return the entries of a printed contents page in order, each with the line where its section begins.

    It stands near the beginning, its page numbers do not fall, and half of its titles are found behind it; () without
    one. Where the title of an entry is not found, its section begins at the top of its page.
    """
    printed = _contents(lines)
    if not printed:
        return ()
    starts = _starts(printed, lines)
    located = [start for start in starts if start is not None]
    if len(located) < max(2, _FOUND * len(printed)):
        return ()
    offset = Counter(lines[s - 1].page - p.page for s, p in zip(starts, printed, strict=True) if s).most_common(1)[0][0]
    levels = _levels(printed)
    entries, after = [], printed[-1].line.number
    for entry, start, level in zip(printed, starts, levels, strict=True):
        at = start or _top_of(lines, entry.page + offset, after)
        if at is not None:
            after = at
            entries.append(Heading(at, level, entry.title))
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
        match = _LEADERS.fullmatch(text)
        if match is None and any(name < line.number for name in named):
            match = _SPACED.fullmatch(text)
        if match is not None and any(c.isalpha() for c in match["title"]):
            yield _Printed(line, " ".join(match["title"].split()), int(match["page"]))


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
    return not short and not _LEADERS.fullmatch(text.strip()) and _begins_alike(text, title)


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


_FEWEST_ENTRIES = 2
"""A file's outline of one entry is the name of the file."""


@dataclass(frozen=True, slots=True)
class Section:
    """A section: its heading and everything up to the next one of its level or a higher one.

    `level` counts from 1, the highest. Lines and pages count from 1 and are inclusive; subsections belong to it.
    """

    level: int
    title: str
    first_line: int
    section_end_line: int
    first_page: int


def outline_of(document: Document) -> tuple[Section, ...]:
    """Return the sections of a document in order, () if it has none.

    They come from the file's own outline; else from a printed contents page; else from how the lines are written.
    """
    if len(document.outline) >= _FEWEST_ENTRIES:
        starts = _outline_headings(document)
        if len({start.line for start in starts}) >= _FEWEST_ENTRIES:
            return _closed(starts, document.lines)
    return sections_of_lines(document.lines)


def sections_of_lines(lines: Sequence[Line]) -> tuple[Section, ...]:
    """Return the sections that all lines of a document show by themselves: a contents page, else its headings."""
    listed = contents_entries(lines)
    if listed:
        return _closed(listed, lines)
    return headed_sections(lines)


def headed_sections(lines: Sequence[Line]) -> tuple[Section, ...]:
    """Return the sections that the headings among the lines begin."""
    skipped = furniture(lines)
    texts = ["" if line.number in skipped else line.text for line in lines]
    bold = frozenset(line.number for line in lines if line.bold)
    return _closed(headings(texts, _heights_of_letters(lines), bold), lines)


def _closed(starts: Sequence[Heading], lines: Sequence[Line]) -> tuple[Section, ...]:
    """Let each section end where the next of its level or a higher one begins.

    Heads and feet of pages behind its last line are not part of it.
    """
    skipped = furniture(lines)
    sections = []
    for place, heading in enumerate(starts):
        following = (other.line for other in starts[place + 1 :] if other.level <= heading.level)
        last = next(following, len(lines) + 1) - 1
        while last > heading.line and last in skipped:
            last -= 1
        last = max(last, heading.line)
        sections.append(
            Section(
                level=heading.level,
                title=heading.text,
                first_line=heading.line,
                section_end_line=last,
                first_page=lines[heading.line - 1].page,
            )
        )
    return tuple(sections)
