"""An index of one document's lines, built once and searched for every value that may come from it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import accumulate, groupby
from typing import Literal

from engine.documents.document import Line
from engine.rows import DocumentId, Span
from engine.text.blocks import collapse
from engine.text.dates import PartialDate, dates_in
from engine.text.name_finder import NameFinder
from engine.text.normalise import is_unspaced, plain, words
from engine.text.numbered_text import merge
from engine.text.numbers import WORD_NUMBERS, number_mentions

MOST_HITS = 2000
"""Occurrences of one value that are looked at; later ones are not candidates."""


Method = Literal["exact", "normalised", "date", "number", "name", "fuzzy", "quote", "document"]
"""How a value was found. `locate` yields all but the last two, which engine.evidence.cells adds: the lines of the
quote that the model gave with the value, and a value that is the document's own name."""


@dataclass(frozen=True, slots=True)
class Located:
    """Where a value stands: lines `first_line` to `last_line`, both inclusive, and the page of the first.

    `score` is 1 for verbatim text and less the further the form in the text is from the value.
    `via` is the form that was looked for when it is not the value itself (the name before resolve), else empty.
    """

    document_id: DocumentId
    page: int
    first_line: int
    last_line: int
    method: Method
    score: float
    via: str = ""

    @property
    def span(self) -> Span:
        """Return the lines as a span."""
        return Span(self.first_line, self.last_line)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Where something stands: offsets into the index's lines, 0-based, both inclusive."""

    first: int
    last: int


class Joined:
    """Lines joined by one space, with a way back from an offset to its line."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.text = " ".join(lines)
        self._starts = [0, *accumulate(len(line) + 1 for line in lines)][: len(lines)]

    def stretch(self, begin: int, end: int) -> Stretch:
        """Find the lines of the characters from `begin` up to and excluding `end` (not empty)."""
        return Stretch(bisect_right(self._starts, begin) - 1, bisect_right(self._starts, end - 1) - 1)

    def is_line_start(self, offset: int) -> bool:
        """Say whether a line begins at this character."""
        return self._starts[bisect_right(self._starts, offset) - 1] == offset


def _parts(word: str) -> list[str]:
    """Cut a word at the characters that may be words by themselves: nothing stands between Chinese words."""
    if word.isascii() or not any(map(is_unspaced, word)):
        return [word]
    parts: list[str] = []
    for is_alone, characters in groupby(word, is_unspaced):
        piece = "".join(characters)
        parts += piece if is_alone else [piece]
    return parts


class WordStream:
    """The words of all lines without anything between them, so that line breaks, hyphens and spaces cannot matter.

    A match must begin and end where a word does.
    """

    def __init__(self, words_of_lines: Sequence[Sequence[str]]) -> None:
        parts = [[part for word in line for part in _parts(word)] for line in words_of_lines]
        flat = [part for line in parts for part in line]
        self.text = "".join(flat)
        self._starts = [0, *accumulate(map(len, flat))]
        self._line_of_word = [i for i, line in enumerate(parts) for _ in line]

    def find(self, wanted: str) -> Iterator[Stretch]:
        """Yield each stretch of lines in which `wanted` (words without spaces, not empty) stands."""
        at = self.text.find(wanted)
        while at >= 0:
            first, past = self._word_at(at), self._word_at(at + len(wanted))
            if first is not None and past is not None:
                yield Stretch(self._line_of_word[first], self._line_of_word[past - 1])
            at = self.text.find(wanted, at + 1)

    def _word_at(self, offset: int) -> int | None:
        index = bisect_left(self._starts, offset)
        return index if index < len(self._starts) and self._starts[index] == offset else None


class TextIndex:
    """The numbered lines of one document, in ascending order, in the forms that the ways of locating need.

    They are built when needed. `names` are the document's file name and paths: a cell that holds one is located.
    """

    def __init__(self, document_id: DocumentId, lines: Sequence[Line], names: tuple[str, ...] = ()) -> None:
        self.document_id = document_id
        self.names = names
        self.verbatim: dict[tuple[str, tuple[Span, ...]], Located | None] = {}
        """What engine.evidence.locate has looked for, near which lines, and where it stands word for word."""
        self.lines = tuple(lines)
        self._numbers = [line.number for line in self.lines]
        if any(a >= b for a, b in zip(self._numbers, self._numbers[1:], strict=False)):
            raise ValueError(f"the lines of document {document_id} are not in ascending order of number")

    @cached_property
    def raw(self) -> Joined:
        """The lines as they are, but for whitespace."""
        return Joined([collapse(line.text) for line in self.lines])

    @cached_property
    def plain(self) -> Joined:
        """The lines with plain quotes, dashes and letters; case kept."""
        return Joined([plain(line.text) for line in self.lines])

    @cached_property
    def line_words(self) -> list[list[str]]:
        """The folded words of each line."""
        return [words(plain(line.text)) for line in self.lines]

    @cached_property
    def stream(self) -> WordStream:
        """All folded words, closed up."""
        return WordStream(self.line_words)

    @cached_property
    def lines_of_word(self) -> dict[str, list[int]]:
        """The offsets of the lines in which each folded word stands, ascending, a line once per occurrence."""
        offsets: dict[str, list[int]] = {}
        for offset, line in enumerate(self.line_words):
            for word in line:
                offsets.setdefault(word, []).append(offset)
        return offsets

    @cached_property
    def vocabulary(self) -> list[str]:
        """The different words of letters alone, at least three long."""
        return [word for word in self.lines_of_word if len(word) > 2 and word.isalpha()]

    @cached_property
    def digit_stream(self) -> WordStream:
        """The stream with small number words as digits."""
        return WordStream([[str(WORD_NUMBERS.get(word, word)) for word in line] for line in self.line_words])

    @cached_property
    def dates(self) -> list[tuple[PartialDate, int, int]]:
        """Every date of the plain text with its character range."""
        return list(dates_in(self.plain.text))

    @cached_property
    def numbers(self) -> dict[Decimal, list[tuple[int, int]]]:
        """The character ranges of every number of the plain text, without list numbers and the days of dates."""
        ranges: dict[Decimal, list[tuple[int, int]]] = {}
        in_dates = {offset for _, begin, end in self.dates for offset in range(begin, end)}
        for value, begin, end in number_mentions(self.plain.text):
            if not self._is_list_number(begin, end) and not (value <= 31 and begin in in_dates):
                ranges.setdefault(value, []).append((begin, end))
        return ranges

    @cached_property
    def people(self) -> NameFinder:
        """The names of the plain text."""
        return NameFinder(self.plain.text)

    @cached_property
    def people_misread(self) -> NameFinder:
        """The names of the plain text, read past OCR's confusions."""
        return NameFinder(self.plain.text, misread=True)

    def _is_list_number(self, begin: int, end: int) -> bool:
        text = self.plain.text
        return (
            self.plain.is_line_start(begin)
            and text[end : end + 1] in (".", ")")
            and not text[end + 1 : end + 2].strip()
        )

    def stretches(self, spans: Sequence[Span]) -> list[Stretch]:
        """Translate spans of line numbers to offsets: in order, those that meet or touch as one, none that is empty."""
        places = [(bisect_left(self._numbers, s.first), bisect_right(self._numbers, s.last) - 1) for s in spans]
        filled = [(first, last) for first, last in places if first <= last]
        return [Stretch(first, last) for first, last in merge(filled, borders=range(len(self.lines)))]
