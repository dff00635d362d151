"""Choose between plans that do the same part of the task (paper, algorithm 3), the cheap way first.

The paper runs every candidate on the whole sample, and a model rates and compares them. Here all are run on a few rows
and rated by what code sees in their answers; the best of the better half are run on twice as many (successive halving),
so that the minutes go to the plans that promise most. What a model thinks of two answers decides nothing
(docs/decisions/0037).
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence

from engine.operators.deciding import DecidingNode
from engine.operators.filter import Filter
from engine.optimizer.budget import Budget
from engine.optimizer.candidates import TOP, Contest, Entry
from engine.optimizer.evaluating import Evaluation
from engine.optimizer.rating import MARGIN
from engine.plan.node import Node

MOST_DEEPENED = 2
"""Entries whose new operators are looked into, which costs as much as all else about a place."""

DEEPENING_SHARE = 0.1
"""Of the time that is left, what running the plan to beat took at most for new operators to be looked into at all."""

AGAIN_SHARE = 0.5
"""Of the time that is left at the end of a place, what plans that were left behind on few rows may take."""

Deepen = Callable[[Entry, Budget], Awaitable[Entry]]
"""Optimises the new operators of an entry at once; returns it, or one with a better plan."""


async def select(
    contest: Contest, counts: Sequence[int], evaluation: Evaluation, budget: Budget, deepen: Deepen
) -> None:
    """Run the better half of the entries on more rows, until one is left or all rows were seen.

    All have been rated on `counts[0]` rows. Raises OutOfTime, with all that was found until then in the contest.
    """
    alive = [*weighing(contest, counts[0]), *kept_half(contest, counts[0])]
    alive = list(dict.fromkeys(alive))[: TOP - 1]
    most = MOST_DEEPENED if contest.own.output_seconds <= DEEPENING_SHARE * budget.left else 0
    looked_into = [entry for entry in alive[:most] if entry.candidate.id not in contest.deepened]
    contest.deepened |= {entry.candidate.id for entry in looked_into}
    deepened = [new for entry in looked_into if (new := await deepen(entry, budget)) is not entry]
    contest.entries += deepened
    alive = [*deepened, *alive]
    for count in counts[1:] or counts:
        await evaluation.run_all(
            contest, [contest.own, *affordable(alive, count, budget.left, contest.own)], count, budget
        )
        alive = kept_half(contest, count)


async def look_again(contest: Contest, counts: Sequence[int], evaluation: Evaluation, budget: Budget) -> None:
    """Run on all rows what drew on few with plans that went on, where there is time.

    Successive halving is for want of time: on three rows, .03 of a rating part a plan that goes on from one that does
    not. Raises OutOfTime, as `select`.
    """
    few, most = counts[0], counts[-1]
    behind = left_behind(contest, few, most)
    seconds = budget.left * AGAIN_SHARE
    if behind and seconds >= behind[0].about_seconds(most):
        await evaluation.run_all(contest, affordable(behind, most, seconds, contest.own), most, budget)


def left_behind(contest: Contest, few: int, most: int) -> list[Entry]:
    """Return the entries that were rated on few rows alone though they draw there with the better half, best first."""
    half = kept_half(contest, few)
    if contest.level != most or few == most or not half:
        return []
    least = half[-1].ratings[few].score - MARGIN
    return [entry for entry in contest.ranked(few) if most not in entry.ratings and entry.ratings[few].score > least]


def kept_half(contest: Contest, count: int) -> list[Entry]:
    """Return the better half of the entries that were rated on so many rows, rounded up."""
    rated = contest.ranked(count)
    return rated[: math.ceil(len(rated) / 2)]


def weighing(contest: Contest, count: int) -> list[Entry]:
    """Return the best entry that weighs the answers about all items against each other, if any.

    On a few rows there are too few of them to be weighed, so that screening says nothing of it.
    """
    rated = contest.ranked(count)
    return [entry for entry in rated if any(_weighs(node) for node in entry.candidate.plan.operators)][:1]


def _weighs(node: Node) -> bool:
    return (isinstance(node, DecidingNode) and node.correct_lean == "batch") or (
        isinstance(node, Filter) and bool(node.readings)
    )


def affordable(entries: Sequence[Entry], count: int, seconds: float, own: Entry) -> list[Entry]:
    """Return the first entries that can be run on so many rows in the time; at least one.

    What an entry takes is told by what it took: the rows that it was run on already cost nothing again.
    """
    seconds -= own.about_seconds(count)
    chosen: list[Entry] = []
    for entry in entries:
        seconds -= entry.about_seconds(count)
        if chosen and seconds < 0:
            break
        chosen.append(entry)
    return chosen
