"""Run candidates on sample rows and rate what comes out: within a budget, and told as events."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from engine.directives.base import AnswersSeen, Facts, Place, node_at
from engine.errors import RedwellError
from engine.evidence.items import leaves
from engine.executor.events import Emit
from engine.operators.equijoin import Equijoin
from engine.optimizer.budget import Budget
from engine.optimizer.candidates import Candidate, Contest, Entry, Region
from engine.optimizer.events import BuildProgress, CandidateDropped, CandidateFound, CandidateRated
from engine.optimizer.instantiate import GenerationAgent
from engine.optimizer.measuring import Measure, given_to
from engine.optimizer.observe import plan_output
from engine.optimizer.outputs import PlanOutput, folded
from engine.optimizer.packing import shown
from engine.optimizer.rating import Rater, Rating, measured_rating
from engine.optimizer.sample_runs import SampledRun, SampleRunner, Speed
from engine.optimizer.sampling import Sample
from engine.optimizer.values import INDEX
from engine.plan.plan import Plan
from engine.rows import Row
from models.errors import ModelError
from models.protocol import CHARACTERS_PER_TOKEN

# How the answers of a plan look, field by field: texts copied word for word, and lists that say an item again.

IDENTIFIER = re.compile(r"(?=\S*\d)\S{3,}")
"""One word of three characters or more with a digit in it."""


def seen_answers(output: PlanOutput | None) -> Mapping[str, AnswersSeen]:
    """Say it of each path of the answers, `clauses.text_span` for all items of a list; of texts only."""
    if output is None:
        return {}
    texts = {id: folded(" ".join(map(shown, values.values()))) for id, values in output.inputs.items()}
    answers: dict[str, list[tuple[bool, int]]] = {}
    for row in output.rows:
        for cell in row.cells:
            for leaf in leaves(cell.field, cell.value, {}):
                if isinstance(leaf.value, str):
                    answer = folded(leaf.value)
                    stands = any(answer in texts[id] for id in row.sources)
                    answers.setdefault(INDEX.sub("", leaf.path), []).append((stands, len(answer.split())))
    return {
        path: AnswersSeen(
            verbatim=sum(stands for stands, _ in all) / len(all), words=sum(count for _, count in all) / len(all)
        )
        for path, all in answers.items()
    }


def identifiers(rows: Sequence[Row]) -> frozenset[str]:
    """Return the fields that hold an identifier in every row which has a text there, different ones."""
    texts: dict[str, set[str]] = {}
    for row in rows:
        for name, value in row.values.items():
            if isinstance(value, str) and value.strip():
                texts.setdefault(name, set()).add(value.strip())
    return frozenset(name for name, said in texts.items() if len(said) > 1 and all_identifiers(said))


def typical_tokens(rows: Sequence[Row]) -> dict[str, int]:
    """Return the mean length in tokens of each field's texts."""
    lengths: dict[str, list[int]] = {}
    for row in rows:
        for name, value in row.values.items():
            if isinstance(value, str):
                lengths.setdefault(name, []).append(len(value))
    return {name: sum(all) // len(all) // CHARACTERS_PER_TOKEN for name, all in lengths.items()}


def not_always_there(rows: Sequence[Row]) -> frozenset[str]:
    """Return the fields that some row does not have."""
    names = frozenset[str]().union(*(row.values for row in rows))
    return frozenset(name for name in names if not all(name in row.values for row in rows))


def not_always_text(rows: Sequence[Row]) -> frozenset[str]:
    """Return the fields in which some row has no text: nothing at all, null, a list."""
    names = frozenset[str]().union(*(row.values for row in rows))
    return frozenset(name for name in names if not all(isinstance(row.values.get(name), str) for row in rows))


def all_identifiers(values: Iterable[str]) -> bool:
    """Say whether every value is an identifier."""
    return all(IDENTIFIER.fullmatch(value.strip()) for value in values)


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """All that a search needs to try plans. `facts` are what is known beside the plans, without fields' lengths.

    `user` is the plan as the user wrote it; `measure` is the user's own measure of results; `ids` numbers plans.
    """

    runner: SampleRunner
    rater: Rater
    proposer: GenerationAgent
    speed: Speed
    sample: Sample
    user: Plan
    facts: Facts
    emit: Emit
    measure: Measure | None
    clock: Callable[[], float]
    ids: Iterator[int]
    spent: dict[str, float] = field(default_factory=dict)
    """Seconds by what they went into: proposing, running, weighing."""

    @contextmanager
    def spending(self, what: str) -> Iterator[None]:
        """Count the time of a piece of work."""
        began = self.clock()
        try:
            yield
        finally:
            self.spent[what] = self.spent.get(what, 0.0) + self.clock() - began

    async def rows_into(self, plan: Plan, region: Region, count: int, budget: Budget) -> SampledRun:
        """Run a plan on the first rows of the sample up to a region."""
        return await self.runner.run(plan, region.step, region.first, self.sample.first(count), budget)

    async def run_all(self, contest: Contest, entries: Sequence[Entry], count: int, budget: Budget) -> None:
        """Run entries on the first `count` rows of the sample, and rate all that were run on these."""
        try:
            for entry in entries:
                await self.run_on(contest, entry, count, budget)
            await self.weigh(contest, count, budget)
        finally:
            self.rate(contest, count)

    async def run_on(self, contest: Contest, entry: Entry, count: int, budget: Budget) -> None:
        """Run an entry on the first `count` rows of the sample; what goes wrong is its `trouble`.

        The plan to beat must work: its errors are raised.
        """
        if count in entry.outputs or entry.trouble:
            return
        self.tell(f"running {_name(entry)} on {_rows(count)}", budget, entry.about_seconds(count))
        async with self._attempt(contest, entry):
            with self.spending("running"):
                entry.outputs[count] = await self.output(contest, entry, count, budget)

    async def weigh(self, contest: Contest, count: int, budget: Budget) -> None:
        """Ask of each item that entries list on so many rows how likely it is; what was asked is kept."""
        entries = [entry for entry in contest.everyone() if count in entry.outputs and not entry.trouble]
        if any(entry.outputs[count].measured is not None for entry in entries):
            return
        if len(entries) < 2 or not any(entry.outputs[count].listing for entry in entries):
            return
        self.tell(f"weighing what {len(entries)} plans list on {_rows(count)}", budget)
        with self.spending("weighing"):
            async with budget.limit():
                weighed = await self.rater.weigh([entry.outputs[count] for entry in entries])
        for entry, output in zip(entries, weighed, strict=True):
            entry.outputs[count] = output

    def rate(self, contest: Contest, count: int) -> None:
        """Rate all that were run on so many rows, beside each other."""
        entries = [entry for entry in contest.everyone() if count in entry.outputs and not entry.trouble]
        for entry, rating in zip(entries, self._ratings([entry.outputs[count] for entry in entries]), strict=True):
            before = entry.ratings.get(count)
            entry.ratings[count] = rating
            if before is None or before.score != rating.score:
                self.tell_rated(entry, count)

    def _ratings(self, outputs: Sequence[PlanOutput]) -> Sequence[Rating]:
        metric = (self.measure.metric_key if self.measure else "") or "your evaluation"
        measured = [rating for output in outputs if (rating := measured_rating(output, metric))]
        return measured if len(measured) == len(outputs) else self.rater.rate(outputs)

    @asynccontextmanager
    async def _attempt(self, contest: Contest, entry: Entry) -> AsyncIterator[None]:
        """Count the time of an entry, and take what goes wrong as its trouble."""
        began = self.clock()
        try:
            yield
        except (RedwellError, ModelError) as error:
            if entry is contest.own:
                raise
            self._drop(entry, str(error))
        finally:
            entry.seconds += self.clock() - began

    async def output(self, contest: Contest, entry: Entry, count: int, budget: Budget) -> PlanOutput:
        """Run an entry's plan up to the end of the region."""
        plan, region = entry.candidate.plan, contest.region
        into = (await self.rows_into(contest.own.candidate.plan, region, count, budget)).rows
        inputs = [row for row in into if row.id not in self.sample.book_rows]
        run = await self.runner.run(plan, region.step, region.stop(plan), self.sample.first(count), budget)
        baseline = contest.own.outputs.get(count)
        columns = _columns(baseline) if baseline is not None and entry is not contest.own else ()
        seconds = self.speed.seconds(run.costs)
        output = plan_output(run, inputs, seconds=seconds, columns=columns, task=self.user)
        return await self._measured(contest, output, run, count, budget)

    async def _measured(
        self, contest: Contest, output: PlanOutput, run: SampledRun, count: int, budget: Budget
    ) -> PlanOutput:
        """Let the user's own function look at what stands at the end of the pipeline; other parts it cannot know."""
        region, baseline = contest.region, contest.own.candidate.plan
        is_end = region.step == baseline.steps[-1].name and region.behind == 0 and contest.depth == 0
        if self.measure is None or not is_end:
            return output
        drawn = [row for rows in self.sample.first(count).values() for row in rows]
        rows = [row.values for row in drawn if row.id not in self.sample.book_rows]
        async with budget.limit():
            inputs = given_to(rows, [row.values for row in run.rows])
            returned = await self.runner.measure(self.measure.program(seed=0), inputs)
        return replace(output, measured=self.measure.value_of(returned))

    async def matches(self, contest: Contest, place: Place, count: int, budget: Budget) -> Sequence[Mapping[str, Any]]:
        """Return what the plan to beat merges at a place, the values of each row; nothing where it joins nothing."""
        plan = contest.own.candidate.plan
        if not isinstance(node_at(plan, place), Equijoin):
            return ()
        run = await self.runner.run(plan, place.step, place.index + 1, self.sample.first(count), budget)
        return tuple(row.values for row in run.rows)

    def facts_about(
        self, rows: Sequence[Row], output: PlanOutput | None = None, matches: Sequence[Mapping[str, Any]] = ()
    ) -> Facts:
        """Add to the facts the typical length of each field of rows, and how answers look that were made of them."""
        return replace(
            self.facts,
            field_tokens=typical_tokens(rows),
            answers=seen_answers(output),
            matches=matches,
            identifiers=identifiers(rows),
            not_always_there=not_always_there(rows),
            not_always_text=not_always_text(rows),
        )

    def tell(self, doing: str, budget: Budget, about_seconds: float = 0.0) -> None:
        """Tell what is done next, and how the time of the whole build stands."""
        whole = budget.whole
        self.emit(BuildProgress(whole.spent, whole.left, doing, about_seconds))

    def tell_found(self, candidate: Candidate) -> None:
        """Tell of a plan that was made."""
        self.emit(
            CandidateFound(
                candidate.id,
                candidate.parent or 0,
                candidate.directive,
                candidate.words,
                candidate.step,
                candidate.depth,
                candidate.by_model,
            )
        )

    def drop(self, candidate: Candidate, reason: str) -> None:
        """Tell that a plan goes no further."""
        self.emit(CandidateDropped(candidate.id, candidate.parent or 0, candidate.directive, reason))

    def _drop(self, entry: Entry, reason: str) -> None:
        entry.trouble = reason
        self.drop(entry.candidate, reason)

    def tell_rated(self, entry: Entry, count: int) -> None:
        """Tell how an entry was rated on so many rows."""
        output, rating = entry.outputs[count], entry.ratings[count]
        self.emit(
            CandidateRated(
                plan=entry.candidate.id, rows=count, score=rating.score, seconds=output.seconds, tokens=output.tokens
            )
        )


def _name(entry: Entry) -> str:
    return "your own plan" if entry.candidate.parent is None else f"plan {entry.candidate.id}"


def _rows(count: int) -> str:
    return f"{count} {'row' if count == 1 else 'rows'}"


def examples_of(rows: Sequence[Row], count: int) -> list[dict[str, Any]]:
    """Return the values of the first rows, to be shown to whoever proposes parameters."""
    return [dict(row.values) for row in rows[:count]]


def source_fields(sample: Sample) -> Mapping[str, tuple[str, ...]]:
    """Return the fields of the rows of each dataset; without rows they are not known."""
    fields = {
        name: tuple(dict.fromkeys(key for row in rows for key in row.values)) for name, rows in sample.datasets.items()
    }
    return {name: names for name, names in fields.items() if names}


def _columns(output: PlanOutput) -> tuple[str, ...]:
    return tuple(dict.fromkeys(cell.field for row in output.rows for cell in row.cells))
