"""Find the headings of a text by how they are written: Markdown, numbers, capitals, and the size of the letters.

Others ask only this module for headings. Where a file has an outline of its own, that counts (documents.outline).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from statistics import median
from typing import Literal

LONGEST = 100
"""Characters of a heading."""

_MOST_WORDS = 14
_LARGER = 1.2
"""A heading set in larger letters has at least so many times the usual height of a line."""
_RARE = 0.1
_MOST_BOLD = 0.3
"""Where a larger part of the lines is bold, bold tells nothing."""
_FULL_LINE = 60
"""A line so long that does not end a sentence is continued by the next."""
_LIST = 3
"""So many numbered lines one right after the other are a list or a table of contents."""
_REPEATED = 3
"""A line that occurs so often is the head or foot of pages."""

_PARTS = "ARTICLE|CHAPTER|PART|TITLE|EXHIBIT|SCHEDULE|APPENDIX|ANNEX|ATTACHMENT|ADDENDUM|BOOK"
_NUMBER = r"(?:[IVXLC]+|[A-Z]|\d{1,3})"
_MARKDOWN = re.compile(r"(#{1,6})[ \t]+(.+?)[ \t]*#*")
_FENCE = re.compile(r"\s*(```|~~~)")
_PART = re.compile(rf"(?:{_PARTS}|{_PARTS.title()})\s+{_NUMBER}(?:[-.]\d+)*\b(?!\()[.:]?\s*[-–—]?\s*(.*)")
_SECTION = re.compile(r"(?:SECTION|Section|§)\s*(\d{1,3}(?:\.\d{1,3})*)\b(?!\()[.:]?\s*[-–—]?\s*(.*)")
_DECIMAL = re.compile(r"(\d{1,3}(?:\.\d{1,3}){1,4}|\d{1,3}(?=[.)]))[.)]?\s+(.*)")
_ROMAN = re.compile(r"[IVX]{1,5}\.\s+(.*)")
_LETTER = re.compile(r"[A-Z]\.\s+(.*)")
_RUN_IN = re.compile(r"([^.:]{2,80}?)[.:]\s+\S")
_CAPITALS_RUN_IN = re.compile(r"([A-Z][A-Z0-9 &,'’/()-]{4,60})\.\s+[A-Z]|([A-Z][A-Z ]{3,50}#? ?\d{1,3}):")
_SIGNATURE = re.compile(r"/s/|_{4,}|\S {3,}\S")
_LEADERS = re.compile(r"(?:\.\s?){4,}\s*\d*$|…\s*\d+$")

Kind = Literal["markdown", "part", "number", "capitals", "size", "bold"]


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading. `line` counts from 1 in the text it was found in; `level` from 1, the highest."""

    line: int
    level: int
    text: str


@dataclass(frozen=True, slots=True)
class _Found:
    heading: Heading
    kind: Kind
    last: int
    runs_in: bool = False
    """Whether text follows on the same line."""


def headings(
    lines: Sequence[str], heights: Sequence[float | None] = (), bold: Set[int] = frozenset()
) -> tuple[Heading, ...]:
    """Find the headings of a text's lines.

    `heights` are those of the lines, in any unit, where they are known; `bold` the numbers of those set in bold. Levels
    are without gaps: the highest is 1, and each that occurs is one more than the next higher.
    """
    bold = bold if len(bold) <= _MOST_BOLD * len(lines) else frozenset()
    candidates = _without_lists(_joined(list(_candidates(lines, heights, bold))))
    levels = sorted({f.heading.level for f in candidates})
    return tuple(replace(f.heading, level=levels.index(f.heading.level) + 1) for f in candidates)


def _candidates(lines: Sequence[str], heights: Sequence[float | None], bold: Set[int]) -> Iterator[_Found]:
    repeated = {text for text, count in Counter(line.strip() for line in lines).items() if count >= _REPEATED}
    sizes = _large_sizes(lines, heights)
    is_code, before = False, ""
    for number, line in enumerate(lines, 1):
        if _FENCE.match(line):
            is_code = not is_code
        text = line.strip()
        if not (is_code or not text or text in repeated or _LEADERS.search(text)):
            candidate = _read(text, number, before) or _by_size(text, number, heights, sizes)
            if candidate is None and number in bold and number - 1 not in bold:
                candidate = _bold(text, number)
            if candidate is not None:
                yield candidate
        before = text


def _read(text: str, number: int, before: str) -> _Found | None:
    """Read one line as a heading by its text alone, and that of the line before it."""
    if markdown := _MARKDOWN.fullmatch(text):
        return _Found(Heading(number, len(markdown[1]), markdown[2][:LONGEST]), "markdown", number)
    if numbered := _numbered(text, number):
        return numbered
    goes_on = len(before) >= _FULL_LINE and not before.endswith((".", "!", "?", ":", ";"))
    return None if goes_on else _capitals(text, number)


def _numbered(text: str, number: int) -> _Found | None:
    if part := _PART.fullmatch(text):
        return _titled(text, part[1], number, 1, "part", may_lack_title=True)
    if section := _SECTION.fullmatch(text):
        return _titled(text, section[2], number, 2 + section[1].count("."), "number", may_lack_title=True)
    if decimal := _DECIMAL.fullmatch(text):
        return _titled(text, decimal[2], number, 2 + decimal[1].count("."), "number")
    if roman := _ROMAN.fullmatch(text):
        return _titled(text, roman[1], number, 2, "number")
    if letter := _LETTER.fullmatch(text):
        return _titled(text, letter[1], number, 3, "number")
    return None


