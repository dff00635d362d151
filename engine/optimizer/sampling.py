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


def rungs(count: int) -> tuple[int, ...]:
    """Return the rows on which plans are tried, fewest first: `count` halved while LEAST_ROWS are left.

    Successive halving (Jamieson and Talwalkar 2016): all plans on the fewest rows, half of them on twice as many.
    """
    found = [max(count, 1)]
    while (half := math.ceil(found[0] / 2)) >= LEAST_ROWS:
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
    """The rows of each dataset in the order in which they were drawn."""

    datasets: Mapping[str, tuple[Row, ...]]

    @classmethod
    def draw(cls, datasets: Mapping[str, Sequence[Row]], seed: int, first: Collection[str] = ()) -> Sample:
        """Draw from each dataset by itself; rows with these ids, which people judged, come before the others."""

        def of(rows: Sequence[Row]) -> tuple[Row, ...]:
            return tuple(sorted(drawn(rows, seed), key=lambda row: row.id not in first))

        return cls({name: of(rows) for name, rows in datasets.items()})

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
