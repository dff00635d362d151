"""Plans that are considered, and how those that do the same part of the task stand to each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.directives.base import Place, step_of
from engine.operators.filter import Filter
from engine.operators.reduce import Reduce
from engine.optimizer.frontier import UNDECIDED
from engine.optimizer.outputs import PlanOutput
from engine.optimizer.pooling import companions
from engine.optimizer.rating import HIGHEST, MARGIN, Rating
from engine.optimizer.signals import COMPLETED, POOLED, WEIGHED, WEIGHTS, lost_inputs
from engine.plan.plan import Plan

TOP = 6
"""The paper's k: so many of the best rated plans, the user's own among them, are looked at to the end."""


@dataclass(frozen=True, slots=True)
class Region:
    """A run of operators of one step: from `first` to all but the last `behind`, whatever stands between."""

    step: str
    first: int
    behind: int

    @classmethod
    def of(cls, plan: Plan, step: str, first: int, stop: int) -> Region:
        """Return the operators from `first` up to and excluding `stop`."""
        return cls(step, first, len(step_of(plan, step).operators) - stop)

    def stop(self, plan: Plan) -> int:
        """Return the index behind the run in a plan."""
        return len(step_of(plan, self.step).operators) - self.behind

    def operators(self, plan: Plan) -> tuple[str, ...]:
        """Return the names of the operators of the run in a plan."""
        return step_of(plan, self.step).operators[self.first : self.stop(plan)]

    def places(self, plan: Plan) -> list[Place]:
        """Return the places of the run in a plan."""
        return [Place(self.step, index) for index in range(self.first, self.stop(plan))]


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A plan, and how it came about: `parent` is the plan that `directive` rewrote, None for the user's own.

    `by_model` and `complaints` as in engine.optimizer.instantiate.Proposal; `params` are the directive's as JSON.
    """

    id: int
    plan: Plan
    parent: int | None = None
    directive: str = ""
    words: str = ""
    step: str = ""
    depth: int = 0
    by_model: bool = False
    params: dict[str, object] = field(default_factory=dict, hash=False)
    complaints: tuple[tuple[str, ...], ...] = ()


@dataclass(eq=False)
class Entry:
    """A candidate in a contest: what it made of so many rows of the sample, and how that was rated.

    `seconds` is how long running it took so far; `trouble` says why it can go on no further, empty if it can.
    """

    candidate: Candidate
    ratings: dict[int, Rating] = field(default_factory=dict)
    outputs: dict[int, PlanOutput] = field(default_factory=dict)
    seconds: float = 0.0
    trouble: str = ""

    @property
    def rows(self) -> int:
        """Return the most rows on which it was rated, 0 for none."""
        return max(self.ratings, default=0)

    @property
    def rating(self) -> Rating | None:
        """Return the rating on the most rows."""
        return self.ratings.get(self.rows)

    @property
    def score(self) -> float:
        """Return the score on the most rows; 0 where it was not rated."""
        return self.rating.score if self.rating else 0.0

    def about_seconds(self, count: int) -> float:
        """Estimate what running it on so many rows takes, from what it took until now; 0 where nothing is known."""
        if not self.rows:
            return 0.0
        return self.seconds / self.rows * max(0, count - self.rows)

    @property
    def output(self) -> PlanOutput | None:
        """Return the output on the most rows."""
        return self.outputs.get(self.rows)

    @property
    def output_seconds(self) -> float:
        """Return what the output on the most rows takes with nothing known; infinite where there is none."""
        return self.output.seconds if self.output else float("inf")


