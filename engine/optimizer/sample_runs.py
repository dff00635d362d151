"""Run plans on sample rows, each sub-pipeline once: what an operator made of rows is kept in the case.

The key of an output is the operator, what decides its replies (settings, system prompt, weights), and the rows it was
given, which hold all that the operators before it did. So plans share what they begin with alike; a prompt that is
changed makes new outputs from its operator on, and only where its rows differ; and a build that was killed goes on.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from engine.code.pool import CodePool
from engine.code.program import Program
from engine.errors import ItemError, PipelineError
from engine.estimate.total import rates_of
from engine.executor.asking import Asking
from engine.executor.events import Emit, Event
from engine.executor.model_pool import ModelPool
from engine.executor.retrieval import Retrieval
from engine.executor.stages import Calls, union
from engine.executor.tools import RunResources
from engine.language.checks import SourceFields, fields_joined
from engine.operators.accounting import all_or_none
from engine.operators.base import Outcome
from engine.operators.equijoin import Equijoin
from engine.optimizer.agent_client import Reuse, Tally
from engine.optimizer.budget import Budget
from engine.optimizer.stored_outcomes import Cost, Made, made_from_json, made_to_json, row_digest
from engine.plan.frozen import digest_of
from engine.plan.node import Node
from engine.plan.plan import Plan, Step
from engine.plan.retriever import Retriever
from engine.plan.work import named_apart, streams
from engine.rows import Row, RowId
from models.protocol import ModelBackend
from models.rates import Rates
from storage.case import Case

# How long plans take here: tokens at the rates of each model, corrected by what the build itself has measured.

UNMEASURED = Rates(prompt_per_second=150.0, sampled_per_second=30.0, characters_per_token=4.0, measured_at="")
"""A 1.5B on a laptop's processor, about; where the model was never measured, until the build has measured it."""

ENOUGH_SECONDS = 5.0
"""The rates are corrected once calls of so many seconds have been timed: less is start-up."""


@dataclass
class _Timed:
    predicted: float = 0.0
    measured: float = 0.0


class Speed:
    """Says what costs take, in seconds; `rates` gives what is known of a model, None where that is nothing."""

    def __init__(self, rates: Callable[[str], Rates | None] = rates_of) -> None:
        self._find = rates
        self._rates: dict[str, Rates] = {}
        self._timed: dict[str, _Timed] = {}

    def seconds(self, costs: Mapping[str, Cost]) -> float:
        """Say what calls of models, by name, would take if no reply were known."""
        return sum(self._predicted(model, cost) * self._correction(model) for model, cost in costs.items())

    def timed(self, costs: Mapping[str, Cost], seconds: float) -> None:
        """Learn how long calls took that were made; calls of several models at once teach nothing."""
        made = [(model, cost) for model, cost in costs.items() if cost.calls]
        if len(made) == 1:
            model, cost = made[0]
            timed = self._timed.setdefault(model, _Timed())
            timed.predicted += self._predicted(model, cost)
            timed.measured += seconds

    def _predicted(self, model: str, cost: Cost) -> float:
        if model not in self._rates:
            self._rates[model] = self._find(model) or UNMEASURED
        return self._rates[model].seconds(cost.read_tokens, cost.sampled_tokens)

    def _correction(self, model: str) -> float:
        timed = self._timed.get(model)
        if timed is None or timed.measured < ENOUGH_SECONDS or not timed.predicted:
            return 1.0
        return timed.measured / timed.predicted


KIND = "sub-pipeline output"
"""In the case's cache (storage.cache)."""

Given = Mapping[str, Sequence[Row]]
"""The sample rows of each dataset."""


@dataclass(frozen=True, kw_only=True)
class SampledRun:
    """What a plan made of sample rows as far as it was run: `every` row by id, datasets' rows too.

    `failed` are rows that failed, a line each; `rejected` what filters left out, with the reason. `costs` are what
    the calls of each model take with nothing known, by its name.
    """

    plan: Plan
    rows: tuple[Row, ...]
    every: Mapping[RowId, Row]
    failed: tuple[str, ...]
    rejected: Mapping[RowId, str]
    costs: Mapping[str, Cost]
    flow: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """How many rows each operator was given and put out, by its name."""

    @property
    def tokens(self) -> int:
        """Return the tokens of all prompts and replies."""
        return sum(cost.tokens for cost in self.costs.values())


