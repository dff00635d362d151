"""Choose between plans that do the same part of the task (paper, algorithm 3), the cheap way first.

The paper runs and rates every candidate on the whole sample. Here all are run on a few rows and rated by what code sees
in their answers, without asking a model (screening); the best of the better half are run on twice as many, and judged
there (successive halving), so that the minutes go to the plans that promise most; the top six of those that were rated
on all rows are compared in pairs, as there.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from itertools import combinations

from engine.operators.deciding import DecidingNode
from engine.operators.filter import Filter
from engine.optimizer.budget import Budget, OutOfTime
from engine.optimizer.candidates import TOP, Contest, Entry
from engine.optimizer.evaluating import Evaluation
from engine.optimizer.frontier import MARGIN
from engine.plan.node import Node

COMPARING_SHARE = 0.35
"""Of a contest's time, what is kept for comparing in pairs."""

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
    """Rate the entries on more and more rows, fewer of them each time; compare the best in pairs.

    All have been screened on `counts[0]` rows. Raises OutOfTime, with all that was found until then in the contest.
    """
    try:
        await _climb(contest, counts, evaluation, budget.share(budget.left * (1 - COMPARING_SHARE)), deepen)
    except OutOfTime:
        budget.check()  # only the share is spent: what was rated is compared
    await compare_pairs(contest, evaluation, budget)


async def _climb(
    contest: Contest, counts: Sequence[int], evaluation: Evaluation, budget: Budget, deepen: Deepen
) -> None:
    """Let the better half of the entries be judged on more rows, until one is left or all rows were seen."""
    alive = [*weighing(contest, counts[0]), *kept_half(contest, counts[0])]
    alive = list(dict.fromkeys(alive))[: TOP - 1]
    most = MOST_DEEPENED if contest.own.output_seconds <= DEEPENING_SHARE * budget.left else 0
    looked_into = [entry for entry in alive[:most] if entry.candidate.id not in contest.deepened]
    contest.deepened |= {entry.candidate.id for entry in looked_into}
    deepened = [new for entry in looked_into if (new := await deepen(entry, budget)) is not entry]
    contest.entries += deepened
    alive = [*deepened, *alive]
    for count in counts[1:] or counts:
        chosen = [contest.own, *affordable(alive, count, budget.left, contest.own)]
        for entry in chosen:
            await evaluation.run_on(contest, entry, count, budget)
        await evaluation.weigh(contest, count, budget)
        evaluation.screen(contest, count)
        await evaluation.judge_all(contest, chosen, count, budget)
        alive = kept_half(contest, count)


async def look_again(contest: Contest, counts: Sequence[int], evaluation: Evaluation, budget: Budget) -> None:
    """Rate on all rows what drew on few with plans that went on, where there is time; compare the best in pairs anew.

    Successive halving is for want of time: on three rows, .03 of a rating part a plan that goes on from one that does
    not. Raises OutOfTime, as `select`.
    """
    few, most, own = counts[0], counts[-1], contest.own
    behind = left_behind(contest, few, most)
    rated = [entry for entry in contest.everyone() if most in entry.ratings]  # all of them are judged beside the others
    seconds = budget.left * AGAIN_SHARE - len(rated) * own.judging_seconds
    if not behind or seconds < behind[0].about_seconds(most) + own.judging_seconds:
        return
    chosen = affordable(behind, most, seconds, own)
    for entry in chosen:
        await evaluation.run_on(contest, entry, most, budget)
    await evaluation.weigh(contest, most, budget)
    evaluation.screen(contest, most)
    await evaluation.judge_all(contest, [own, *rated, *chosen], most, budget)
    await compare_pairs(contest, evaluation, budget)


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
    """Return the first entries that can be run and judged on so many rows in the time; at least one.

    What an entry takes is told by what it took: the rows that it was run on already cost nothing again. Judging it
    takes as long as judging the plan to beat, which comes first.
    """
    seconds -= 0.0 if count in own.judged else own.about_seconds(count) + own.judging_seconds
    chosen: list[Entry] = []
    for entry in entries:
        seconds -= entry.about_seconds(count) + own.judging_seconds
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
        if contest.has_met(left, right):
            continue
        evaluation.tell(f"comparing plans {left.candidate.id} and {right.candidate.id}", budget)
        await evaluation.compare(contest, left, right, budget)
