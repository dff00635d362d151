"""The documents that plans are tried on (paper section 4.1): drawn by size, and more of them after selective operators.

Which rows are drawn depends on the seed and on each row by itself, so that a folder that grew by a document, or another
build of the same pipeline, tries plans on the same documents and finds their outputs in the case.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import Any

from engine.operators.equijoin import Equijoin
from engine.plan.frozen import FrozenMap
from engine.plan.plan import Plan
from engine.rows import Row, RowId
from engine.text.likeness import words

USUAL_ROWS = 8
"""Documents of a sample where none were asked for."""

LEAST_ROWS = 3
"""Fewer documents say nothing about a plan: one that was read by luck would decide."""

MOST_TIMES = 4
"""A sample is enlarged so many times at most, however few rows come through."""

MUCH_SHORTER = 4
"""Of two datasets that are joined, one is a book of terms whose rows are so many times as short as the other's."""

SHORT_CHARACTERS, SHORT_TIMES = 400, 5
"""Of a dataset whose rows are this short on average (names, terms), beside one of longer rows, so many times the rows
are drawn: what the sampled documents are joined with would else hardly be among them."""

ENOUGH_CHARACTERS = 12_000
"""Of a sample of short rows, which cost little: eight log entries say nothing about how entries are grouped."""


def row_characters(values: Mapping[str, Any]) -> int:
    """Return the size of a row: the characters of its texts, at least 1."""
    return max(1, sum(len(value) for value in values.values() if isinstance(value, str)))


def drawn(rows: Sequence[Row], seed: int) -> list[Row]:
    """Order rows as they are drawn without replacement, each with a probability proportional to its size.

    Efraimidis and Spirakis 2006: the smallest -ln(u) / size first, where u is uniform; here by row, from the seed.
    """
    return sorted(rows, key=lambda row: (-math.log(uniform(seed, row.id)) / row_characters(row.values), row.id))


def uniform(seed: int, name: str) -> float:
    """Return a number that is uniform in (0, 1) over names, the same for the same name."""
    digest = hashlib.sha256(f"{seed} {name}".encode(errors="surrogateescape")).digest()
    return (int.from_bytes(digest[:8], "big") + 0.5) / 2**64


MOST_RUNGS = 3
"""So often plans are tried on more rows."""


def code_books(plan: Plan, datasets: Mapping[str, Sequence[Row]]) -> frozenset[str]:
    """Return the datasets of short rows that documents are joined with, where the join says which pairs are compared.

    Of 24,000 terms hardly one of a few that are drawn belongs to a few documents that are drawn. All of them cost a
    model nothing: so many more pairs are only proposed. A limit of comparisons is lowered with the documents instead.
    """
    return frozenset(terms for join, terms, _ in _joined_terms(plan, datasets) if _says_which(join))


def joined_terms(plan: Plan, datasets: Mapping[str, Sequence[Row]]) -> dict[str, str]:
    """Return the datasets of short rows that documents are joined with, all pairs of them, and those documents."""
    return {terms: long for join, terms, long in _joined_terms(plan, datasets) if not _says_which(join)}


def _joined_terms(plan: Plan, datasets: Mapping[str, Sequence[Row]]) -> Iterator[tuple[Equijoin, str, str]]:
    """Give each join of two datasets, the one of much shorter rows, which nothing else reads, and the other."""
    uses = Counter(name for step in plan.steps for name in step.inputs)
    for step in plan.steps:
        join = plan.operator(step.operators[0]) if step.operators else None
        if isinstance(join, Equijoin) and len(set(step.inputs)) > 1 and set(step.inputs) <= datasets.keys():
            (short, terms), (long, other) = sorted((_mean_characters(datasets[name]), name) for name in step.inputs)
            if short < min(SHORT_CHARACTERS, long / MUCH_SHORTER) and uses[terms] == 1:
                yield join, terms, other


def _says_which(join: Equijoin) -> bool:
    bounds = (join.blocking_threshold, join.limit_comparisons)
    return bool(join.blocking_conditions) or any(bound is not None for bound in bounds)


def related(rows: Sequence[Row], documents: Sequence[Row]) -> list[Row]:
    """Put rows all of whose words some document has beside those that were drawn by chance: one of these, one of those.

    Of terms that are drawn by chance none would belong to any of a few documents.
    """
    texts = [words(" ".join(_texts(row))).members for row in documents]
    near = [
        row
        for row in rows
        if (row_words := words(" ".join(_texts(row))).members) and any(row_words <= text for text in texts)
    ]
    taken = {row.id for row in near}
    far = [row for row in rows if row.id not in taken]
    return [row for pair in zip_longest(near, far) for row in pair if row is not None]


