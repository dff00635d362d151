"""The search for better plans (paper section 4.1, algorithms 1 and 2): left to right, top down, opportunistic.

At each operator the directives are asked whether they rewrite it. Where nothing can be rated higher, nothing is tried.
Else each directive that fits makes a candidate, and the operators that are new in it are optimised at once, in the same
way, to a depth. The paper does that before it compares anything; here, where minutes on a small machine are the budget,
candidates are first rated on a few rows, and only the operators of the better half are looked into (`select`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from engine.directives.base import Place, node_at, places, step_of
from engine.directives.registry import matching
from engine.errors import RedwellError
from engine.operators.blocking import ComparingNode
from engine.operators.deciding import DecidingNode
from engine.operators.equijoin import Equijoin
from engine.operators.filter import Filter
from engine.optimizer.budget import Budget, OutOfTime
from engine.optimizer.candidates import TOP, Candidate, Contest, Entry, Region
from engine.optimizer.evaluating import Evaluation
from engine.optimizer.events import PlaceFinished, PlaceStarted
from engine.optimizer.rating import HIGHEST, MARGIN
from engine.optimizer.sampling import MOST_RUNGS, enlarged, rungs
from engine.optimizer.screening import Screening, Trial, in_turn, lists_are_asked, other_sizes, promising
from engine.optimizer.stored_outcomes import Cost
from engine.plan.node import Node
from engine.plan.plan import Plan
from engine.rows import Row
from models.errors import ModelError
from models.protocol import CHARACTERS_PER_TOKEN

DEPTH = 2
"""New operators of the user's rewritten ones are optimised, and those of the rewrites of these, and no further."""

LEAST_SHARE = 1 / 3
"""An operator gets this part of the time that is left at least: in a thin slice of it no plan could even be rated."""

COMPARING_WEIGHT = 1 / 3
"""What an operator that compares pairs of values weighs when the time is shared out: its prompts are short."""

INSIDE_SHARE = 0.2
"""Of the time that is left for rating, what the new operators of a candidate may take."""

FIRST_SHARE = 0.1
"""Of a place's time, what reading the rows of the first rung may take; else it begins with half of them."""

SHORT_CLIMB = 2
"""Rungs of a place where rows are put together."""


