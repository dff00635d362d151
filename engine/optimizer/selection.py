"""Choose between plans that do the same part of the task (paper, algorithm 3), the cheap way first.

The paper runs and rates every candidate on the whole sample. Here all are rated on a few rows, the better half of them
on twice as many (successive halving), so that the minutes go to the plans that promise most; the top six of those that
were rated on all rows are compared in pairs, as there.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from itertools import combinations

from engine.optimizer.budget import Budget, OutOfTime
from engine.optimizer.candidates import Contest, Entry
from engine.optimizer.evaluating import Evaluation

COMPARING_SHARE = 0.35
"""Of a contest's time, what is kept for comparing in pairs."""

Deepen = Callable[[Entry, Budget], Awaitable[Entry]]
"""Optimises the new operators of an entry at once; returns it, or one with a better plan."""


async def select(
    contest: Contest, counts: Sequence[int], evaluation: Evaluation, budget: Budget, deepen: Deepen
) -> None:
    """Rate the entries on more and more rows, fewer of them each time; compare the best in pairs.

    All have been rated on `counts[0]` rows. Raises OutOfTime, with all that was found until then in the contest.
    """
    try:
        await _climb(contest, counts, evaluation, budget.share(budget.left * (1 - COMPARING_SHARE)), deepen)
    except OutOfTime:
        budget.check()  # only the share is spent: what was rated is compared
    await compare_pairs(contest, evaluation, budget)


async def _climb(
    contest: Contest, counts: Sequence[int], evaluation: Evaluation, budget: Budget, deepen: Deepen
) -> None:
    """Rate the better half of the entries on more rows, until one is left or all rows were seen."""
    alive = kept_half(contest, counts[0])
    deepened = [new for entry in alive if (new := await deepen(entry, budget)) is not entry]
    contest.entries += deepened
    alive = [*deepened, *alive]
    for count in counts[1:] or counts:
        await evaluation.try_on(contest, contest.own, count, budget)
        for entry in affordable(alive, count, budget.left):
            await evaluation.try_on(contest, entry, count, budget)
        alive = kept_half(contest, count)


def kept_half(contest: Contest, count: int) -> list[Entry]:
    """Return the better half of the entries that were rated on so many rows, rounded up."""
    rated = contest.ranked(count)
    return rated[: math.ceil(len(rated) / 2)]


def affordable(entries: Sequence[Entry], count: int, seconds: float) -> list[Entry]:
    """Return the first entries that can be rated on so many rows in the time; at least one.

    What an entry takes is told by what it took: the rows that it was rated on already cost nothing again.
    """
    chosen: list[Entry] = []
    for entry in entries:
        seconds -= entry.about_seconds(count)
        if chosen and seconds < 0:
            break
        chosen.append(entry)
    return chosen


async def compare_pairs(contest: Contest, evaluation: Evaluation, budget: Budget) -> None:
    """Compare the top plans in pairs, those with the plan to beat first: they tell most if time runs out."""
    top = contest.top()
    if len(top) < 2:
        return
    for left, right in combinations(top, 2):
        evaluation.tell(f"comparing plans {left.candidate.id} and {right.candidate.id}", budget)
        await evaluation.compare(contest, left, right, budget)
