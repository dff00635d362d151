"""Compare values as forgivingly as evidence is looked for: spelling of names, dates and numbers, nearly equal texts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from rapidfuzz import fuzz

from engine.evidence.fuzzy import SHORT_THRESHOLD, THRESHOLD
from engine.evidence.items import leaves
from engine.optimizer.outputs import OutputRow
from engine.text.dates import PartialDate, parse_date
from engine.text.name_finder import NameFinder
from engine.text.normalise import plain, words
from engine.text.numbers import parse_number
from engine.text.person_names import PersonName, recognise_name

LONG_WORDS = 5
"""Texts of at least so many words are alike by degrees: by the words that they share."""

LEAST_SHARED = 0.5
"""F1 of the words of two long texts, 0 to 1, from which on they say the same at all."""

INDEX = re.compile(r"\[\d+\]")

Leaf = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Overlap:
    """Values found, values wanted, and how many of both are the same, by degrees."""

    right: float
    found: float
    wanted: float

    @property
    def precision(self) -> float:
        """Return the share of values found that are wanted; 1 where nothing was found."""
        return self.right / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        """Return the share of values wanted that were found; 1 where nothing was wanted."""
        return self.right / self.wanted if self.wanted else 1.0

    @property
    def f1(self) -> float:
        """Return the harmonic mean of precision and recall."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0

    def __add__(self, other: Overlap) -> Overlap:
        return Overlap(self.right + other.right, self.found + other.found, self.wanted + other.wanted)


NOTHING = Overlap(0.0, 0.0, 0.0)


@lru_cache(maxsize=200_000, typed=True)
def likeness(left: Leaf, right: Leaf) -> float:
    """Say how far two values say the same, 0 to 1; short ones do or do not.

    Remembered: each plan is compared with all others, and with what is known, again and again.
    """
    if isinstance(left, bool) or isinstance(right, bool):
        return float(left is right)
    if not isinstance(left, str) and not isinstance(right, str):
        return float(left == right)
    return _likeness_of_texts(_read(str(left)), _read(str(right)))


def overlap(found: Sequence[Leaf], wanted: Sequence[Leaf]) -> Overlap:
    """Match each value found with at most one wanted, so that they are alike the most in all."""
    if not found or not wanted:
        return Overlap(0.0, len(found), len(wanted))
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 - most of a second of an import of this room

    table = np.array([[likeness(one, other) for other in wanted] for one in found])
    rows, columns = linear_sum_assignment(table, maximize=True)
    return Overlap(float(table[rows, columns].sum()), len(found), len(wanted))


def overlap_by_field(found: dict[str, list[Leaf]], wanted: dict[str, list[Leaf]]) -> Overlap:
    """Match values field by field, and add up."""
    fields = dict.fromkeys([*found, *wanted])
    return sum((overlap(found.get(name, ()), wanted.get(name, ())) for name in fields), NOTHING)


def values_by_field(rows: Iterable[dict[str, Any]]) -> dict[str, list[Leaf]]:
    """Gather the values that rows hold, each once per field; `acts[0].date` and `acts[1].date` are one field."""
    by_field: dict[str, dict[tuple[type, Leaf], Leaf]] = {}
    for row in rows:
        for column, value in row.items():
            for leaf in leaves(column, value, row):
                key = leaf.value.strip().casefold() if isinstance(leaf.value, str) else leaf.value
                by_field.setdefault(INDEX.sub("", leaf.path), {}).setdefault((type(key), key), leaf.value)
    return {path: list(values.values()) for path, values in by_field.items()}


def output_values(rows: Iterable[OutputRow]) -> dict[str, list[Leaf]]:
    """Gather the values of output rows by field."""
    return values_by_field(row.values for row in rows)


class _Reading:
    """What a text says as a number, a date or a name; read when it is asked for, once, for it is compared with many."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._plain = plain(text)
        self.words = words(self._plain)

    @cached_property
    def number(self) -> Decimal | None:
        return parse_number(self._text)

    @cached_property
    def date(self) -> PartialDate | None:
        return parse_date(self._text)

    @cached_property
    def name(self) -> PersonName | None:
        return recognise_name(self._text)

    @cached_property
    def names(self) -> NameFinder:
        return NameFinder(self._plain)


_read = lru_cache(maxsize=10_000)(_Reading)


def _likeness_of_texts(left: _Reading, right: _Reading) -> float:
    if left.words == right.words:
        return 1.0
    if not left.words or not right.words:
        return 0.0
    if left.number is not None or right.number is not None:
        return float(left.number == right.number)
    if left.date is not None and right.date is not None:
        pairs = ((left.date, right.date), (right.date, left.date))
        return float(any(one.agreement(other, year_is_known=False) > 0 for one, other in pairs))
    if min(len(left.words), len(right.words)) >= LONG_WORDS:
        shared = _shared_words(left.words, right.words)
        return shared if shared >= LEAST_SHARED else 0.0
    return float(_is_same_name(left, right) or _spelt_alike(left.words, right.words))


def _is_same_name(left: _Reading, right: _Reading) -> bool:
    if left.name is None or right.name is None:
        return False
    return bool(right.names.find(left.name) or left.names.find(right.name))


def _spelt_alike(left: Sequence[str], right: Sequence[str]) -> bool:
    """Say whether short texts differ in few letters; words with digits must be the same."""
    if {w for w in left if not w.isalpha()} != {w for w in right if not w.isalpha()}:
        return False
    threshold = SHORT_THRESHOLD if min(len(left), len(right)) <= 3 else THRESHOLD
    return fuzz.ratio(" ".join(left), " ".join(right)) >= threshold * 100


def _shared_words(left: Sequence[str], right: Sequence[str]) -> float:
    shared = sum((Counter(left) & Counter(right)).values())
    return 2 * shared / (len(left) + len(right))
