"""Propose the pairs that a model compares: by embeddings and by conditions (paper section 4.2.1, blocking).

The pairs are those of two lists, or of one list with itself: then left < right.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.language.conditions import Trouble, condition
from engine.operators.base import Decision

BLOCK = 1024
"""Vectors multiplied with all others at once, so that memory grows with the number of vectors, not its square."""

Vectors = NDArray[np.float32]
Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Proposal:
    """Two items worth comparing; those with the highest score are compared first."""

    left: int
    right: int
    score: float
    reason: str = ""


Order = Callable[[Proposal], tuple[int, int]]
"""The order in which pairs of one round are asked about."""


def by_left(pair: Proposal) -> tuple[int, int]:
    """Order pairs so that those with the same left one follow each other."""
    return pair.left, pair.right


def by_right(pair: Proposal) -> tuple[int, int]:
    """Order pairs so that those with the same right one follow each other."""
    return pair.right, pair.left


def count_pairs(left: int, right: int | None = None) -> int:
    """Count the pairs of a list of `left` items with itself, or with another of `right`."""
    return left * (left - 1) // 2 if right is None else left * right


def similar_pairs(vectors: Vectors, threshold: float, others: Vectors | None = None) -> Iterator[Proposal]:
    """Propose pairs of unit vectors whose cosine is at least `threshold`."""
    for start, shift, cosines, possible in _blocks(vectors, others):
        rows, columns = np.nonzero(possible & (cosines >= threshold))
        yield from _proposals(start, shift, rows, columns, cosines[rows, columns])


def top_pairs(vectors: Vectors, count: int, others: Vectors | None = None) -> list[Proposal]:
    """Propose the `count` most similar pairs, best first."""
    kept: list[Proposal] = []
    for start, shift, cosines, possible in _blocks(vectors, others):
        scores = np.where(possible, cosines, -np.inf)
        most = min(count, scores.size)
        flat = np.argpartition(scores, -most, axis=None)[-most:] if most else np.empty(0, int)
        rows, columns = np.unravel_index(flat, scores.shape)
        real = possible[rows, columns]
        kept += _proposals(start, shift, rows[real], columns[real], cosines[rows[real], columns[real]])
        kept = in_order(kept)[:count]
    return kept


@dataclass(frozen=True, slots=True)
class Sampled:
    """A pair of a sample; `weight` is the number of pairs of the whole that it stands for."""

    pair: Proposal
    weight: float


def sample_by_rank(proposals: Sequence[Proposal], count: int, seed: int) -> list[Sampled]:
    """Draw pairs without replacement, the one at rank r with a likelihood of 1 / r: as many from each doubling.

    So the most similar pairs are nearly all in it, and the others show how far down there still are some that are the
    same. The highest sums of logarithmic likelihood and Gumbel noise are drawn, and 1 / (probability to be drawn) is
    the weight (Kool et al. 2019, https://arxiv.org/abs/1903.06059, section 4).
    """
    if len(proposals) <= count:
        return [Sampled(pair, 1.0) for pair in proposals]
    likelihood = -np.log(np.arange(1, len(proposals) + 1))
    keys = likelihood + np.random.default_rng(seed).gumbel(size=len(proposals))
    bar = np.partition(keys, -count - 1)[-count - 1]
    chosen = np.flatnonzero(keys > bar)
    drawn = -np.expm1(-np.exp(likelihood[chosen] - bar))
    return [Sampled(proposals[i], 1 / p) for i, p in zip(chosen.tolist(), drawn.tolist(), strict=True)]


def _blocks(vectors: Vectors, others: Vectors | None) -> Iterator[tuple[int, int, Vectors, NDArray[np.bool_]]]:
    """Give blocks of cosines: the number of the first row and column, the matrix, and which entries are pairs.

    A vector of zeros, that of an empty text, is in no pair.
    """
    for start in range(0, len(vectors), BLOCK):
        block = vectors[start : start + BLOCK]
        shift, across = (start, vectors[start:]) if others is None else (0, others)
        possible = np.logical_and.outer(block.any(axis=1), across.any(axis=1))
        yield start, shift, block @ across.T, np.triu(possible, k=1) if others is None else possible


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
