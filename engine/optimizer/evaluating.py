"""Run a candidate on sample rows, rate what comes out, compare two outputs: within a budget, and told as events."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from engine.directives.base import Facts, Place, node_at
from engine.errors import RedwellError
from engine.executor.events import Emit
from engine.operators.equijoin import Equijoin
from engine.optimizer.budget import Budget
from engine.optimizer.candidates import Candidate, Contest, Entry, Region
from engine.optimizer.events import (
    BuildProgress,
    CandidateDropped,
    CandidateFound,
    CandidateRated,
    Compared,
    CriteriaWritten,
)
from engine.optimizer.judging import Criteria, Judge
from engine.optimizer.outputs import PlanOutput
from engine.optimizer.proposing import Proposer
from engine.optimizer.sample_runs import SampledRun, SampleRunner
from engine.optimizer.sampling import Sample
from engine.optimizer.seen_answers import identifiers, seen_answers, seen_repeats
from engine.optimizer.speed import Speed
from engine.plan.plan import Plan
from engine.rows import Row
from models.errors import ModelError

CHARACTERS_PER_TOKEN = 4


class Observe(Protocol):
    """Makes what judges look at (engine.optimizer.observe) of a run on the sample."""

    def __call__(
        self, run: SampledRun, inputs: Sequence[Row], *, seconds: float, columns: Sequence[str], task: Plan
    ) -> PlanOutput:
        """Return the output of a plan: `inputs` are the rows that came into the part that is judged."""


@dataclass
class Ids:
    """Numbers for plans, from 1."""

    last: int = 0

    def next(self) -> int:
        """Return another number."""
        self.last += 1
        return self.last


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """All that a search needs to try plans. `facts` are what is known beside the plans, without fields' lengths.

    `user` is the plan as the user wrote it.
    """

    runner: SampleRunner
    judge: Judge
    proposer: Proposer
    observe: Observe
    speed: Speed
    sample: Sample
    user: Plan
    facts: Facts
    emit: Emit
    clock: Callable[[], float] = time.monotonic
    ids: Ids = field(default_factory=Ids)
    spent: dict[str, float] = field(default_factory=dict)
    """Seconds by what they went into: proposing, running, judging, comparing."""

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

    async def try_on(self, contest: Contest, entry: Entry, count: int, budget: Budget) -> None:
        """Run an entry on the first `count` rows of the sample and let it be judged; what goes wrong is its `trouble`.

        The plan to beat must work: its errors are raised.
        """
        await self.run_on(contest, entry, count, budget)
        await self.judge_on(contest, entry, count, budget)

    async def run_on(self, contest: Contest, entry: Entry, count: int, budget: Budget) -> None:
        """Run an entry on the first `count` rows of the sample."""
        if count in entry.outputs or entry.trouble:
            return
        self.tell(f"running {_name(entry)} on {_rows(count)}", budget, entry.about_seconds(count))
        async with self._attempt(contest, entry):
            with self.spending("running"):
                entry.outputs[count] = await self.output(contest, entry, count, budget)

    async def judge_on(self, contest: Contest, entry: Entry, count: int, budget: Budget) -> None:
        """Let a judge rate what an entry made of so many rows, beside what the others made of them."""
        if count in entry.judged or count not in entry.outputs or entry.trouble:
            return
        output = entry.outputs[count]
        async with self._attempt(contest, entry):
            if contest.criteria is None:
                self.tell("writing what it is judged by", budget)
                with self.spending("criteria"):
                    contest.criteria = await self._criteria(contest, output, budget)
            self._tell_criteria(contest)
            self.tell(f"rating {_name(entry)} on {_rows(count)}", budget)
            began = self.clock()
            with self.spending("judging"):
                async with budget.limit():
                    entry.ratings[count] = await self.judge.rate(output, contest.criteria, contest.others(entry, count))
            entry.judging_seconds = self.clock() - began
            entry.judged.add(count)
            self.tell_rated(entry, count)

    async def judge_all(self, contest: Contest, entries: Sequence[Entry], count: int, budget: Budget) -> None:
        """Let a judge rate entries, the plan to beat first; where time runs out, the ratings left are of one kind."""
        try:
            for entry in entries:
                await self.judge_on(contest, entry, count, budget)
        finally:
            if any(count in entry.judged for entry in contest.entries):
                for entry in contest.entries:
                    if count not in entry.judged and count in entry.ratings:
                        entry.screened[count] = entry.ratings.pop(count)
            else:
                self.screen(contest, count)

    async def weigh(self, contest: Contest, count: int, budget: Budget) -> None:
        """Let a judge say of each item that entries list on so many rows how likely it is; what was asked is kept."""
        there = [entry for entry in contest.everyone() if count in entry.outputs and not entry.trouble]
        if len(there) < 2 or not any(entry.outputs[count].listing for entry in there):
            return
        self.tell(f"weighing what {len(there)} plans list on {_rows(count)}", budget)
        with self.spending("weighing"):
            async with budget.limit():
                found = await self.judge.weigh([entry.outputs[count] for entry in there])
        for entry, output in zip(there, found, strict=True):
            entry.outputs[count] = output

    def screen(self, contest: Contest, count: int) -> None:
        """Rate all that were run on so many rows by what code can see: no model is asked."""
        for entry in contest.everyone():
            if count in entry.outputs and not entry.trouble:
                before = entry.ratings.get(count)
                entry.ratings[count] = self.judge.screen(entry.outputs[count], contest.others(entry, count))
                entry.judged.discard(count)
                if before is None or before.score != entry.ratings[count].score:
                    self.tell_rated(entry, count)

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
        own = contest.own.outputs.get(count)
        columns = _columns(own) if own is not None and entry is not contest.own else ()
        seconds = self.speed.seconds(run.costs)
        return self.observe(run, inputs, seconds=seconds, columns=columns, task=self.user)

    async def matches(self, contest: Contest, place: Place, count: int, budget: Budget) -> Sequence[Mapping[str, Any]]:
        """Return what the plan to beat merges at a place, the values of each row; nothing where it joins nothing."""
        plan = contest.own.candidate.plan
        if not isinstance(node_at(plan, place), Equijoin):
            return ()
        run = await self.runner.run(plan, place.step, place.index + 1, self.sample.first(count), budget)
        return tuple(row.values for row in run.rows)

    async def _criteria(self, contest: Contest, output: PlanOutput, budget: Budget) -> Criteria:
        async with budget.limit():
            plan = contest.own.candidate.plan
            return await self.judge.criteria(plan, contest.region.operators(plan), output)

    async def compare(self, contest: Contest, left: Entry, right: Entry, budget: Budget) -> None:
        """Compare the outputs of two entries on the rows that both were rated on; a failure to judge is no win."""
        both = left.outputs.keys() & right.outputs.keys()
        if not both or contest.criteria is None:
            return
        count = max(both)
        others = [one for one in contest.others(left, count) if one is not right.outputs[count]]
        with self.spending("comparing"):
            async with budget.limit():
                found = await self.judge.compare(left.outputs[count], right.outputs[count], contest.criteria, others)
        contest.note(left, right, found)
        self.emit(Compared(left.candidate.id, right.candidate.id, found.left, found.reason))

    def facts_about(
        self, rows: Sequence[Row], output: PlanOutput | None = None, matches: Sequence[Mapping[str, Any]] = ()
    ) -> Facts:
        """Add to the facts the typical length of each field of rows, and how answers look that were made of them."""
        lengths: dict[str, list[int]] = {}
        for row in rows:
            for name, value in row.values.items():
                if isinstance(value, str):
                    lengths.setdefault(name, []).append(len(value))
        tokens = {name: sum(all) // len(all) // CHARACTERS_PER_TOKEN for name, all in lengths.items()}
        facts = self.facts
        return Facts(
            context_tokens=facts.context_tokens,
            models=facts.models,
            field_tokens=tokens,
            source_fields=facts.source_fields,
            answers=seen_answers(output),
            repeats=seen_repeats(output),
            matches=matches,
            identifiers=identifiers(rows),
        )

    def tell(self, doing: str, budget: Budget, about_seconds: float = 0.0) -> None:
        """Tell what is done next, and how the time of the whole build stands."""
        whole = budget.whole
        self.emit(BuildProgress(whole.spent, whole.left, doing, about_seconds))

    def _tell_criteria(self, contest: Contest) -> None:
        if contest.criteria is None or contest.is_told:
            return
        contest.is_told = True
        tests = tuple(f"{test.aim.value}: {test.text}" for test in contest.criteria.tests)
        self.emit(CriteriaWritten(contest.own.candidate.id, contest.criteria.task, tests))

    def tell_found(self, candidate: Candidate) -> None:
        """Tell of a plan that was made."""
        one = candidate
        self.emit(CandidateFound(one.id, one.parent or 0, one.directive, one.words, one.step, one.depth, one.by_model))

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
                plan=entry.candidate.id,
                rows=count,
                score=rating.score,
                is_satisfied=rating.satisfied,
                failures=len(rating.failures),
                seconds=output.seconds,
                tokens=output.tokens,
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
    """Return the fields of the rows of each dataset."""
    return {
        name: tuple(dict.fromkeys(key for row in rows for key in row.values)) for name, rows in sample.datasets.items()
    }


def _columns(output: PlanOutput) -> tuple[str, ...]:
    return tuple(dict.fromkeys(cell.field for row in output.rows for cell in row.cells))
