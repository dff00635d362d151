"""Make candidates with directives and run them on few rows; put the best together, and let the model reword them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

from engine.directives.base import AnyDirective, Facts, Params, Place, Site
from engine.errors import RedwellError
from engine.language.binding import parts_of
from engine.language.checks import check
from engine.language.schema import ListOf, Schema
from engine.optimizer.budget import Budget, OutOfTime
from engine.optimizer.candidates import Candidate, Contest, Entry
from engine.optimizer.evaluating import Evaluation, examples_of
from engine.optimizer.instantiate import Proposal
from engine.plan.node import Node
from engine.plan.plan import Plan
from engine.rows import Row
from models.errors import ModelError

EXAMPLES = 2
"""Rows that a proposer is shown."""

SCREENING_SHARE = 0.5
"""Of a place's time, what finding candidates and running them on the fewest rows may take."""

MOST_VARIANTS = 3
"""Plans that one directive makes at a place, of other sizes or in other words."""

CROSSING_SHARE = 0.25
"""Of what is left then, what putting the best of them together and into the model's own words may take."""

MOST_REWORDED = 1
MOST_REWRITTEN = 2000
"""Characters of prompts, in sum, that a model is let reword: it writes them again, a few words a second."""

MOST_CROSSED = 3
"""Of the best rewrites, so many are looked at for two that can be put together."""

LONG_TOKENS = 1500
"""A text from which on a small model overlooks things."""

Fitting = tuple[AnyDirective, Site]
"""A directive, and where it fits."""

Trial = tuple[Fitting, Params]
"""A directive at a place, with the parameters to try."""


@dataclass(frozen=True)
class Screening:
    """Makes the candidates of one place. `candidates` and `dropped` are those of the search, and grow."""

    evaluation: Evaluation
    candidates: dict[int, Candidate]
    dropped: list[tuple[Candidate, str]]
    matching: Callable[[Plan, Place, Facts], Sequence[Fitting]]

    def fillable(self, contest: Contest, base: Candidate, fitting: Sequence[Fitting]) -> list[Fitting]:
        """Leave out directives of which no parameters can be written down here; the reason is told."""
        able: list[Fitting] = []
        for directive, site in fitting:
            try:
                for params in directive.variants(site):
                    directive.prompts(site, params)
            except RedwellError as error:
                made = Candidate(
                    id=next(self.evaluation.ids),
                    plan=base.plan,
                    parent=base.id,
                    directive=directive.name,
                    step=site.place.step,
                    depth=contest.depth,
                )
                self._drop(made, str(error))
            else:
                able.append((directive, site))
        return able

    async def screen(
        self, contest: Contest, trials: Sequence[Trial], count: int, rows: Sequence[Row], budget: Budget
    ) -> Sequence[Trial]:
        """Make candidates and run them on few rows, put the best together; return those there was no time for yet."""
        screening = budget.share(budget.left * SCREENING_SHARE)
        drafted: dict[int, Fitting] = {}
        left = list(trials)
        try:
            while left and screening.left:
                (directive, site), params = left.pop(0)
                words = sum(len(prompt.text) for prompt in directive.prompts(site, params))
                is_given = directive.is_complete(site, params)
                proposal = Proposal(params=params, by_model=False) if is_given else None
                entry = await self._tried(contest, contest.own, (directive, site), proposal, rows, count, screening)
                if entry is not None and 0 < words <= MOST_REWRITTEN:
                    drafted[entry.candidate.id] = (directive, site)
            await self.evaluation.weigh(contest, count, screening)
        except OutOfTime:
            budget.check()  # only the share is spent
        self.evaluation.rate(contest, count)
        crossing = budget.share(budget.left * CROSSING_SHARE)
        try:
            await self._cross(contest, rows, count, crossing)
            for entry in [rated for rated in contest.ranked(count) if rated.candidate.id in drafted][:MOST_REWORDED]:
                await self._tried(contest, contest.own, drafted[entry.candidate.id], None, rows, count, crossing)
            await self.evaluation.weigh(contest, count, crossing)
        except OutOfTime:
            budget.check()
        return left

    async def _cross(self, contest: Contest, rows: Sequence[Row], count: int, budget: Budget) -> None:
        """Put the best two rewrites together, one on top of the other, where it can be done in some order."""
        self.evaluation.rate(contest, count)
        baseline = contest.own.ratings[count].score if count in contest.own.ratings else 0.0
        better = [entry for entry in contest.ranked(count) if entry.ratings[count].score > baseline]
        best: dict[str, Entry] = {}
        for entry in better:
            best.setdefault(entry.candidate.directive, entry)
        for base, other in permutations(list(best.values())[:MOST_CROSSED], 2):
            plan = base.candidate.plan
            facts = self.evaluation.facts_about(rows, base.outputs[count], contest.matches)
            fittings = [
                fitting
                for place in contest.region.places(plan)
                for fitting in self.matching(plan, place, facts)
                if fitting[0].name == other.candidate.directive
            ]
            for directive, site in self.fillable(contest, base.candidate, fittings):
                proposal = Proposal(params=directive.variants(site)[0], by_model=False)
                if await self._tried(contest, base, (directive, site), proposal, rows, count, budget):
                    return

    async def _tried(  # noqa: PLR0913, PLR0917 - what a rewrite is tried with
        self,
        contest: Contest,
        base: Entry,
        fitting: Fitting,
        proposal: Proposal | None,
        rows: Sequence[Row],
        count: int,
        budget: Budget,
    ) -> Entry | None:
        """Rewrite a plan, by the model's parameters where there are no others, and run what comes of it."""
        budget.check()
        self.evaluation.tell(f"trying {fitting[0].name}", budget)
        made = await self._made(contest, base.candidate, fitting, proposal, rows, budget)
        if made is None:
            return None
        entry = Entry(made)
        contest.entries.append(entry)
        await self.evaluation.run_on(contest, entry, count, budget)
        return entry

    async def _made(  # noqa: PLR0913, PLR0917 - what a rewrite is made of
        self,
        contest: Contest,
        base: Candidate,
        fitting: Fitting,
        proposal: Proposal | None,
        rows: Sequence[Row],
        budget: Budget,
    ) -> Candidate | None:
        """Let a directive rewrite a plan; None where no sound plan comes of it (the reason is told), or a known one."""
        directive, site = fitting
        after, words = base.plan, ""
        try:
            if proposal is None:
                examples = examples_of(rows, EXAMPLES)
                with self.evaluation.spending("proposing"):
                    async with budget.limit():
                        proposal = await self.evaluation.proposer.propose(directive, site, examples=examples)
            after = directive.apply(site, proposal.params)
            words = directive.describe(base.plan, after)
            reason = self._unsound(after)
        except (RedwellError, ModelError) as error:
            reason, proposal = str(error), None
        if not reason and any(after.digest == known.plan.digest for known in self.candidates.values()):
            return None
        made = Candidate(
            id=next(self.evaluation.ids),
            plan=after,
            parent=base.id,
            directive=directive.name,
            words=words,
            step=site.place.step,
            depth=contest.depth,
            by_model=proposal is not None and proposal.by_model,
            params=proposal.params.to_json() if proposal is not None else {},
            complaints=proposal.complaints if proposal is not None else (),
        )
        if reason or proposal is None:
            self._drop(made, reason)
            return None
        self.candidates[made.id] = made
        self.evaluation.tell_found(made)
        return made

    def _drop(self, made: Candidate, reason: str) -> None:
        self.candidates[made.id] = made
        self.dropped.append((made, reason))
        self.evaluation.drop(made, reason)

    def _unsound(self, plan: Plan) -> str:
        """Say what a static check finds wrong with a rewritten plan; "" for nothing."""
        problems = check(plan, source_fields=self.evaluation.facts.source_fields)
        return next((str(problem) for problem in problems if problem.severity == "error"), "")


