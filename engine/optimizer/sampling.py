"""The documents that plans are tried on (paper section 4.1): drawn by size, and more of them after selective operators.

Which rows are drawn depends on the seed and on each row by itself, so that a folder that grew by a document, or another
build of the same pipeline, tries plans on the same documents and finds their outputs in the case.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.rows import Row

USUAL_ROWS = 8
"""Documents of a sample where none were asked for."""

LEAST_ROWS = 3
"""Fewer documents say nothing about a plan: one that was read by luck would decide."""

MOST_TIMES = 4
"""A sample is enlarged so many times at most, however few rows come through."""

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
    return sorted(rows, key=lambda row: (-math.log(_uniform(seed, row.id)) / row_characters(row.values), row.id))


def _uniform(seed: int, name: str) -> float:
    """Return a number that is uniform in (0, 1) over names, the same for the same name."""
    digest = hashlib.sha256(f"{seed} {name}".encode()).digest()
    return (int.from_bytes(digest[:8], "big") + 0.5) / 2**64


MOST_RUNGS = 3
"""So often plans are tried on more rows."""


def rungs(count: int) -> tuple[int, ...]:
    """Return the rows on which plans are tried, fewest first: `count` halved while LEAST_ROWS are left, at most twice.

    Successive halving (Jamieson and Talwalkar 2016): all plans on the fewest rows, half of them on twice as many.
    """
    found = [max(count, 1)]
    while len(found) < MOST_RUNGS and (half := math.ceil(found[0] / 2)) >= LEAST_ROWS:
        found.insert(0, half)
    return tuple(found)


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

    @classmethod
    def draw(
        cls, datasets: Mapping[str, Sequence[Row]], seed: int, first: Collection[str] = (), count: int = 0
    ) -> Sample:
        """Draw from each dataset by itself; rows with these ids, which people judged, come before the others.

        The first `count` are put in the order of their sizes: what all plans are tried on costs the least then.
        """

        def of(rows: Sequence[Row]) -> tuple[Row, ...]:
            order = sorted(drawn(rows, seed), key=lambda row: row.id not in first)
            known = sum(row.id in first for row in order)
            short = sorted(order[known:count], key=lambda row: row_characters(row.values))
            return (*order[:known], *short, *order[max(known, count) :])

        return cls({name: of(rows) for name, rows in datasets.items()})

    def enough(self, count: int) -> int:
        """Return how many rows to try plans on where `count` were asked for: more of short ones, if there are more."""
        mean = max(1, self.characters(count)) / max(1, count)
        wanted = max(count, min(count * SHORT_TIMES, math.ceil(ENOUGH_CHARACTERS / mean)))
        return min(wanted, self.most())

    def first(self, count: int) -> dict[str, tuple[Row, ...]]:
        """Return so many rows of each dataset, more where they are short, in the order drawn."""
        return {name: rows[: count * self._times(name)] for name, rows in self.datasets.items()}

    def most(self) -> int:
        """Return the count from which on `first` gives every row."""
        return max((math.ceil(len(rows) / self._times(name)) for name, rows in self.datasets.items()), default=0)

    def characters(self, count: int | None = None) -> int:
        """Return the size of the first so many rows, of all for None."""
        chosen = self.datasets if count is None else self.first(count)
        return sum(row_characters(row.values) for rows in chosen.values() for row in rows)

    def _times(self, name: str) -> int:
        means = {
            other: sum(row_characters(row.values) for row in rows) / max(1, len(rows))
            for other, rows in self.datasets.items()
        }
        is_short = means[name] < min(SHORT_CHARACTERS, max(means.values()))
        return SHORT_TIMES if is_short else 1
