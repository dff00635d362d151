"""A guard behind the chosen plan: identifiers that it lists are looked up in the text, by code.

What a small sample does not show, no comparison can mend: of two documents a model copies forty numbers of records
right, and of the third it makes one up. An identifier is right to the letter or made up. So where the identifiers that
a plan lists on the sample are those of the texts, an item whose identifier stands nowhere in its text is left out of
any list. That asks no model, and changes next to nothing on the sample (docs/decisions/0030).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from engine.directives.base import Blocked, Place, step_of
from engine.directives.located_items import LocatedItems, LocatedParams
from engine.errors import RedwellError
from engine.optimizer.budget import Budget, OutOfTime
from engine.optimizer.candidates import Candidate
from engine.optimizer.evaluating import Evaluation, all_identifiers
from engine.plan.plan import Plan
from engine.rows import Row
from models.errors import ModelError

FEWEST = 10
"""Of fewer different identifiers on the sample nothing is concluded from where they stand."""

FOUND_SHARE = 0.9
"""A field of which fewer items stand in the text is not copied: it may be made of what the text says."""

SECONDS = 60.0
"""What looking for guards may take: no model is asked, but rows are read and code is run."""


@dataclass(frozen=True)
class Guard:
    """A plan with one more operator, which looks up the fields `params.paths`; it left out `lost` of `listed` items."""

    plan: Plan
    step: str
    params: LocatedParams
    listed: int
    lost: int

    @property
    def words(self) -> str:
        """Say what it does, and what it did on the sample."""
        stand = "stands" if len(self.params.paths) == 1 else "stand"
        named = " or ".join(self.params.paths)
        return (
            f"items whose {named} {stand} nowhere in the text are left out ({self.lost} of {self.listed} on the sample)"
        )


def guarding(id: int, parent: Candidate, guard: Guard) -> Candidate:
    """Return the candidate that a guard makes of its parent."""
    return Candidate(
        id=id,
        plan=guard.plan,
        parent=parent.id,
        directive=LocatedItems.name,
        words=LocatedItems().describe(parent.plan, guard.plan),
        step=guard.step,
        params=guard.params.to_json(),
    )


async def guards(evaluation: Evaluation, plan: Plan, count: int, budget: Budget) -> list[Guard]:
    """Put guards into a plan, one after another; each guard's plan holds those before it.

    The outputs of the plan on the first `count` rows of the sample are there already. Where the time runs out or a plan
    cannot be run, those found until then are returned.
    """
    placed: list[Guard] = []
    try:
        for name in [step.name for step in plan.steps]:
            index = 0
            while index < len(step_of(plan, name).operators):
                if (guard := await _guard(evaluation, plan, Place(name, index), count, budget)) is not None:
                    placed.append(guard)
                    plan = guard.plan
                index += 1
    except (OutOfTime, RedwellError, ModelError):
        pass  # a plan is no worse for a guard that was not found
    return placed


async def _guard(evaluation: Evaluation, plan: Plan, place: Place, count: int, budget: Budget) -> Guard | None:
    """Find the identifiers that an operator lists and copies, and look them up behind it."""
    directive = LocatedItems()
    site = directive.matches(plan, place, evaluation.facts)
    if isinstance(site, Blocked):
        return None
    rows = await _rows(evaluation, plan, place, count, budget)
    site = replace(site, facts=evaluation.facts_about(rows))
    usual = directive.default_params(site)
    paths = [path for path in directive.paths(site) if _are_identifiers(_values(rows, path))]
    copied: list[str] = []
    for path in paths:
        after = directive.apply(site, LocatedParams(source=usual.source, paths=(path,)))
        kept = await _rows(evaluation, after, Place(place.step, place.index + 1), count, budget)
        if len(kept) == len(rows) and len(_values(kept, path)) >= FOUND_SHARE * len(_values(rows, path)):
            copied.append(path)
    if not copied:
        return None
    params = LocatedParams(source=usual.source, paths=tuple(copied))
    after = directive.apply(site, params)
    kept = await _rows(evaluation, after, Place(place.step, place.index + 1), count, budget)
    listed, left = (sum(len(_values(all, path)) for path in _one_of_each_list(copied)) for all in (rows, kept))
    return Guard(after, place.step, params, listed, listed - left)


async def _rows(evaluation: Evaluation, plan: Plan, place: Place, count: int, budget: Budget) -> Sequence[Row]:
    """Return what the operator at a place makes of the sample."""
    run = await evaluation.runner.run(plan, place.step, place.index + 1, evaluation.sample.first(count), budget)
    return run.rows


def _values(rows: Sequence[Row], path: str) -> list[str]:
    """Return the texts at a path of lists: `officers.badge`, or `badges` of a list of texts."""
    field, _, key = path.partition(".")
    items = [item for row in rows for item in row.values.get(field) or ()]
    return [str(item[key]) for item in items] if key else [str(item) for item in items]


def _are_identifiers(values: Sequence[str]) -> bool:
    return len(set(values)) >= FEWEST and all_identifiers(values)


def _one_of_each_list(paths: Sequence[str]) -> list[str]:
    return list({path.partition(".")[0]: path for path in paths}.values())
