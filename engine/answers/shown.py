"""The lines that a model is shown: passages of one text in numbered lines, and the way back to the document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

from engine.documents.document import Line
from engine.evidence.text_index import TextIndex
from engine.rows import DocumentId, Span
from engine.text.numbered_text import NumberedText

GAP = "[...]"
"""Stands between passages that do not follow each other."""


@dataclass(frozen=True)
class Shown:
    """Pieces of a numbered text, by their offsets: `blocks` are half-open ranges, ascending and apart."""

    text: NumberedText
    blocks: tuple[range, ...]

    @classmethod
    def of(cls, text: NumberedText, pieces: Iterable[int]) -> Shown:
        """Show these pieces; neighbours make one block."""
        return cls(text, tuple(_runs(sorted(set(pieces)))))

    @property
    def pieces(self) -> frozenset[int]:
        """Return the offsets of what is shown."""
        return frozenset(piece for block in self.blocks for piece in block)

    @property
    def is_whole(self) -> bool:
        """Say whether nothing of the text is left out."""
        return sum(map(len, self.blocks)) == len(self.text.pieces)

    def render(self) -> str:
        """Write the lines behind their numbers."""
        last = len(self.text.pieces)
        parts = [self.text.show(block.start, block.stop) for block in self.blocks]
        joined = f"\n{GAP}\n".join(parts)
        before = f"{GAP}\n" if self.blocks and self.blocks[0].start > 0 else ""
        after = f"\n{GAP}" if self.blocks and self.blocks[-1].stop < last else ""
        return f"{before}{joined}{after}"

    def number_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of a line number: those shown and no others."""
        first = self.text.first_number
        ranges = [
            {"type": "integer", "minimum": first + block.start, "maximum": first + block.stop - 1}
            for block in self.blocks
        ]
        return ranges[0] if len(ranges) == 1 else {"anyOf": ranges}

    def offsets(self, start: int, end: int) -> range | None:
        """Return the pieces that a model named by two numbers; None where some in between were not shown."""
        low, high = sorted((start - self.text.first_number, end - self.text.first_number))
        named = range(low, high + 1)
        return named if any(low in block and high in block for block in self.blocks) else None

    def span(self, pieces: range) -> Span:
        """Return the document lines of pieces (those of the text from 1, where it is no document's)."""
        first = 1 if self.text.first_line is None else self.text.first_line
        return Span(first + self.text.pieces[pieces.start].line, first + self.text.pieces[pieces.stop - 1].line)

    def snippet(self, pieces: Sequence[range]) -> str:
        """Recover the text of pieces, a line each passage's lines, passages one below the other."""
        return "\n".join(self._text(block.start, block.stop) for block in pieces)

    def _text(self, start: int, stop: int) -> str:
        return self.text.text[self.text.pieces[start].start : self.text.pieces[stop - 1].stop].strip()

    @cached_property
    def index(self) -> TextIndex:
        """Return an index of the shown pieces, to look values up in: line n is piece n - 1."""
        lines = [Line(piece + 1, 1, self._text(piece, piece + 1)) for block in self.blocks for piece in block]
        return TextIndex(DocumentId(""), lines)


def _runs(pieces: Sequence[int]) -> Iterator[range]:
    for _, run in groupby(enumerate(pieces), key=lambda place: place[1] - place[0]):
        following = [piece for _, piece in run]
        yield range(following[0], following[-1] + 1)