@dataclass(eq=False)
class Contest:
    """Plans that do the same part of the task, `own` being the one to beat.

    `matches` are values of the rows that the plan to beat merges, where it joins (Facts.matches).
    `deepened` are the candidates whose new operators were looked into.
    """

    region: Region
    own: Entry
    depth: int = 0
    entries: list[Entry] = field(default_factory=list)
    matches: Sequence[Mapping[str, Any]] = ()
    deepened: set[int] = field(default_factory=set)
    chosen: Entry | None = None
    reason: str = ""

    def everyone(self) -> list[Entry]:
        """Return all that compete, the plan to beat first."""
        return [self.own, *self.entries]

    @property
    def level(self) -> int:
        """Return the most rows on which both the plan to beat and another were rated; where none was, those of its own.

        Plans are compared on the same rows only, which are fewer than the sample where time ran out.
        """
        shared = [count for count in self.own.ratings if any(count in entry.ratings for entry in self._able())]
        return max(shared, default=self.own.rows)

    def _able(self) -> list[Entry]:
        return [entry for entry in self.entries if not entry.trouble]

    def ranked(self, count: int) -> list[Entry]:
        """Sort the entries that were rated on so many rows, the best first; of equals the faster."""
        rated = [entry for entry in self._able() if count in entry.ratings]
        return sorted(rated, key=lambda entry: (-entry.ratings[count].score, entry.output_seconds))

    def beats(self, entry: Entry) -> bool:
        """Say whether an entry is rated higher than the plan to beat by MARGIN, on the same rows."""
        mine, theirs = entry.ratings.get(self.level), self.own.ratings.get(self.level)
        if entry.trouble or mine is None or theirs is None or self.is_guess(entry):
            return False
        return mine.score >= theirs.score + MARGIN

    def is_guess(self, entry: Entry) -> bool:
        """Say whether an entry keeps or merges other rows than the plan to beat, and nothing tells which is right.

        What code sees of merged rows is no worse than of rows apart: one group of all has everything in it. Where the
        groups are those of items that were weighed, one that was merged into another document's is seen as wrong there.
        Of a row that is left out code sees nothing, so what a laxer filter keeps is no better for being there.
        """
        mine, theirs = entry.outputs.get(self.level), self.own.outputs.get(self.level)
        if mine is None or theirs is None or companions(mine) == companions(theirs):
            return False
        grounds = {name for name, _ in entry.ratings[self.level].grounds}
        if POOLED in grounds or not any(name in WEIGHTS or name == COMPLETED for name in grounds):
            return False
        before, after = self.own.candidate.plan, entry.candidate.plan
        is_grouped = any(len(row.sources) > 1 for output in (mine, theirs) for row in output.rows)
        if is_grouped and not (WEIGHED in grounds and _group_keys(before) <= mine.listing.keys()):
            return True
        others = (companions(mine).keys() ^ companions(theirs).keys()) - {*lost_inputs(mine), *lost_inputs(theirs)}
        return bool(others) and _asking_filters(before) != _asking_filters(after)

    def best(self) -> Entry:
        """Return the best rated plan of those that beat the plan to beat; else that plan."""
        return next((entry for entry in self.ranked(self.level) if self.beats(entry)), self.own)

    def settle(self) -> Entry:
        """Choose, and say why."""
        self.chosen = best = self.best()
        self.reason = self._reason(best)
        return best

    def _reason(self, best: Entry) -> str:
        if best is self.own:
            return self._why_own()
        rows = self.level
        mine, theirs = best.ratings[rows].score, self.own.ratings[rows].score
        return f"rated {mine:.2f} on {rows} rows, the plan before {theirs:.2f}"

    def _why_own(self) -> str:
        if self.own.rating is None:
            return "there was no time to rate it"
        if self.own.score > HIGHEST - MARGIN and not self.entries:
            return "nothing was found to improve"
        if not self.entries:
            return "no rewrite could be made of it"
        if self._able() and not self.ranked(self.level):
            return "there was no time to rate another"
        best = next(iter(self.ranked(self.level)), None)
        if best is None or best.score < self.own.score:
            return "no other plan did better"
        return UNDECIDED.format(best=best.score, own=self.own.score)


def _group_keys(plan: Plan) -> frozenset[str]:
    """Return the fields by which a plan puts rows together."""
    keys = (node.reduce_key for node in plan.operators if isinstance(node, Reduce))
    return frozenset().union(*keys)


def _asking_filters(plan: Plan) -> list[Filter]:
    """Return the filters of a plan by which a model says which rows stay."""
    return [node for node in plan.operators if isinstance(node, Filter) and node.traits().calls_model]