@dataclass
class Search:
    """One search over a plan. `contests` are all parts that were looked at, in order; `best` is the plan so far.

    `rows` is the size of the sample.
    """

    evaluation: Evaluation
    best: Candidate
    rows: int
    depth: int = DEPTH
    contests: list[Contest] = field(default_factory=list)
    candidates: dict[int, Candidate] = field(default_factory=dict)
    dropped: list[tuple[Candidate, str]] = field(default_factory=list)
    _gains: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    @property
    def _screening(self) -> Screening:
        return Screening(self.evaluation, self.candidates, self.dropped, matching)

    async def optimise(self, budget: Budget) -> Candidate:
        """Optimise all operators of the pipeline, left to right (algorithm 1); what time allows."""
        self.candidates[self.best.id] = self.best
        try:
            for name in [step.name for step in self.best.plan.steps]:
                await self._step(name, budget)
        except OutOfTime:
            pass  # the best so far stands
        return self.best

    async def _step(self, name: str, budget: Budget) -> None:
        index = 0
        while index < len(step_of(self.best.plan, name).operators):
            share = budget.share(budget.left * self._share(Place(name, index)))
            behind = len(step_of(self.best.plan, name).operators) - index - 1
            self.best = await self._place(self.best, Place(name, index), 0, frozenset(), share)
            budget.check()
            index = len(step_of(self.best.plan, name).operators) - behind

    @property
    def is_one_whole(self) -> bool:
        """Say whether one operator of the user's plan is rewritten at most, and what is rated of it is the result."""
        plan = self.best.plan
        rewritten = self._rewritable(places(plan))
        return not rewritten or (len(rewritten) == 1 and _is_end(plan, rewritten[0]))

    def _share(self, place: Place) -> float:
        """Return the part of the time that is left which a place gets, 0 to 1."""
        plan = self.best.plan
        everywhere = places(plan)
        left = self._rewritable(everywhere[everywhere.index(place) :])
        weights = [_weight(node_at(plan, spot)) for spot in left]
        return max(_weight(node_at(plan, place)) / sum(weights), LEAST_SHARE) if weights else 1.0

    def _rewritable(self, among: Sequence[Place]) -> list[Place]:
        """Return the places where some directive rewrites the operator."""
        return [place for place in among if matching(self.best.plan, place, self.evaluation.facts)]

    async def _place(
        self, baseline: Candidate, place: Place, depth: int, seen: frozenset[str], budget: Budget
    ) -> Candidate:
        """Optimise the operator at a place (algorithm 2); return the plan that is best."""
        fitting = [pair for pair in matching(baseline.plan, place, self.evaluation.facts) if pair[0].name not in seen]
        if not fitting:
            return baseline
        region = Region.of(baseline.plan, place.step, place.index, _rated_stop(baseline.plan, place))
        contest = Contest(region, Entry(baseline), depth)
        self.contests.append(contest)
        try:
            await self._contend(contest, place, seen, budget)
        except OutOfTime:
            pass  # what was rated until now decides
        finally:
            best = contest.settle().candidate
        event = PlaceFinished(baseline.id, best.id, place.step, depth, contest.reason)
        self.evaluation.emit(event)
        return best

    async def _contend(self, contest: Contest, place: Place, seen: frozenset[str], budget: Budget) -> None:
        counts, rows = await self._counts(contest, budget)
        baseline, region = contest.own.candidate, contest.region
        names = region.operators(baseline.plan)
        self.evaluation.emit(PlaceStarted(baseline.id, place.step, names, contest.depth, counts[-1]))
        if await self._is_satisfactory(contest, counts[0], budget):
            return
        contest.matches = await self.evaluation.matches(contest, place, counts[0], budget)
        facts = self.evaluation.facts_about(rows, contest.own.output, contest.matches)
        fitting = [(d, site) for d, site in matching(baseline.plan, place, facts) if d.name not in seen]
        fitting = self._screening.fillable(contest, baseline, promising(fitting, self._gains))

        async def deepen(entry: Entry, time: Budget) -> Entry:
            return await self._inside(entry, contest, seen, time)

        sizes = other_sizes(fitting) if contest.depth == 0 else []
        for trials in (in_turn(fitting), sizes):
            left: Sequence[Trial] = trials
            while left:
                tried = len(left)
                try:
                    left = await self._screening.screen(contest, left, counts[0], rows, budget)
                finally:
                    self.evaluation.rate(contest, counts[0])
                await select(contest, counts, self.evaluation, budget, deepen)
                if len(left) == tried:
                    break
            if contest.depth == 0:
                await look_again(contest, counts, self.evaluation, budget)
        self._learn(contest, counts[0])

    async def _counts(self, contest: Contest, budget: Budget) -> tuple[tuple[int, ...], Sequence[Row]]:
        """Choose the rows to try plans on, more of them where few come through; return the rows into the region too."""
        plan, region = contest.own.candidate.plan, contest.region
        before = await self.evaluation.rows_into(plan, region, self.rows, budget)
        kept = 1.0
        for name, (rows_in, rows_out) in before.flow.items():
            if rows_in and _is_selective(plan, name):
                kept *= rows_out / rows_in
        most = self.evaluation.sample.most()
        count = min(most, enlarged(self.rows, kept))
        counts = tuple(dict.fromkeys(min(most, -(-rung * count // self.rows)) for rung in rungs(self.rows)))
        if self.evaluation.sample.books and _joins(plan, region):
            pass  # each document is matched by itself
        elif _compares(plan, region):
            return counts[-1:], before.rows
        elif len(counts) > SHORT_CLIMB and _groups(plan, region):
            counts = counts[-SHORT_CLIMB:]
        while counts[0] > 1 and self._reading_seconds(counts[0]) > budget.left * FIRST_SHARE:
            counts = (-(-counts[0] // 2), *counts[-MOST_RUNGS + 1 :])
        return counts, before.rows

    def _reading_seconds(self, count: int) -> float:
        """Estimate how long a model reads the first rows of the sample, each once."""
        tokens = self.evaluation.sample.characters(count) // CHARACTERS_PER_TOKEN
        return self.evaluation.speed.seconds({self.best.plan.default_model: Cost(1, tokens, tokens)})

    async def _is_satisfactory(self, contest: Contest, count: int, budget: Budget) -> bool:
        """Run the plan to beat on few rows; say whether none could be rated notably higher.

        Not where lists are asked for: two right items of forty leave nothing to improve in themselves.
        """
        baseline = contest.own
        await self.evaluation.run_on(contest, baseline, count, budget)
        self.evaluation.rate(contest, count)
        nodes = map(baseline.candidate.plan.operator, contest.region.operators(baseline.candidate.plan))
        return baseline.score > HIGHEST - MARGIN and not lists_are_asked(nodes)

    # -- candidates ----------------------------------------------------------------------------------------------

    def _learn(self, contest: Contest, count: int) -> None:
        baseline = contest.own.ratings.get(count)
        for entry in contest.entries:
            if baseline is not None and count in entry.ratings:
                self._gains[entry.candidate.directive].append(entry.ratings[count].score - baseline.score)

    # -- new operators -------------------------------------------------------------------------------------------

    async def _inside(self, entry: Entry, contest: Contest, seen: frozenset[str], budget: Budget) -> Entry:
        """Optimise the operators that a rewrite made, at once; return an entry of the better plan, if there is one.

        A plan that cannot be run there goes no further, and all others go on.
        """
        if contest.depth >= self.depth:
            return entry
        before, candidate = contest.own.candidate.plan, entry.candidate
        seen |= {candidate.directive}
        share = budget.share(budget.left * INSIDE_SHARE)
        try:
            for name in _new_operators(before, candidate.plan):
                if (place := _place_of(candidate.plan, name)) is not None:
                    candidate = await self._place(candidate, place, contest.depth + 1, seen, share)
        except OutOfTime:
            budget.check()
        except (RedwellError, ModelError) as error:
            entry.trouble = str(error) if candidate is entry.candidate else ""
            self.evaluation.drop(candidate, str(error))
            return entry
        return entry if candidate is entry.candidate else Entry(candidate)


def _rated_stop(plan: Plan, place: Place) -> int:
    """Return the index behind the next operator that asks a model: its output can be rated, chunks say nothing."""
    names = step_of(plan, place.step).operators
    asking = [index for index, name in enumerate(names) if plan.operator(name).traits().calls_model]
    return next((index for index in asking if index >= place.index), place.index) + 1


def _is_end(plan: Plan, place: Place) -> bool:
    """Say whether what is rated of an operator is what stands at the end of the pipeline."""
    last = plan.steps[-1]
    return place.step == last.name and _rated_stop(plan, place) == len(last.operators)


def _new_operators(before: Plan, after: Plan) -> list[str]:
    """List the operators that a rewrite made or changed, in the order they run."""
    old: dict[str, Node] = {node.name: node for node in before.operators}
    names = dict.fromkeys(name for step in after.steps for name in step.operators)
    return [name for name in names if old.get(name) != after.operator(name)]


def _place_of(plan: Plan, operator: str) -> Place | None:
    """Find an operator; None where a rewrite has replaced it."""
    return next((place for place in places(plan) if node_at(plan, place).name == operator), None)


def _groups(plan: Plan, region: Region) -> bool:
    """Say whether a run puts rows together: a few rows have nothing in common, and say nothing about that."""
    return any(not plan.operator(name).traits().row_local for name in region.operators(plan))


def _joins(plan: Plan, region: Region) -> bool:
    """Say whether a run ends with a join."""
    return isinstance(plan.operator(region.operators(plan)[-1]), Equijoin)


def _compares(plan: Plan, region: Region) -> bool:
    """Say whether all that is asked of a run is which values are the same: of a few rows hardly any are."""
    nodes = [plan.operator(name) for name in region.operators(plan)]
    asking = [node for node in nodes if node.traits().calls_model]
    return bool(asking) and all(isinstance(node, ComparingNode) for node in asking)


def _weight(node: Node) -> float:
    return COMPARING_WEIGHT if isinstance(node, ComparingNode) and not isinstance(node, Equijoin) else 1.0


def _is_selective(plan: Plan, name: str) -> bool:
    """Say whether an operator makes fewer or more rows of each by itself: a filter, an unnest."""
    nodes = {node.name: node for node in plan.operators}
    traits = nodes[name].traits() if name in nodes else None
    return traits is not None and traits.row_local and traits.cardinality in ("zero_or_one", "one_to_many")


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
