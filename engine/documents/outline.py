"""The sections of a document, with where each ends: from its own outline, a printed contents page, or its headings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from engine.documents.contents_page import contents_entries
from engine.documents.document import Document, Line
from engine.documents.furniture import furniture
from engine.documents.headings import Heading, Kind, headings_and_kinds
from engine.documents.structure import outline_headings

OutlineSource = Literal["file", "contents_page", "typography", "numbering"]

_FEWEST_ENTRIES = 2
"""A file's outline of one entry is the name of the file."""
_CONFIDENCE: Final[Mapping[Kind, float]] = MappingProxyType(
    {"markdown": 0.9, "part": 0.8, "number": 0.75, "size": 0.8, "bold": 0.7, "capitals": 0.6}
)
_NUMBER = re.compile(
    r"(?P<word>[A-Za-z]+(?=\s)|§)?\s*(?P<prefix>(?:\d{1,3}\.)*)(?P<last>\d{1,3}|[IVXLC]+|[A-Z])(?=[\s.):–—-]|$)"
)


@dataclass(frozen=True, slots=True)
class Section:
    """A section: its heading and everything up to the next one of its level or a higher one.

    `level` counts from 1, the highest. Lines and pages count from 1 and are inclusive; subsections belong to it.
    `confidence`, 0..1, says how sure it is that a section begins here.
    """

    level: int
    title: str
    first_line: int
    section_end_line: int
    first_page: int
    section_end_page: int
    source: OutlineSource
    confidence: float


def outline_of(document: Document) -> tuple[Section, ...]:
    """Return the sections of a document in order, () if it has none.

    They come from the file's own outline; else from a printed contents page; else from how the lines are written.
    """
    if len(document.outline) >= _FEWEST_ENTRIES:
        found = [_Start(h, "file", 1.0 if is_there else 0.6) for h, is_there in outline_headings(document)]
        if len({start.heading.line for start in found}) >= _FEWEST_ENTRIES:
            return _closed(found, document.lines)
    return sections_of_lines(document.lines)


def sections_of_lines(lines: Sequence[Line]) -> tuple[Section, ...]:
    """Return the sections that all lines of a document show by themselves: a contents page, else its headings."""
    listed = contents_entries(lines)
    if listed:
        return _closed([_Start(e.heading, "contents_page", 0.9 if e.is_found else 0.4) for e in listed], lines)
    return headed_sections(lines)


def headed_sections(lines: Sequence[Line]) -> tuple[Section, ...]:
    """Return the sections that the headings among the lines begin."""
    return _closed(_written(lines), lines)


def section_at(sections: Sequence[Section], line: int) -> Section | None:
    """Return the innermost section that holds a line, None before the first."""
    return next((s for s in reversed(sections) if s.first_line <= line <= s.section_end_line), None)


@dataclass(frozen=True, slots=True)
class _Start:
    heading: Heading
    source: OutlineSource
    confidence: float


def _closed(starts: Sequence[_Start], lines: Sequence[Line]) -> tuple[Section, ...]:
    """Let each section end where the next of its level or a higher one begins (the article's section_end_page).

    Heads and feet of pages behind its last line are not part of it.
    """
    skipped = furniture(lines)
    sections = []
    for place, start in enumerate(starts):
        heading = start.heading
        following = (s.heading.line for s in starts[place + 1 :] if s.heading.level <= heading.level)
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
                section_end_page=lines[last - 1].page,
                source=start.source,
                confidence=start.confidence,
            )
        )
    return tuple(sections)


def _written(lines: Sequence[Line]) -> list[_Start]:
    """Find sections by letters and numbers, surer where both speak for one, or the number follows the one before."""
    skipped = furniture(lines)
    texts = ["" if line.number in skipped else line.text for line in lines]
    # OCR's boxes follow the ink: their heights tell little of the letters' size.
    heights = [line.box.y1 - line.box.y0 if line.box and line.source == "text" else None for line in lines]
    bold = frozenset(line.number for line in lines if line.bold)
    starts, numbers = [], dict[str, int]()
    for heading, kind in headings_and_kinds(texts, heights, bold):
        confidence = _CONFIDENCE[kind]
        if kind in ("part", "number"):
            style, number = _number_of(heading.text)
            confidence += 0.1 if number == numbers.get(style, 0) + 1 else -0.2
            numbers[style] = number
        if kind not in ("bold", "size") and heading.line in bold:
            confidence += 0.1
        source: OutlineSource = "numbering" if kind in ("part", "number", "markdown") else "typography"
        starts.append(_Start(heading, source, round(min(confidence, 0.95), 2)))
    return starts


def _number_of(title: str) -> tuple[str, int]:
    """Return what the number of a heading counts ('article', '4.'), and the number; 0 for one that is none."""
    found = _NUMBER.match(title)
    if found is None:
        return "", 0
    prefix, last = f"{(found['word'] or '').lower()} {found['prefix'] or ''}", found["last"]
    if last.isdigit():
        return prefix, int(last)
    if len(last) > 1 or last in "IVX":
        values = [{"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}[c] for c in last]
        return prefix + "I", sum(-v if v < max(values[i:]) else v for i, v in enumerate(values))
    return prefix + "A", ord(last) - ord("A") + 1
