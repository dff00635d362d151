"""The text that a question is answered from: its numbered lines, its pages, and which passages to show next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from engine.answers.contract import Item
from engine.answers.parsing import Parsed
from engine.answers.passages import Passages, choose, with_following
from engine.answers.pointing import references
from engine.answers.rereading import MOST_PAGES, Reread, by_other_reading, by_tables
from engine.answers.sections import (
    TitledLines,
    named_page,
    named_sections,
    numbered_lines,
    sections_of_document,
    sections_of_text,
)
from engine.answers.shown import Shown
from engine.completeness.judge import judge_completeness
from engine.documents.document import Document
from engine.operators.accounting import first_line_of
from engine.operators.answer.node import Answer
from engine.operators.base import Tools
from engine.rows import Row, Span
from engine.text.normalise import stems
from engine.text.numbered_text import NumberedText

CLOSE_TOKENS = 300
"""Tokens of the lines that are looked at again where nothing was found in more of them."""

MOST_NEAREST = 3
BEFORE, BEHIND = 3, 8
"""Lines around one that speaks of what is asked: more behind it, for what it announces."""


@dataclass(frozen=True)
class Source:
    """A text in numbered lines; `document` is None where it is not the lines of one."""

    text: NumberedText
    passages: Passages
    document: Document | None = None

    @classmethod
    def of(cls, row: Row, text: str, tools: Tools) -> Source:
        """Take the text of a row; the pages and sections are those of its document, if it is its text."""
        first = first_line_of(row, text, tools)
        numbered = NumberedText.of(text, first)
        if first is None or row.document_id is None:
            return cls(numbered, Passages.of(numbered))
        headings = tools.structure(row.document_id).headings
        return cls(numbered, Passages.of(numbered, headings), tools.document(row.document_id))

    @property
    def lines(self) -> int:
        """Return how many lines the text has."""
        return self.text.pieces[-1].line + 1 if self.text.pieces else 0

    @cached_property
    def sections(self) -> tuple[TitledLines, ...]:
        """Return the sections of the text: those of its document's outline and headings, else by its own headings."""
        if self.document is None:
            return sections_of_text(self.text.text.split("\n"))
        return sections_of_document(self.document, self.text.first_line or 1, self.lines)

    @cached_property
    def numbered(self) -> tuple[TitledLines, ...]:
        """Return what the numbered lines of the text begin, for names that no section has."""
        return numbered_lines(self.text.text.split("\n"))

    def is_read(self, name: str, seen: frozenset[int]) -> bool | None:
        """Say whether the sections or the page of this name were begun to be read; None: the text has none."""
        spans = self._named(name)
        if not spans:
            return None
        lines = {self.text.pieces[piece].line for piece in seen}
        if named_page(name) is not None:
            return any(first <= line <= last for line in lines for first, last in spans)
        return all(first in lines for first, _ in spans)

    def named(self, names: Sequence[str]) -> list[int]:
        """Return the passages of the sections and pages that are named, those of the first name first."""
        places = [place for name in names for place in self.passages.in_lines(self._named(name))]
        return list(dict.fromkeys(places))

    def _named(self, name: str) -> list[tuple[int, int]]:
        """Return the first and last line, from 0 in the text, of each section or the page of this name."""
        page = named_page(name)
        if page is None:
            named = named_sections(self.sections, name) or named_sections(self.numbered, name)
            return [(section.first, section.last) for section in named]
        first = self.text.first_line or 1
        lines = [line for line in range(self.lines) if self.page_of(first + line) == page]
        return [(lines[0], lines[-1])] if lines else []

    def page_of(self, line: int) -> int | None:
        """Return the page of a line; None without pages."""
        if self.document is None or not 1 <= line <= len(self.document.lines):
            return None
        return self.document.lines[line - 1].page

    async def first(self, node: Answer, parsed: Parsed, budget: int, tools: Tools) -> Shown | None:
        """Show a small text whole; of others the sections that are named, and what ranks best. None: no text."""
        if not self.text.text.strip():
            return None
        whole = Shown.of(self.text, range(len(self.text.pieces)))
        if node.retrieval == "whole" or tools.count_tokens(whole.render()) <= budget:
            return whole
        named = self.named(parsed.scope)
        order = await self.passages.ranking(parsed.query, parsed.meant, node.retrieval, tools.embed)
        order = with_following(order, len(self.passages.ranges))
        return choose(self.passages, [*named, *order], budget=budget, count=tools.count_tokens)

    async def more(
        self,
        node: Answer,
        parsed: Parsed,
        seen: frozenset[int],
        *,
        pointed: Sequence[str],
        discovered: Sequence[str],
        goes_on: bool,
        budget: int,
        tools: Tools,
    ) -> Shown | None:
        """Show what was not shown yet; None where all was shown.

        First the sections that the lines point to (`pointed`), then what follows where the answer was cut off, then
        the sections that the question or words that were come upon (`discovered`) name, then by rank.
        """
        unseen = [place for place, pieces in enumerate(self.passages.ranges) if not set(pieces) <= seen]
        if not unseen:
            return None
        following = [place for place in unseen if self.passages.ranges[place].start - 1 in seen] if goes_on else []
        named = [place for place in self.named([*parsed.scope, *discovered]) if place in unseen]
        terms = [*discovered, *pointed]
        query, question = (" ".join([words, *terms]) for words in (parsed.query, parsed.meant))
        order = await self.passages.ranking(query, question, node.retrieval, tools.embed)
        ranked = [place for place in order if place in unseen]
        there = [place for place in self.named(pointed) if place in unseen]
        wanted = [*there, *following, *named, *ranked]
        return choose(self.passages, wanted, budget=budget, count=tools.count_tokens)

    def references(self, seen: frozenset[int], query: str) -> list[str]:
        """Return the places that lines with most words of a query refer to, and the lines beside them."""
        nearest = nearest_lines(Shown.of(self.text, seen), query)
        return list(dict.fromkeys(references(nearest.snippet(nearest.blocks)))) if nearest else []

    async def closer(self, node: Answer, parsed: Parsed, shown: Shown, tools: Tools) -> Shown | None:
        """Show of what was shown only what is nearest: a small model overlooks in many lines what it finds in few.

        That are the lines around those with most words of the question; where none has any, the passages that rank
        best. None where few were shown, or the pipeline wants all of the text shown.
        """
        if node.retrieval == "whole" or tools.count_tokens(shown.render()) <= 2 * CLOSE_TOKENS:
            return None
        if nearest := nearest_lines(shown, parsed.query):
            return nearest
        order = await self.passages.ranking(parsed.query, parsed.meant, node.retrieval, tools.embed)
        places = [place for place in order if set(self.passages.ranges[place]) <= shown.pieces]
        return choose(self.passages, places, budget=CLOSE_TOKENS, count=tools.count_tokens)

    def completeness(self, seen: frozenset[int], items: Sequence[Item]) -> bool | None:
        """Judge by code whether what was shown holds all of the answer (context_completeness_strong).

        Nothing is missing from a document that was shown whole; only where it announces more items than it has, nothing
        is claimed.
        """
        is_all = self.is_all(seen)
        if self.document is None or not items:
            return True if is_all else None
        shown = Shown.of(self.text, seen)
        lines = [shown.span(block) for block in shown.blocks]
        report = judge_completeness(self.document.lines, lines, [item.spans for item in items])
        if is_all:
            is_short = any(f.test == "announced" and f.verdict == "truncated" for f in report.findings)
            return None if is_short else True
        return report.context_completeness_strong

    def is_all(self, seen: frozenset[int]) -> bool:
        """Say whether these pieces are all of the text, and the text all of its document."""
        if not Shown.of(self.text, seen).is_whole:
            return False
        if self.document is None:
            return True
        first = self.text.first_line or 1
        others = (*self.document.lines[: first - 1], *self.document.lines[first - 1 + self.lines :])
        return not any(line.text.strip() for line in others)

    def can_reread(self, seen: frozenset[int], items: Sequence[Item]) -> bool:
        """Say whether pages could be read another way: they have tables, or a text layer, where OCR can read."""
        if self.document is None:
            return False
        pages = self._doubtful_pages(seen, items)
        tables = by_tables(self.document, pages) is not None
        texts = (self.document.pages[page - 1].source == "text" for page in pages)
        return tables or (self.document.kind == "pdf" and any(texts))

    async def reread(self, seen: frozenset[int], items: Sequence[Item], tools: Tools) -> Reread | None:
        """Read the pages of an answer another way, or where there is none those shown; None: that gives nothing.

        Raises DocumentError where the file cannot be read again.
        """
        assert self.document is not None  # can_reread says so first
        pages = self._doubtful_pages(seen, items)
        if tables := by_tables(self.document, pages):
            return tables
        other = await tools.read_by_ocr(self.document.id, pages)
        return by_other_reading(self.document, other, pages, "OCR")

    def _doubtful_pages(self, seen: frozenset[int], items: Sequence[Item]) -> list[int]:
        spans = [span for item in items for span in item.spans]
        first = self.text.first_line or 1
        lines = [span.first for span in spans] or [first + self.text.pieces[piece].line for piece in sorted(seen)]
        pages = [page for line in lines if (page := self.page_of(line)) is not None]
        return list(dict.fromkeys(pages))[:MOST_PAGES]


def nearest_lines(shown: Shown, query: str) -> Shown | None:
    """Return the lines with most words of a query, each with those around it; None where no line has any."""
    asked = stems(query)
    weights = {piece: len(asked & stems(shown.snippet([range(piece, piece + 1)]))) for piece in shown.pieces}
    most = max(weights.values(), default=0)
    best = sorted(piece for piece, weight in weights.items() if weight == most)[:MOST_NEAREST] if most else []
    wanted = {near for piece in best for near in range(piece - BEFORE, piece + BEHIND + 1)}
    return Shown.of(shown.text, wanted & shown.pieces) if best else None


def around(shown: Shown, spans: Sequence[Span], lines: int) -> str:
    """Return the text of spans and so many lines before and after each, as far as they were shown."""
    first = 1 if shown.text.first_line is None else shown.text.first_line
    wanted = {
        piece
        for piece in shown.pieces
        if any(s.first - lines <= shown.text.pieces[piece].line + first <= s.last + lines for s in spans)
    }
    return shown.snippet(Shown.of(shown.text, wanted).blocks)
