"""A text in numbered lines, as a model is shown it, with the way back to the document's own lines."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from engine.rows import Span

LONGEST_LINE = 160
"""Characters. A longer line (a paragraph without line ends) is shown in pieces, each with a number of its own."""

_SENTENCE_END = re.compile(r"[.!?;:][\"'”’)\]]*\s+")


@dataclass(frozen=True, slots=True)
class Piece:
    """A numbered line: characters `start` up to and excluding `stop` of the text, in its line `line` (from 0)."""

    start: int
    stop: int
    line: int


@dataclass(frozen=True, slots=True)
class NumberedText:
    """A text and its pieces. `first_line` is the document line on which it begins; None when it is not those lines.

    Numbers shown are those of the document's lines where the text is those lines and none is long, else from 1.
    """

    text: str
    pieces: tuple[Piece, ...]
    first_line: int | None

    @classmethod
    def of(cls, text: str, first_line: int | None = None) -> NumberedText:
        """Give each line of a text a number."""
        return cls(text, tuple(_pieces(text)), first_line)

    @property
    def first_number(self) -> int:
        """Return the number of the first piece."""
        whole = bool(self.pieces) and len(self.pieces) == self.pieces[-1].line + 1
        return self.first_line if self.first_line is not None and whole else 1

    def show(self, start: int, stop: int) -> str:
        """Write the pieces at offsets `start` up to and excluding `stop`, each behind its number."""
        return "\n".join(self.shown(index) for index in range(start, stop))

    def shown(self, index: int) -> str:
        """Write one piece behind its number."""
        piece = self.pieces[index]
        return f"{self.first_number + index}: {self.text[piece.start : piece.stop].rstrip()}"

    def copy(self, first: int, last: int) -> tuple[int, int]:
        """Return where the text of the pieces at offsets `first` to `last` stands, without blank lines at its ends.

        Characters, half-open; equal where there is nothing but blank lines.
        """
        start, stop = self.pieces[first].start, self.pieces[last].stop
        body = self.text[start:stop]
        stop = start + len(body.rstrip())
        blank = re.match(r"(?:[^\S\n]*\n)*", self.text[start:stop])
        return start + (blank.end() if blank else 0), stop

    def span(self, start: int, stop: int) -> Span | None:
        """Return the document lines of the characters `start` up to and excluding `stop`."""
        if self.first_line is None or start >= stop:
            return None
        return lines_at(self.text, start, stop, self.first_line)


def lines_at(text: str, start: int, stop: int, first_line: int) -> Span:
    """Address the lines of characters `start` up to and excluding `stop`; a newline belongs to the line it ends.

    `first_line` is the document line on which the text begins.
    """
    first = first_line + text.count("\n", 0, start)
    return Span(first, first + text.count("\n", start, stop - 1))


def merge(ranges: Iterable[tuple[int, int]], borders: Collection[int] = ()) -> list[tuple[int, int]]:
    """Sort ranges (first and last, inclusive) and join those that share a number.

    Ranges that only meet are joined too where the second begins at one of `borders`: the first number of a window,
    across which the model could not see.
    """
    joined: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if joined and (first <= joined[-1][1] or (first == joined[-1][1] + 1 and first in borders)):
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return joined


def _pieces(text: str) -> Iterator[Piece]:
    start = 0
    for number, line in enumerate(text.split("\n")):
        stop = start + len(line)
        if line or stop < len(text):
            yield from _cut(text, start, stop, number)
        start = stop + 1


def _cut(text: str, start: int, stop: int, line: int) -> Iterator[Piece]:
    while stop - start > LONGEST_LINE:
        end = start + _break(text[start : start + LONGEST_LINE])
        yield Piece(start, end, line)
        start = end
    yield Piece(start, stop, line)


def _break(window: str) -> int:
    """Find where to cut: behind the last sentence, else behind the last space, else at the end."""
    ends = [match.end() for match in _SENTENCE_END.finditer(window)]
    if ends:
        return ends[-1]
    return window.rfind(" ") + 1 or len(window)
