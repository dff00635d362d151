"""The plans that a build tried, scored by gold that it did not see: how far its ratings are right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from engine.optimizer.build import BuildResult
from engine.optimizer.candidates import Contest, Entry
from engine.optimizer.outputs import PlanOutput
from evaluation.orders import kendall_tau
from evaluation.task import Document, Result, Task

ROUNDED = 9
"""Digits of ratings that count: sums of the same shares in another order are one rating."""


@dataclass(frozen=True)
class TriedPlan:
    """A plan as it was rated on rows of the sample, beside what gold says of the same rows.

    `ratings` are by what they come from: `rating` (1 to 4, what the build went by), and what it was made of, 0 to 1.
    `figures` are those of the task. `seconds` is what the output takes with nothing cached.
    """

    plan: int
    parent: int | None
    directive: str
    chosen: bool
    ratings: Mapping[str, float]
    figures: Mapping[str, float]
    seconds: float


@dataclass(frozen=True)
class Tried:
    """The plans of one contest about the whole pipeline, all on the same `rows` of the sample."""

    rows: int
    metric: str
    lower_is_better: bool
    plans: tuple[TriedPlan, ...]

    def gold(self, plan: TriedPlan) -> float:
        """Return the task's main figure of a plan, more being better."""
        figure = plan.figures[self.metric]
        return -figure if self.lower_is_better else figure

    def tau(self, name: str) -> float | None:
        """Return Kendall's tau-b between a kind of rating and gold, over the plans that have it.

        None where there is no order to tell.
        """
        rated = [plan for plan in self.plans if name in plan.ratings]
        judged = [round(plan.ratings[name], ROUNDED) for plan in rated]
        return kendall_tau(judged, [round(self.gold(plan), ROUNDED) for plan in rated])

    def taus(self) -> dict[str, tuple[int, float | None]]:
        """Return for each kind of rating how many plans have it, and its tau."""
        names = dict.fromkeys(name for plan in self.plans for name in plan.ratings)
        return {name: (sum(name in plan.ratings for plan in self.plans), self.tau(name)) for name in names}

    def body(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        taus = {name: {"plans": count, "tau": tau} for name, (count, tau) in self.taus().items()}
        return {"rows": self.rows, "metric": self.metric, "taus": taus, "plans": [asdict(plan) for plan in self.plans]}


def tried_plans(
    result: BuildResult, task: Task, documents: Sequence[Document], names: Mapping[str, str]
) -> Tried | None:
    """Score the plans of a build that came to the end of the pipeline; None where fewer than two were rated.

    `documents` are those of the sample, with gold; `names` their ids by the rows of the sample. Of several contests the
    one with the most plans tells; plans are scored on the rows on which all of them were rated.
    """
    contests = [contest for contest in (result.finals, *result.search.contests) if _is_whole(contest, result)]
    found = [(contest, _rated(contest)) for contest in contests]
    contest, entries = max(found, key=lambda pair: len(pair[1]))
    if len(entries) < 2:
        return None
    level = contest.level
    there = {names[row] for row in contest.own.outputs[level].inputs if row in names}
    scored = [document for document in documents if document.id in there]
    return Tried(
        rows=level,
        metric=task.main_metric,
        lower_is_better=task.main_metric in task.lower_is_better,
        plans=tuple(
            TriedPlan(
                plan=entry.candidate.id,
                parent=entry.candidate.parent,
                directive=entry.candidate.directive,
                chosen=entry.candidate is result.chosen,
                ratings=_ratings(contest, entry),
                figures=dict(task.score(_results(entry.outputs[level], names), scored)),
                seconds=entry.outputs[level].seconds,
            )
            for entry in entries
        ),
    )


def _is_whole(contest: Contest, result: BuildResult) -> bool:
    """Say whether a contest is about all that the user's plan does, so that rows of its plans are results."""
    plan = result.user.plan
    if contest is result.finals:
        return True
    region = contest.region
    is_all = region.step == plan.steps[-1].name and (region.first, region.behind) == (0, 0)
    return is_all and len(plan.steps) == 1 and contest.own.candidate is result.user


def _rated(contest: Contest) -> list[Entry]:
    """Return the entries that were rated on as many rows as the plan to beat and another, that plan first."""
    level = contest.level
    able = [contest.own, *contest.ranked(level)]
    return [entry for entry in able if level in entry.ratings and level in entry.outputs]


def _ratings(contest: Contest, entry: Entry) -> dict[str, float]:
    level = contest.level
    rating = entry.ratings[level]
    return {"rating": rating.score, **dict(rating.grounds)}


def _results(output: PlanOutput, names: Mapping[str, str]) -> list[Result]:
    return [Result(row.values, frozenset(names[id] for id in row.sources if id in names)) for row in output.rows]