def _texts(row: Row) -> list[str]:
    return [value for value in row.values.values() if isinstance(value, str)]


def _mean_characters(rows: Sequence[Row]) -> float:
    return sum(row_characters(row.values) for row in rows) / max(1, len(rows))


def rungs(count: int) -> tuple[int, ...]:
    """Return the rows on which plans are tried, fewest first: `count` halved while LEAST_ROWS are left, at most twice.

    Successive halving (Jamieson and Talwalkar 2016): all plans on the fewest rows, half of them on twice as many.
    """
    counts = [max(count, 1)]
    while len(counts) < MOST_RUNGS and (half := math.ceil(counts[0] / 2)) >= LEAST_ROWS:
        counts.insert(0, half)
    return tuple(counts)


def enlarged(count: int, selectivity: float) -> int:
    """Return how many rows to begin with so that about `count` reach an operator, of which `selectivity` come through.

    The paper's ratio: after operators that let 0.5 and 0.3 through, 1 / 0.5 / 0.3 times as many. At most MOST_TIMES.
    """
    if selectivity >= 1:
        return count
    return math.ceil(count * min(MOST_TIMES, 1 / max(selectivity, 1e-9)))


@dataclass(frozen=True)
class Sample:
    """The rows of each dataset: those that were drawn, the shortest of them first, then the others."""

    datasets: Mapping[str, tuple[Row, ...]]
    books: frozenset[str] = frozenset()
    """Datasets of which every row is there however few documents are tried: the terms that these are joined with."""

    @classmethod
    def draw(
        cls,
        datasets: Mapping[str, Sequence[Row]],
        seed: int,
        first: Collection[str] = (),
        count: int = 0,
        books: Collection[str] = (),
        terms: Mapping[str, str] = FrozenMap({}),
    ) -> Sample:
        """Draw from each dataset by itself; rows with these ids, which people judged, come before the others.

        The first `count` are put in the order of their sizes: what all plans are tried on costs the least then. Every
        second of the `terms` is one whose words stand in the documents of the dataset that they name.
        """

        def of(rows: Sequence[Row]) -> tuple[Row, ...]:
            order = sorted(drawn(rows, seed), key=lambda row: row.id not in first)
            known = sum(row.id in first for row in order)
            short = sorted(order[known:count], key=lambda row: row_characters(row.values))
            return (*order[:known], *short, *order[max(known, count) :])

        drawn_rows = {name: tuple(rows) if name in books else of(rows) for name, rows in datasets.items()}
        near = {
            name: tuple(related(drawn_rows[name], drawn_rows[long][: max(count, 1)])) for name, long in terms.items()
        }
        return cls({**drawn_rows, **near}, frozenset(books))

    @cached_property
    def book_rows(self) -> frozenset[RowId]:
        """Return the ids of all rows of `books`."""
        return frozenset(row.id for name in self.books for row in self.datasets[name])

    @property
    def documents(self) -> Mapping[str, tuple[Row, ...]]:
        """Return the datasets that are drawn from."""
        return {name: rows for name, rows in self.datasets.items() if name not in self.books}

    @property
    def size(self) -> int:
        """Count the rows of the datasets that are drawn from."""
        return sum(map(len, self.documents.values()))

    def enough(self, count: int) -> int:
        """Return how many rows to try plans on where `count` were asked for: more of short ones, if there are more."""
        mean = max(1, self.characters(count)) / max(1, count)
        wanted = max(count, min(count * SHORT_TIMES, math.ceil(ENOUGH_CHARACTERS / mean)))
        return min(wanted, self.most())

    def first(self, count: int) -> dict[str, tuple[Row, ...]]:
        """Return so many rows of each dataset, more where they are short, in the order drawn."""
        drawn_rows = {name: rows[: count * self._times(name)] for name, rows in self.documents.items()}
        return {name: drawn_rows.get(name, rows) for name, rows in self.datasets.items()}

    def most(self) -> int:
        """Return the count from which on `first` gives every row."""
        return max((math.ceil(len(rows) / self._times(name)) for name, rows in self.documents.items()), default=0)

    def characters(self, count: int | None = None) -> int:
        """Return the size of the first so many rows, of all for None; books are left out."""
        chosen = self.datasets if count is None else self.first(count)
        return sum(row_characters(row.values) for name in self.documents for row in chosen[name])

    def _times(self, name: str) -> int:
        means = {other: _mean_characters(rows) for other, rows in self.documents.items()}
        is_short = means[name] < min(SHORT_CHARACTERS, max(means.values()))
        return SHORT_TIMES if is_short else 1