def promising(fitting: Sequence[Fitting], gains: Mapping[str, Sequence[float]]) -> list[Fitting]:
    """Sort directives by what they gained at other places of this build, then by what is expected of them.

    Those go first that mostly help with answers and texts of this shape. Nothing is left out for it: what time is left
    for is tried.
    """

    def expected(fit: Fitting) -> tuple[float, float]:
        directive, site = fit
        gained = gains.get(directive.name, ())
        usual = directive.prior
        if may_overlook(site.operator, site.facts):
            usual += directive.prior_of_long_texts
        return (sum(gained) / len(gained) if gained else 0.0, usual)

    return sorted(fitting, key=expected, reverse=True)


def may_overlook(node: Node, facts: Facts) -> bool:
    """Say whether lists are asked for of a long text: much is overlooked then, and what is written looks right."""
    return max(facts.field_tokens.values(), default=0) >= LONG_TOKENS and lists_are_asked([node])


def lists_are_asked(nodes: Iterable[Node]) -> bool:
    """Say whether some operator writes a list."""
    schemas = (schema for node in nodes for _, schema in parts_of(node, Schema))
    return any(isinstance(field.type, ListOf) for schema in schemas for field in schema.fields)


def in_turn(fitting: Sequence[Fitting]) -> list[Trial]:
    """Give the first parameters of each directive, then the second ones; the model fills in those without prompts.

    Variants that tell of each other which is right follow each other.
    """
    turns: list[tuple[int, Trial]] = []
    for directive, site in fitting:
        for number, params in enumerate(directive.variants(site)[:MOST_VARIANTS]):
            is_possible = directive.is_complete(site, params) or directive.prompts(site, params)
            if number == 0 or is_possible:
                turns.append((0 if directive.compares_variants else number, ((directive, site), params)))
    return [trial for _, trial in sorted(turns, key=lambda turn: turn[0])]


def other_sizes(fitting: Sequence[Fitting]) -> list[Trial]:
    """Give the further parameters of the directives that explore sizes (paper, 4.2.1), for the minutes left."""
    return [
        ((directive, site), params)
        for directive, site in fitting
        if directive.explores_sizes
        for params in directive.variants(site)[MOST_VARIANTS:]
        if directive.is_complete(site, params)
    ]