def _titled(
    text: str, rest: str, number: int, level: int, kind: Kind, *, may_lack_title: bool = False
) -> _Found | None:
    """Accept a numbered line whose rest is a title, or begins with one that ends in a full stop."""
    if not rest:
        return _Found(Heading(number, level, text), kind, number) if may_lack_title else None
    if _is_title(rest.rstrip(".:")):
        return _Found(Heading(number, level, text[:LONGEST]), kind, number)
    run_in = _RUN_IN.match(rest)
    if run_in and _is_title(run_in[1]):
        title = text[: len(text) - len(rest) + len(run_in[1])]
        return _Found(Heading(number, level, title), kind, number, runs_in=True)
    return None


def _capitals(text: str, number: int) -> _Found | None:
    letters = [c for c in text if c.isalpha()]
    is_short = len(text) <= LONGEST and len(text.split()) <= _MOST_WORDS
    if is_short and len(letters) >= 4 and all(c.isupper() for c in letters) and _reads_as_words(text):
        return _Found(Heading(number, 1, text.rstrip(":.")), "capitals", number)
    run_in = _CAPITALS_RUN_IN.match(text)
    if run_in:
        title = run_in[1] or run_in[2]
        if _reads_as_words(title):
            return _Found(Heading(number, 2, title), "capitals", number, runs_in=True)
    return None


def _bold(text: str, number: int) -> _Found | None:
    if text.endswith((".", ",", ";")) or not (_is_title(text.rstrip(":")) and _reads_as_words(text.rstrip(":"))):
        return None
    return _Found(Heading(number, 2, text.rstrip(":")), "bold", number)


def _reads_as_words(text: str) -> bool:
    """Tell a heading in capitals from codes, dates and the ends of sentences."""
    words = re.findall(r"[^\W\d_]{3,}", text)
    digits = sum(c.isdigit() for c in text)
    is_odd = text.endswith((",", ";")) or text.startswith("(") or ":" in text[:-1] or _SIGNATURE.search(text)
    return bool(words) and not is_odd and digits <= len(text) / 4


def _is_title(text: str) -> bool:
    """Say whether a text is written like a title: short, and its longer words begin with capitals."""
    words = text.split()
    if not words or len(text) > LONGEST or len(words) > _MOST_WORDS or text.endswith((",", ";")):
        return False
    longer = [word for word in words if len(word.strip("“”\"'()")) > 3]
    large = [word for word in longer if word.lstrip("“\"'(")[:1].isupper()]
    return text.lstrip("“\"'(")[:1].isupper() and len(large) >= 0.7 * len(longer) and any(c.isalpha() for c in text)


def _large_sizes(lines: Sequence[str], heights: Sequence[float | None]) -> list[float]:
    """List the heights of larger letters, the largest first; none where they are not rare."""
    known = [(round(h, 1), line) for h, line in zip(heights, lines, strict=False) if h and line.strip()]
    if not known:
        return []
    usual = median(height for height, line in known for _ in range(len(line)))
    large = [height for height, _ in known if height >= _LARGER * usual]
    return sorted(set(large), reverse=True) if len(large) <= _RARE * len(known) else []


def _by_size(text: str, number: int, heights: Sequence[float | None], sizes: Sequence[float]) -> _Found | None:
    height = heights[number - 1] if number <= len(heights) else None
    if not height or round(height, 1) not in sizes or len(text) > LONGEST or len(text.split()) > _MOST_WORDS:
        return None
    if text.endswith((".", ",", ";")) or not (_is_title(text) and _reads_as_words(text)):
        return None
    return _Found(Heading(number, 1 + min(sizes.index(round(height, 1)), 2), text), "size", number)


def _joined(candidates: Sequence[_Found]) -> list[_Found]:
    """Put a heading back together that runs over several lines."""
    joined: list[_Found] = []
    for item in candidates:
        before = joined[-1] if joined else None
        if before and _continues(before, item):
            text = f"{before.heading.text} {item.heading.text}"[:LONGEST]
            joined[-1] = replace(before, heading=replace(before.heading, text=text), last=item.last)
        else:
            joined.append(item)
    return joined


def _continues(before: _Found, item: _Found) -> bool:
    if item.heading.line != before.last + 1 or before.runs_in or item.runs_in:
        return False
    bare_part = before.kind == "part" and item.kind == "capitals"
    return bare_part or (before.kind == item.kind and item.kind in ("capitals", "size"))


def _without_lists(candidates: Sequence[_Found]) -> list[_Found]:
    """Leave out numbered lines that follow each other without text between: a list, not sections."""
    kept: list[_Found] = []
    run: list[_Found] = []
    for item in candidates:
        is_next = bool(run) and item.heading.line == run[-1].last + 1 and item.kind == run[-1].kind == "number"
        if not (is_next and not item.runs_in):
            kept += run if len(run) < _LIST else []
            run = []
        run.append(item)
    return kept + (run if len(run) < _LIST else [])
