"""What was retrieved of a document, and the pages beside it that are kept from the model (article, 2.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.documents.document import Line
from engine.documents.outline import Section
from engine.rows import Span

_FEWEST_LINES = 5
"""Fewer lines kept behind what was shown are not a page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval:
    """What a question was shown of a document: a section, pages, or lines. Everything is inclusive, counted from 1.

    `lines` are the lines shown, ascending and apart from each other; without them all of the section or the pages.
    A section or pages beside `lines` say where these were looked for.
    `overlap_pages`: so many pages' worth of lines before and after what is shown stay with the pipeline; 0 keeps none.
    """

    first_page: int | None = None
    last_page: int | None = None
    section: Section | None = None
    lines: tuple[Span, ...] = ()
    overlap_pages: int = 1

    def __post_init__(self) -> None:
        if self.overlap_pages < 0:
            raise ValueError(f"overlap_pages is {self.overlap_pages}; it is 0 or more")
        if (self.first_page is None) != (self.last_page is None):
            raise ValueError("a retrieval by pages needs both first_page and last_page")
        if self.first_page is not None and self.last_page is not None and not 1 <= self.first_page <= self.last_page:
            raise ValueError(f"pages {self.first_page} to {self.last_page}: needs 1 <= first_page <= last_page")
        if not self.lines and self.section is None and self.first_page is None:
            raise ValueError("a retrieval needs pages, a section or lines")
        if any(span.last >= following.first for span, following in zip(self.lines, self.lines[1:], strict=False)):
            raise ValueError("the lines of a retrieval must be ascending and must not overlap")


def shown(retrieval: Retrieval, lines: Sequence[Line]) -> tuple[Span, ...]:
    """Return the spans of `lines` (all of the document, in order) that the model saw; () if there are none."""
    if retrieval.lines:
        spans = [Span(span.first, min(span.last, len(lines))) for span in retrieval.lines if span.first <= len(lines)]
        return tuple(spans)
    if retrieval.section is not None:
        return _inside(retrieval.section.first_line, retrieval.section.section_end_line, len(lines))
    first, last = retrieval.first_page or 1, retrieval.last_page or 0
    numbers = [line.number for line in lines if first <= line.page <= last]
    return (Span(numbers[0], numbers[-1]),) if numbers else ()


def overlap_after(last: int, lines: Sequence[Line], pages: int) -> Span | None:
    """Return the lines kept behind line `last`: the rest of its page and `pages` more that have lines.

    Where that is next to nothing, such as the last words of a page and a stamp, a further page is kept. None when the
    document ends there, or nothing is kept.
    """
    rest = lines[last:]
    if not rest or not pages:
        return None
    numbers = sorted({line.page for line in rest if line.page > lines[last - 1].page}) or [rest[-1].page]
    counts = [sum(line.page <= end for line in rest) for end in numbers]
    enough = (count for count in counts[pages - 1 :] if count >= _FEWEST_LINES)
    return Span(last + 1, last + next(enough, counts[-1]))


def overlap_before(first: int, lines: Sequence[Line], pages: int) -> Span | None:
    """Return the lines kept before line `first`, as `overlap_after` does."""
    rest = lines[: first - 1]
    if not rest or not pages:
        return None
    numbers = sorted({line.page for line in rest if line.page < lines[first - 1].page}, reverse=True)
    end = numbers[:pages][-1] if numbers else rest[0].page
    return Span(min(line.number for line in rest if line.page >= end), first - 1)


def _inside(first: int, last: int, count: int) -> tuple[Span, ...]:
    return (Span(first, min(last, count)),) if 1 <= first <= min(last, count) else ()
