"""Plans that are considered, and how those that do the same part of the task stand to each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.directives.base import Place, step_of
from engine.operators.reduce import Reduce
from engine.optimizer.frontier import DIGITS, MARGIN
from engine.optimizer.judging import Comparison, Criteria, Failure, Rating
from engine.optimizer.outputs import PlanOutput
from engine.optimizer.pooling import companions
from engine.optimizer.signals import POOLED, WEIGHED, WEIGHTS
from engine.plan.plan import Plan

TOP = 6
"""The paper's k: so many of the best rated plans are compared in pairs."""

TIE = 0.5


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

    `by_model` and `complaints` as in engine.optimizer.proposing.Proposal; `params` are those of the directive as JSON.
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

    `judged` are the numbers of rows of which a judge was asked; of others the signals alone tell (screening);
    `screened` are such ratings that count no more, since others were judged on the same rows.
    `seconds` is how long running and rating it took so far, `judging_seconds` what the judge took the last time;
    `trouble` says why it can go on no further, empty if it can.
    """

    candidate: Candidate
    ratings: dict[int, Rating] = field(default_factory=dict)
    judged: set[int] = field(default_factory=set)
    screened: dict[int, Rating] = field(default_factory=dict)
    outputs: dict[int, PlanOutput] = field(default_factory=dict)
    seconds: float = 0.0
    judging_seconds: float = 0.0
    trouble: str = ""

    @property
    def rows(self) -> int:
        """Return the most rows on which it was rated (by a judge or not), 0 for none."""
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
        """Estimate what rating it on so many rows takes, from what it took until now; 0 where nothing is known."""
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
    """Plans that do the same part of the task, `own` being the one to beat; `failures` are what is wrong with it.

    `matches` are values of the rows that the plan to beat merges, where it joins (Facts.matches).
    `deepened` are the candidates whose new operators were looked into; `is_told`: its criteria were told as an event.
    """

    region: Region
    own: Entry
    depth: int = 0
    criteria: Criteria | None = None
    entries: list[Entry] = field(default_factory=list)
    comparisons: dict[tuple[int, int], Comparison] = field(default_factory=dict)
    failures: tuple[Failure, ...] = ()
    matches: Sequence[Mapping[str, Any]] = ()
    deepened: set[int] = field(default_factory=set)
    is_told: bool = False
    chosen: Entry | None = None
    reason: str = ""

    def everyone(self) -> list[Entry]:
        """Return all that compete, the plan to beat first."""
        return [self.own, *self.entries]

    def others(self, entry: Entry, count: int) -> list[PlanOutput]:
        """Return what all but an entry made of so many rows."""
        there = (one for one in self.everyone() if one is not entry and not one.trouble)
        return [one.outputs[count] for one in there if count in one.outputs]

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

    def top(self) -> list[Entry]:
        """Return the plan to beat, and the best rated of those that were rated on the same rows: TOP together."""
        return [self.own, *self.ranked(self.level)[: TOP - 1]]

    def note(self, left: Entry, right: Entry, found: Comparison) -> None:
        """Take in a comparison."""
        self.comparisons[left.candidate.id, right.candidate.id] = found

    def has_met(self, left: Entry, right: Entry) -> bool:
        """Say whether two were compared."""
        pair = (left.candidate.id, right.candidate.id)
        return pair in self.comparisons or pair[::-1] in self.comparisons

    def wins(self, entry: Entry) -> float:
        """Sum up the shares of the wins over the top plans.

        Who stood at the top in an earlier round met plans that others never met: those count for nobody.
        """
        shares = (self.share(entry, other) for other in self.top() if other is not entry)
        return sum(share for share in shares if share is not None)

    def share(self, entry: Entry, other: Entry | None = None) -> float | None:
        """Return the share of the win over another, by default the plan to beat; None where they were not compared."""
        one, two = entry.candidate.id, (other or self.own).candidate.id
        if (one, two) in self.comparisons:
            return self.comparisons[one, two].left
        if (two, one) in self.comparisons:
            return 1 - self.comparisons[two, one].left
        return None

    def beats(self, entry: Entry) -> bool:
        """Say whether an entry does better than the plan to beat, on the same rows.

        It must win the comparison of the two and be rated no lower; or draw it and be rated higher by MARGIN; or, where
        they were not compared, be rated higher.
        """
        mine, theirs = entry.ratings.get(self.level), self.own.ratings.get(self.level)
        if entry.trouble or mine is None or theirs is None or self._is_guess(entry):
            return False
        share = self.share(entry)
        if share is None:
            return mine.score > theirs.score
        if share == TIE:
            return mine.score >= theirs.score + MARGIN
        return share > TIE and mine.score >= theirs.score

    def _is_guess(self, entry: Entry) -> bool:
        """Say whether an entry puts other rows together than the plan to beat, and nothing tells which is right.

        What code sees of merged rows is no worse than of rows apart: one group of all has everything in it. Where the
        groups are those of items that were weighed, one that was merged into another document's is seen as wrong there.
        """
        mine, theirs = entry.outputs.get(self.level), self.own.outputs.get(self.level)
        if mine is None or theirs is None or companions(mine) == companions(theirs):
            return False
        told = {name for name, _ in entry.ratings[self.level].grounds}
        is_grouped = any(len(row.sources) > 1 for output in (mine, theirs) for row in output.rows)
        tells = POOLED in told or (WEIGHED in told and _group_keys(self.own.candidate.plan) <= mine.listing.keys())
        return is_grouped and not tells and any(name in WEIGHTS for name in told)

    def best(self) -> Entry:
        """Return the plan with the most wins of those that beat the plan to beat; else that plan."""
        better = [entry for entry in self.ranked(self.level) if self.beats(entry)]
        return max(better, key=lambda entry: round(self.wins(entry), DIGITS), default=self.own)

    def settle(self) -> Entry:
        """Choose, and say why."""
        self.chosen = best = self.best()
        self.reason = self._reason(best)
        return best

    def _reason(self, best: Entry) -> str:
        if best is self.own:
            return self._why_own()
        rows = self.level
        told = (
            f"rated {best.ratings[rows].score:.2f} on {rows} rows, the plan before {self.own.ratings[rows].score:.2f}"
        )
        share = self.share(best)
        return told if share is None else f"{told}; {share:.0%} of the win when the two are compared"

    def _why_own(self) -> str:
        if self.own.rating is None:
            return "there was no time to rate it"
        if self.own.rating.satisfied and not self.entries:
            return "nothing was found to improve"
        if not self.entries:
            return "no rewrite could be made of it"
        if self._able() and not self.ranked(self.level):
            return "there was no time to rate another"
        return "no other plan did better"


def _group_keys(plan: Plan) -> frozenset[str]:
    """Return the fields by which a plan puts rows together."""
    keys = (node.reduce_key for node in plan.operators if isinstance(node, Reduce))
    return frozenset().union(*keys)
