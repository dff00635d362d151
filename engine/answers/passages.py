"""Which passages of a text to show for a question: sections by their titles, then full text and embeddings, fused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from engine.answers.shown import Shown
from engine.documents.headings import Heading
from engine.text.numbered_text import NumberedText
from engine.text.ranking import PIECE_CHARACTERS, Embed, best, rank

Retrieval = Literal["hybrid", "fts", "embedding", "whole"]

CountTokens = Callable[[str], int]


@dataclass(frozen=True)
class Passages:
    """A text cut into passages, half-open ranges of its pieces in order that cover all of it."""

    text: NumberedText
    ranges: tuple[range, ...]

    @classmethod
    def of(cls, text: NumberedText, headings: Sequence[Heading] = ()) -> Passages:
        """Cut a text; `headings` are those of its document, by document line."""
        first = text.first_line or 1
        begins = {heading.line - first for heading in headings}
        return cls(text, tuple(_cut(text, begins)))

    def texts(self) -> list[str]:
        """Return the passages' texts, in order."""
        pieces = self.text.pieces
        return [
            self.text.text[pieces[passage.start].start : pieces[passage.stop - 1].stop].strip()
            for passage in self.ranges
        ]

    def in_lines(self, spans: Iterable[tuple[int, int]]) -> list[int]:
        """Return the passages with lines of these spans (from 0 in the text, inclusive), in order."""
        wanted = list(spans)
        places = []
        for place, passage in enumerate(self.ranges):
            first, last = self.text.pieces[passage.start].line, self.text.pieces[passage.stop - 1].line
            if any(begin <= last and first <= end for begin, end in wanted):
                places.append(place)
        return places

    async def ranking(self, query: str, question: str, how: Retrieval, embed: Embed) -> list[int]:
        """Rank the passages for a query, best first; those without any of its words come last under fts.

        `question` alone is embedded: key words beside it would blur what it means.
        """
        return best(await rank(how, query, self.texts(), embed, meant=question), len(self.ranges))


def choose(passages: Passages, order: Sequence[int], *, budget: int, count: CountTokens) -> Shown | None:
    """Show passages, each once in `order`, while they fit `budget` (tokens); None: there are none.

    The first passage is always shown: a budget too small for it is for the question to find out.
    """
    texts = passages.texts()
    chosen: list[int] = []
    used = 0
    for place in dict.fromkeys(order):
        size = count(texts[place]) + 4 * len(passages.ranges[place])
        if chosen and used + size > budget:
            continue
        chosen.append(place)
        used += size
    if not chosen:
        return None
    return Shown.of(passages.text, [piece for place in chosen for piece in passages.ranges[place]])


def with_following(order: Sequence[int], count: int) -> list[int]:
    """Put the passage behind the best one second, if there is one: the best may end with the heading of the answer.

    >>> with_following([2, 0, 3, 1], 4)
    [2, 3, 0, 1]
    """
    following = [place + 1 for place in order[:1] if place + 1 < count]
    return list(dict.fromkeys([*order[:1], *following, *order[1:]]))


def _cut(text: NumberedText, begins: set[int]) -> Iterator[range]:
    """Cut before headings and behind blank lines, so that no passage is longer than an embedding reads, if it can."""
    start = 0
    for piece in range(1, len(text.pieces) + 1):
        if piece == len(text.pieces):
            yield range(start, piece)
            return
        long = text.pieces[piece].stop - text.pieces[start].start > PIECE_CHARACTERS
        half = text.pieces[piece - 1].stop - text.pieces[start].start > PIECE_CHARACTERS // 3
        if long or (half and (text.pieces[piece].line in begins or _is_blank(text, piece - 1))):
            yield range(start, piece)
            start = piece


def _is_blank(text: NumberedText, piece: int) -> bool:
    bounds = text.pieces[piece]
    return not text.text[bounds.start : bounds.stop].strip()
