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

from engine.errors import PipelineError
from engine.language.conditions import Condition, Trouble
from engine.operators.base import Decision
from models.matrices import Matrix
from models.nearest import NO_PAIR, cosine_blocks

CONDITIONS = "blocking_conditions"
"""The subject of a decision about a condition."""

MOST_PAIRS = 1_000_000
"""Pairs that are proposed at most: a model would take a day for so many, and they take 300 MB."""

MOST_SPARE = 1_000_000
"""Pairs held beyond twice the wanted ones before the worst are thrown away."""

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


async def top_pairs(
    vectors: Matrix, count: int, others: Matrix | None = None, *, at_least: float = -1.0
) -> tuple[list[Proposal], int]:
    """Propose the `count` most similar pairs of unit vectors, best first, and say how many there are in all.

    Only pairs with a cosine of `at_least` are proposed and counted. Memory grows with `count`, not with all pairs. It
    is computed block by block in a thread, so that others go on meanwhile and a cancelled run ends.
    """
    best = _BestPairs(count, at_least)
    blocks = cosine_blocks(vectors, others)
    while await asyncio.to_thread(best.see_next, blocks):
        pass
    return await asyncio.to_thread(best.proposals), best.seen


class _BestPairs:
    """The best pairs so far, as arrays; those that cannot be among the best any more are thrown away now and then."""

    def __init__(self, count: int, at_least: float) -> None:
        self._count = count
        self._least = np.float32(at_least) if at_least > -1 else np.nextafter(np.float32(NO_PAIR), np.float32(0))
        self._bar = self._least
        self._parts: list[tuple[Matrix, NDArray[np.int64], NDArray[np.int64]]] = []
        self._held = 0
        self.seen = 0

    def see_next(self, blocks: Iterator[tuple[int, int, Matrix]]) -> bool:
        """Look at the next block; False if there is none."""
        for row, column, cosines in blocks:
            self._see(row, column, cosines)
            return True
        return False

    def _see(self, row: int, column: int, cosines: Matrix) -> None:
        self.seen += int(np.count_nonzero(cosines >= self._least))
        good = cosines >= self._bar
        if np.count_nonzero(good) > self._count:
            good &= cosines >= np.partition(cosines, -self._count - 1, axis=None)[-self._count - 1]
        rows, columns = np.nonzero(good)
        if len(rows):
            self._parts.append((cosines[rows, columns], rows + row, columns + column))
            self._held += len(rows)
        if self._held > 2 * self._count + MOST_SPARE:
            self._keep_best()

    def proposals(self) -> list[Proposal]:
        self._keep_best()
        return [] if not self._parts else in_order(_proposals(*self._parts[0]))

    def _keep_best(self) -> None:
        """Keep `count` pairs: of equally similar ones those that come first."""
        if not self._parts:
            return
        scores, rows, columns = (np.concatenate(parts) for parts in zip(*self._parts, strict=True))
        chosen = np.lexsort((columns, rows, -scores))[: self._count]
        self._parts = [(scores[chosen], rows[chosen], columns[chosen])]
        self._held = len(chosen)
        if self._count and len(chosen) == self._count:
            self._bar = max(self._bar, scores[chosen[-1]])


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


def _proposals(cosines: Matrix, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Iterator[Proposal]:
    reasons: dict[float, str] = {}
    for cosine, row, column in zip(cosines.tolist(), rows.tolist(), columns.tolist(), strict=True):
        score = round(cosine, 4)
        if score not in reasons:
            reasons[score] = f"similarity {cosine:.2f}"
        yield Proposal(row, column, score, reasons[score])


async def pairs_by_condition(
    conditions: Sequence[Condition], lefts: Sequence[Values], rights: Sequence[Values] | None = None
) -> tuple[list[Proposal], list[Decision]]:
    """Propose pairs for which a condition holds; within one list, either way round.

    The decisions tell of conditions that could not be computed for some pairs; these are not proposed by them.
    Raises PipelineError where they hold for more than MOST_PAIRS.
    """
    reasons: dict[tuple[int, int], str] = {}
    decisions = []
    for condition in conditions:
        trouble, text = Trouble(), condition.text
        for i, matches in condition.matches(lefts, lefts if rights is None else rights, trouble):
            await asyncio.sleep(0)  # the run may be cancelled meanwhile
            for j in matches:
                if rights is not None or i != j:
                    reasons.setdefault((i, j) if rights is not None or i < j else (j, i), text)
            if len(reasons) > MOST_PAIRS:
                raise too_many(f"blocking_conditions: {text!r} holds")
        if trouble.count:
            detail = f"cannot be computed for {trouble.count} rows or pairs, the first time because: {trouble.first}"
            decisions.append(Decision(CONDITIONS, text, "", "undecided", "error", detail))
    return [Proposal(i, j, 0.0, f"condition {text}") for (i, j), text in sorted(reasons.items())], decisions


def too_many(what: str) -> PipelineError:
    """Build the error for blocking that leaves too many pairs."""
    return PipelineError(
        f"{what} for more than {MOST_PAIRS:,} pairs; a model cannot compare so many",
        advice="Write a condition that holds for fewer pairs, raise blocking_threshold, or set limit_comparisons and "
        "leave blocking_conditions out: then the most similar pairs are compared.",
    )


def in_order(proposals: Iterable[Proposal]) -> list[Proposal]:
    """Sort by score, best first; a pair that is proposed twice keeps its best score."""
    best: dict[tuple[int, int], Proposal] = {}
    for proposal in sorted(proposals, key=lambda p: (-p.score, p.left, p.right)):
        best.setdefault((proposal.left, proposal.right), proposal)
    return list(best.values())