class SampleRunner:
    """Runs plans over one case. `plan`s may differ in everything but their datasets."""

    def __init__(  # noqa: PLR0913 - what a run needs
        self,
        case: Case,
        pool: ModelPool,
        asking: Asking,
        *,
        speed: Speed,
        emit: Emit,
        trusts_code: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.reuse = Reuse()
        self.whole: Mapping[str, int] = {}
        """How many rows the datasets have that are drawn from: a limit of comparisons is for all of them."""
        self.source_fields: SourceFields = {}
        """The fields of the datasets: a join names its fields by them, also where no row of one side is drawn."""
        self._case = case
        self._pool = pool
        self._asking = asking
        self._speed = speed
        self._emit = emit
        self._trusts_code = trusts_code
        self._clock = clock
        self._code = CodePool()
        self._known: dict[str, Made] = {}

    async def run(self, plan: Plan, step: str, stop: int, given: Given, budget: Budget) -> SampledRun:
        """Run the first `stop` operators of a step, and the steps it needs. Raises what a run raises, or OutOfTime."""
        retrieval = Retrieval(plan, self._case, self._emit)
        plan_run = _PlanRun(self, plan, retrieval, budget)
        began = self._clock()
        try:
            rows = await plan_run.rows_of(step, stop, given)
        finally:
            await retrieval.close()
        self._speed.timed(plan_run.made, self._clock() - began)
        every = {row.id: row for rows in given.values() for row in rows} | plan_run.every
        return SampledRun(
            plan=plan,
            rows=tuple(rows),
            every=every,
            failed=tuple(plan_run.failed),
            rejected=plan_run.rejected,
            costs=plan_run.costs_alone(),
            flow=plan_run.flow,
        )

    async def measure(self, program: Program, given: Any) -> Any:
        """Call a user's own measure, as code of a pipeline is called; raises PipelineError for what goes wrong."""
        try:
            return await self._code.call(program, given)
        except ItemError as error:
            raise PipelineError(f"{program.operator} failed: {error}", advice=error.advice) from error

    def resources(self, plan: Plan, retrieval: Retrieval) -> RunResources:
        """Return what the calls of a plan share."""
        joins = any(node.traits().inputs == 2 for node in plan.operators)
        return RunResources(
            case=self._case,
            asking=self._asking,
            pool=self._pool,
            settings=plan.settings,
            retrieval=retrieval,
            system_prompt=plan.system_prompt.text,
            trusts_code=self._trusts_code,
            includes_hidden=plan.includes_hidden,
            code=self._code,
            joined_fields=fields_joined(plan, source_fields=self.source_fields) if joins else {},
        )

    async def backend_of(self, plan: Plan, node: Node) -> ModelBackend | None:
        """Return the model of an operator, loaded; None where it needs none."""
        traits = node.traits()
        if not (traits.calls_model or traits.counts_tokens):
            return None
        return await self._pool.model(node.model or plan.default_model)

    async def weights_of(self, plan: Plan, node: Node) -> list[str]:
        """Identify the models that an operator may ask, and how their replies are laid out."""
        main_model = await self.backend_of(plan, node)
        others = [await self._pool.model(name) for name in node.other_models]
        return [f"{backend.digest} {backend.layout}" for backend in (main_model, *others) if backend is not None]

    def embeddings_of(self, node: Node, retriever: Retriever | None) -> str:
        """Identify the embedding model that an operator or its retriever asks; empty where neither does."""
        is_asked = node.traits().embeds or (retriever is not None and "embedding" in retriever.modes)
        return self._pool.embedder().digest if is_asked else ""

    def find(self, key: str, rows: Sequence[Row]) -> Made | None:
        """Return what is known of an output, in this build or from the case."""
        if key in self._known:
            self.reuse.outputs_shared += 1
            return self._known[key]
        body: dict[str, Any] | None = self._case.cache.get(KIND, key)
        if body is None or "blocks" not in body:  # an earlier version's output is made again, from the case's replies
            return None
        self.reuse.outputs_reused += 1
        made = self._known[key] = made_from_json(body, rows)
        return made

    def keep(self, key: str, made: Made, rows: Sequence[Row]) -> None:
        """Keep an output, for good where no row failed: a failure may have had a passing cause."""
        self.reuse.outputs_made += 1
        self._known[key] = made
        if not made.outcome.failed:
            self._case.cache.save(KIND, key, made_to_json(made, rows))

    def tally(self) -> Tally:
        """Return a model client that counts its calls."""
        return Tally(self._asking, self.reuse)

    async def close(self) -> None:
        """End the processes that ran code."""
        await self._code.close()


class _PlanRun:
    """One plan on its way through the sample."""

    def __init__(self, runner: SampleRunner, plan: Plan, retrieval: Retrieval, budget: Budget) -> None:
        self._runner = runner
        self._plan = plan
        self._retrieval = retrieval
        self._budget = budget
        self._nodes = named_apart(plan)
        self._resources = runner.resources(plan, retrieval)
        self._sources: dict[str, Sequence[Row]] = {}
        self._shares: dict[str, float] = {}
        self.every: dict[RowId, Row] = {}
        self.failed: list[str] = []
        self.rejected: dict[RowId, str] = {}
        self.costs: dict[str, Cost] = {}
        self.made: dict[str, Cost] = {}
        self._blocks: dict[str, dict[str, float]] = {}
        self.flow: dict[str, tuple[int, int]] = {}

    async def rows_of(self, name: str, stop: int, given: Given) -> Sequence[Row]:
        for dataset, rows in given.items():
            self._add(dataset, rows)
            self._shares[dataset] = min(1.0, len(rows) / max(1, self._runner.whole.get(dataset, len(rows))))
        for step in _needed(self._plan, name):
            rows = await self._step(step, stop if step.name == name else len(step.operators))
            self._add(step.name, rows)
        return self._sources[name]

    def costs_alone(self) -> dict[str, Cost]:
        """Return what the calls of each model take where no other plan ran before."""
        read = {model: round(sum(blocks.values())) for model, blocks in self._blocks.items()}
        return {model: cost._replace(read_tokens=read[model]) for model, cost in self.costs.items()}

    def _add(self, source: str, rows: Sequence[Row]) -> None:
        self._sources[source] = rows
        self._retrieval.add(source, rows)

    async def _step(self, step: Step, stop: int) -> Sequence[Row]:
        inputs = [self._sources[name] for name in step.inputs]
        nodes = self._nodes[step.name][:stop]
        shares = [self._shares[name] for name in step.inputs]
        self._shares[step.name] = max(shares, default=1.0)
        if nodes and nodes[0].traits().inputs == 2:
            join = _limited(nodes[0], math.prod(shares))
            rows = self._taken(join, union(inputs), await self._made(join, union(inputs), sides=inputs))
            nodes = nodes[1:]
        else:
            rows = union(inputs)
        for node in nodes:
            rows = await self._through(node, rows)
        return rows

    async def _through(self, node: Node, rows: Sequence[Row]) -> Sequence[Row]:
        """Let rows through an operator, each by itself where it can go by itself."""
        groups = [[row] for row in rows] if streams(node) else [list(rows)]
        made = await all_or_none([self._made(node, group) for group in groups if group])
        return self._taken(node, rows, *made)

    def _taken(self, node: Node, inputs: Sequence[Row], *made: Made) -> Sequence[Row]:
        """Take the outcomes of an operator into the account of the plan."""
        model = node.model or self._plan.default_model
        rows = [row for output in made for row in output.outcome.rows]
        for output in made:
            self.costs[model] = self.costs.get(model, Cost()).plus(output.cost)
            self._blocks.setdefault(model, {}).update(output.blocks)
            self.rejected.update((item.row.id, item.reason) for item in output.outcome.rejected)
            self.failed += [item.error for item in output.outcome.failed]
        self.every.update((row.id, row) for row in rows)
        self.flow[node.name] = (len(inputs), len(rows))
        return rows

    async def _made(self, node: Node, rows: Sequence[Row], *, sides: Sequence[Sequence[Row]] = ()) -> Made:
        async with self._budget.limit():
            traits = node.traits()
            is_kept = traits.calls_model or traits.embeds or traits.runs_code
            key = await self._key(node, rows, sides) if is_kept else ""
            if key and (known := self._runner.find(key, rows)):
                return known
            tally = self._runner.tally()
            backend = await self._runner.backend_of(self._plan, node)
            for name in node.other_models:
                await self._resources.pool.model(name)
            calls = Calls(node, replace(self._resources, asking=tally), backend, _tell_nothing)
            outcome = await self._outcome(calls, rows, sides)
            made = Made(outcome, tally.cost, tally.blocks)
            self._count(node, tally.made)
            if key:
                self._runner.keep(key, made, rows)
            return made

    async def _outcome(self, calls: Calls, rows: Sequence[Row], sides: Sequence[Sequence[Row]]) -> Outcome:
        if not sides:
            return await calls.outcome(rows)
        await calls.join(*sides)
        account = calls.account
        return Outcome(account.rows_out, account.rejected, account.failed)

    def _count(self, node: Node, cost: Cost) -> None:
        model = node.model or self._plan.default_model
        self.made[model] = self.made.get(model, Cost()).plus(cost)

    async def _key(self, node: Node, rows: Sequence[Row], sides: Sequence[Sequence[Row]]) -> str:
        plan = self._plan
        retriever = plan.retriever_of(node)
        indexed = self._sources[retriever.source] if retriever else ()
        return digest_of(
            [
                node,
                plan.settings,
                plan.system_prompt,
                await self._runner.weights_of(plan, node),
                self._runner.embeddings_of(node, retriever),
                retriever,
                [row_digest(row) for row in indexed],
                [[row_digest(row) for row in side] for side in sides or (rows,)],
                *([self._resources.joined_fields.get(node.name)] if sides else []),
            ]
        )


def _limited(join: Node, share: float) -> Node:
    """Lower the limit of comparisons of a join to the share of its pairs that are there, above 0 to 1."""
    if not isinstance(join, Equijoin) or not join.limit_comparisons or share >= 1:
        return join
    return replace(join, limit_comparisons=math.ceil(join.limit_comparisons * share))


def _needed(plan: Plan, name: str) -> list[Step]:
    """List a step and those whose rows it needs, in the order of the plan."""
    by_name = {step.name: step for step in plan.steps}
    wanted, left = set(), [name]
    while left:
        source = left.pop()
        if source in by_name and source not in wanted:
            wanted.add(source)
            left += plan.sources_of(by_name[source])
    return [step for step in plan.steps if step.name in wanted]


def _tell_nothing(event: Event) -> None:
    """Take in the events of single operators, of which a build tells nothing."""
