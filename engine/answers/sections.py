"""The sections of a text, and those of them that somebody names: "Section 7", "Annex B", "Further exclusions"."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from engine.completeness.markers import roman_value
from engine.documents.document import Document
from engine.documents.headings import LONGEST, headings
from engine.documents.outline import headed_sections, outline_of
from engine.text.normalise import plain, words

_ONE_KIND = {"sections": "section", "sec": "section", "§": "section", "§§": "section", "articles": "article"} | {
    **{"art": "article", "clauses": "clause", "paragraphs": "paragraph", "para": "paragraph", "chapters": "chapter"},
    **{"parts": "part", "annexes": "annex", "appendices": "appendix", "schedules": "schedule", "exhibits": "exhibit"},
}
_INNER = ("section", "article", "clause", "paragraph", "chapter", "part")
"""Kinds of what a document is divided into. A number alone may name one, and none of the others."""

_KINDS = "|".join(sorted([*_ONE_KIND, *_INNER, "annex", "appendix", "schedule", "exhibit"], key=len, reverse=True))
_DIGITS = r"\d{1,3}(?:\.\d{1,3})*"
_NUMBER = rf"(?:{_DIGITS}|[IVXLC]+|[A-Z])(?![^\W_])"
_NUMBERED = re.compile(
    rf"(?:(?P<kind>{_KINDS})\.?\s*(?P<numbers>{_NUMBER}(?:\s*(?:,|and|or|&)\s*{_NUMBER})*)"
    rf"|(?P<number>{_DIGITS}(?![^\W_])|(?:[IVX]+|[A-Z])(?=[.)])))[.):]?\s*[-–—]?\s*(?P<title>.*)",
    re.IGNORECASE | re.DOTALL,
)
_FILLERS = frozenset({"the", "of", "under", "heading", "headed", "entitled", "titled"} | set(_INNER))
_PAGE = re.compile(r"\s*(?:the\s+)?pages?\s+(?P<number>\d+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TitledLines:
    """A section of a text: its title, and its first and last line, from 0, inclusive; subsections belong to it."""

    title: str
    first: int
    last: int


def sections_of_text(lines: Sequence[str]) -> tuple[TitledLines, ...]:
    """Return the sections of a text that is no document's, by its headings."""
    all_headings = headings(lines)
    starts = [(heading.text, heading.level, heading.line - 1) for heading in all_headings]
    ends = [
        next((line for _, other, line in starts[place + 1 :] if other <= level), len(lines)) - 1
        for place, (_, level, _) in enumerate(starts)
    ]
    return tuple(TitledLines(title, first, end) for (title, _, first), end in zip(starts, ends, strict=True))


def sections_of_document(document: Document, first_line: int, lines: int) -> tuple[TitledLines, ...]:
    """Return the sections of a document that lie in `lines` lines of it from `first_line` on, as lines of these.

    An outline or a contents page may leave out the lower headings, which are named as well.
    """
    sections = [*outline_of(document), *headed_sections(document.lines)]
    inside = {
        TitledLines(s.title, max(s.first_line - first_line, 0), min(s.section_end_line - first_line, lines - 1))
        for s in sections
        if s.first_line < first_line + lines and s.section_end_line >= first_line
    }
    return tuple(sorted(inside, key=lambda section: (section.first, -section.last, section.title)))


def numbered_lines(lines: Sequence[str]) -> tuple[TitledLines, ...]:
    """Return what begins with a number and a capital letter, each up to the next of its kind.

    These may be entries of a list as well. They stand in for sections whose headings are not written as such, as
    "Section 7. Additional exclusions" with small letters is not.
    """
    starts = [(line, kind) for line, text in enumerate(lines) if (kind := _kind_of_line(text)) is not None]
    ends = [next((n for n, k in starts[i + 1 :] if k == kind), len(lines)) - 1 for i, (_, kind) in enumerate(starts)]
    return tuple(TitledLines(lines[line].strip(), line, end) for (line, _), end in zip(starts, ends, strict=True))


def named_sections(sections: Sequence[TitledLines], name: str) -> list[TitledLines]:
    """Return the sections that are named by number or title; [] where none is.

    "Section 7.2" is that of this number, else the 7 that it belongs to. A section of the same kind comes first: 7 of
    the sections, not of the articles, if there are both. Schedules and annexes are named by their kind alone. A name
    without number names each section whose title has all its words.
    """
    numbered = _NUMBERED.fullmatch(plain(name).strip())
    if numbered is None:
        return _titled(sections, name)
    numbers = re.findall(_NUMBER, numbered["numbers"] or numbered["number"], re.IGNORECASE)
    matches = [section for number in numbers for section in _of_number(sections, _kind(numbered["kind"]), number)]
    return matches or _titled(sections, numbered["title"])


def named_page(name: str) -> int | None:
    """Return the page that is named; None: the name is none of a page.

    >>> named_page("page 12")
    12
    """
    match = _PAGE.match(name)
    return int(match["number"]) if match else None


def _kind_of_line(text: str) -> str | None:
    """Return the kind of a line that may be a heading, "" for a number alone; None for others."""
    match = _NUMBERED.fullmatch(text.strip())
    if match is None or len(text) > LONGEST or text.rstrip().endswith((",", ";")):
        return None
    is_bare = match["kind"] is None and not match["number"][0].isdigit()
    return None if is_bare or (match["title"] and not match["title"][0].isupper()) else _kind(match["kind"])


def _titled(sections: Sequence[TitledLines], name: str) -> list[TitledLines]:
    wanted = {word for word in words(plain(name)) if word not in _FILLERS}
    return [section for section in sections if wanted <= set(words(plain(section.title)))] if wanted else []


def _of_number(sections: Sequence[TitledLines], kind: str, number: str) -> list[TitledLines]:
    """Return the sections of a number, else of the number that it belongs to."""
    parts = number.split(".")
    for length in range(len(parts), 0, -1):
        for kinds in ((kind,), ("",), _INNER):
            if matches := [s for s in sections if _is_of(s.title, kind, ".".join(parts[:length]), kinds=kinds)]:
                return matches
    return []


def _is_of(title: str, kind: str, number: str, *, kinds: Collection[str]) -> bool:
    """Say whether a title has this number and is of one of these kinds ("": says none)."""
    match = _NUMBERED.match(plain(title).strip())
    if match is None or _kind(match["kind"]) not in kinds:
        return False
    if kind and kind not in _INNER and _kind(match["kind"]) != kind:
        return False
    mine = match["numbers"] or match["number"]
    return bool(set(_readings(number)) & set(_readings(mine)))


def _readings(number: str) -> Iterator[str]:
    """Yield a number as it is written, and as the digits of a roman one."""
    yield number.casefold()
    if value := roman_value(number.casefold()):
        yield str(value)


def _kind(written: str | None) -> str:
    kind = (written or "").casefold()
    return _ONE_KIND.get(kind, kind)
