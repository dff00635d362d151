"""Propose the pairs that a model compares: by embeddings and by conditions (paper section 4.2.1, blocking).

The pairs are those of two lists, or of one list with itself: then left < right.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.language.conditions import Trouble, condition
from engine.operators.base import Decision

BLOCK = 1024
"""Vectors multiplied with all others at once, so that memory grows with the number of vectors, not its square."""

LIKELIHOOD = 20.0
"""A pair is e^20 times as likely to be sampled as one whose cosine is lower by 1."""

Vectors = NDArray[np.float32]
Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Proposal:
    """Two items worth comparing; those with the highest score are compared first."""

    left: int
    right: int
    score: float
    reason: str = ""


def count_pairs(left: int, right: int | None = None) -> int:
    """Count the pairs of a list of `left` items with itself, or with another of `right`."""
    return left * (left - 1) // 2 if right is None else left * right


def similar_pairs(vectors: Vectors, threshold: float, others: Vectors | None = None) -> Iterator[Proposal]:
    """Propose pairs of unit vectors whose cosine is at least `threshold`."""
    for start, shift, cosines, possible in _blocks(vectors, others):
        rows, columns = np.nonzero(possible & (cosines >= threshold))
        yield from _proposals(start, shift, rows, columns, cosines[rows, columns])


def top_pairs(
    vectors: Vectors, count: int, others: Vectors | None = None, *, seed: int | None = None
) -> list[Proposal]:
    """Propose the `count` most similar pairs, best first; with a seed, a sample in which these are the likeliest.

    The sample is without replacement, each pair weighed by e^(20 cosine): the highest sums of logarithmic weight and
    Gumbel noise (Kool et al. 2019, https://arxiv.org/abs/1903.06059).
    """
    noise = np.random.default_rng(seed) if seed is not None else None
    kept: list[tuple[float, Proposal]] = []
    for start, shift, cosines, possible in _blocks(vectors, others):
        keys = LIKELIHOOD * cosines + noise.gumbel(size=cosines.shape) if noise else cosines
        keys = np.where(possible, keys, -np.inf)
        most = min(count, keys.size)
        flat = np.argpartition(keys, -most, axis=None)[-most:] if most else np.empty(0, int)
        rows, columns = np.unravel_index(np.sort(flat), keys.shape)
        real = np.isfinite(keys[rows, columns])
        rows, columns = rows[real], columns[real]
        kept += zip(
            keys[rows, columns].tolist(),
            _proposals(start, shift, rows, columns, cosines[rows, columns]),
            strict=True,
        )
        kept = sorted(kept, key=lambda entry: -entry[0])[:count]
    return in_order(proposal for _, proposal in kept)


def _blocks(vectors: Vectors, others: Vectors | None) -> Iterator[tuple[int, int, Vectors, NDArray[np.bool_]]]:
    """Give blocks of cosines: the number of the first row and column, the matrix, and which entries are pairs."""
    for start in range(0, len(vectors), BLOCK):
        block = vectors[start : start + BLOCK]
        shift = start if others is None else 0
        cosines = block @ (vectors[start:] if others is None else others).T
        possible = np.ones(cosines.shape, bool)
        yield start, shift, cosines, np.triu(possible, k=1) if others is None else possible


def _proposals(
    start: int, shift: int, rows: NDArray[np.intp], columns: NDArray[np.intp], cosines: Vectors
) -> Iterator[Proposal]:
    for row, column, cosine in zip(rows.tolist(), columns.tolist(), cosines.tolist(), strict=True):
        yield Proposal(start + row, shift + column, round(cosine, 4), f"similarity {cosine:.2f}")


async def pairs_by_condition(
    conditions: Sequence[str], lefts: Sequence[Values], rights: Sequence[Values] | None = None
) -> tuple[list[Proposal], list[Decision]]:
    """Propose pairs for which a condition holds; within one list, either way round.

    The decisions tell of conditions that could not be computed for some pairs; these are not proposed by them.
    """
    found: dict[tuple[int, int], str] = {}
    decisions = []
    for text in conditions:
        trouble = Trouble()
        for i, matches in condition(text).matches(lefts, lefts if rights is None else rights, trouble):
            await asyncio.sleep(0)  # the run may be cancelled meanwhile
            for j in matches:
                if rights is not None or i != j:
                    found.setdefault((i, j) if rights is not None or i < j else (j, i), text)
        if trouble.count:
            detail = f"cannot be computed for {trouble.count} rows or pairs, the first time because: {trouble.first}"
            decisions.append(Decision("blocking_conditions", text, "", "undecided", "error", detail))
    return [Proposal(i, j, 0.0, f"condition {text}") for (i, j), text in sorted(found.items())], decisions


def in_order(proposals: Iterable[Proposal]) -> list[Proposal]:
    """Sort by score, best first; a pair that is proposed twice keeps its best score."""
    best: dict[tuple[int, int], Proposal] = {}
    for proposal in sorted(proposals, key=lambda p: (-p.score, p.left, p.right)):
        best.setdefault((proposal.left, proposal.right), proposal)
    return list(best.values())
