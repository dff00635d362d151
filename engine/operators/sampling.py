"""How many rows of how many groups are taken, and which (sample)."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.rows import Row
from models.protocol import canonical_json

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Cut:
    """Where outliers begin: beyond `std` standard deviations, or with the `samples` farthest rows."""

    std: float | None
    samples: int | float | None


def count_of(samples: int | float, total: int) -> int:
    """Return how many of `total` rows `samples` means: a number of rows, or a fraction of them rounded down."""
    wanted = math.floor(samples * total + _ROUNDING) if isinstance(samples, float) else samples
    return min(wanted, total)


def shares(count: int, sizes: Sequence[int]) -> list[int]:
    """Share `count` out over groups in proportion to their sizes, by largest remainder, the first of equal ones first.

    The shares add up to `count`, or to all there is.
    """
    total = sum(sizes)
    if count >= total:
        return list(sizes)
    taken = [count * size // total for size in sizes]
    remainders = [count * size % total for size in sizes]
    for index in sorted(range(len(sizes)), key=lambda i: (-remainders[i], i))[: count - sum(taken)]:
        taken[index] += 1
    return taken


def draw(rows: Sequence[Row], count: int, chance: random.Random) -> list[int]:
    """Draw `count` rows, each as likely as any other; indices in order."""
    return sorted(chance.sample(range(len(rows)), count))


def draw_by_size(rows: Sequence[Row], count: int, chance: random.Random) -> list[int]:
    """Draw `count` rows, longer ones more likely (paper, section 4.1); indices in order.

    Without replacement, by exponential keys (Efraimidis and Spirakis 2006). Rows without text come last.
    """
    keys = []
    for index, row in enumerate(rows):
        waiting, size = -math.log(1.0 - chance.random()), size_of(row)
        keys.append((waiting / size if size else math.inf, waiting, index))
    return sorted(index for _, _, index in sorted(keys)[:count])


def size_of(row: Row) -> int:
    """Return how many characters of text a row holds in its fields."""
    return sum(len(value) for value in row.values.values() if isinstance(value, str))


def farthest(vectors: NDArray[np.float32], center: NDArray[np.float32] | None, cut: Cut) -> set[int]:
    """Return the indices of outliers: vectors far from `center`, the mean if None."""
    middle = vectors.mean(axis=0) if center is None else center
    distances = np.linalg.norm(vectors - middle, axis=1)
    if cut.std is not None:
        spread = float(np.sqrt(vectors.var(axis=0).sum()))
        return {int(index) for index in np.flatnonzero(distances > cut.std * spread)}
    order = sorted(range(len(distances)), key=lambda i: (-float(distances[i]), i))
    return set(order[: count_of(cut.samples or 0, len(vectors))])


def text_of_keys(values: Mapping[str, Any], keys: Sequence[str]) -> str:
    """Join the fields that are there, for ranking and embedding; what is not text as JSON."""
    there = [values[key] for key in keys if values.get(key) is not None]
    return " ".join(value if isinstance(value, str) else canonical_json(value) for value in there)
