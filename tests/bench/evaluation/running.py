"""Run the pipeline of a task, and score it: the same plan, seed by seed, each in a case of its own."""

from __future__ import annotations

import asyncio
import hashlib
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from engine.errors import RedwellError
from engine.evaluation import record_names
from engine.executor.model_pool import OpenModel
from engine.executor.run import RunOptions, run_pipeline
from engine.executor.run_state import RunState
from engine.executor.translation import open_case
from engine.loader import Loaded
from engine.rows import Row
from engine.worker.jobs import NewModels
from engine.worker.model_choice import Models, settled
from evaluation.judging import Judge
from evaluation.task import Document, Result, Task
from models.protocol import ModelBackend
from models.wrapped import WrappedBackend
from storage.case import Case
from storage.rows import RowRecord

TEMPERATURE = 0.3
"""With several seeds, replies must be able to differ: at temperature 0 every seed gives the same."""


@dataclass(frozen=True)
class Seeds:
    """How often a plan is run: seeds 0 to `count` - 1. `temperature` None leaves a single run as it is written."""

    count: int = 3
    temperature: float | None = None

    def plans(self, loaded: Loaded) -> list[Loaded]:
        """Return the plan with each seed; an operator with a temperature of its own keeps it."""
        own = loaded.plan.settings
        warmth = own.temperature if self.temperature is None else self.temperature
        if self.temperature is None and self.count > 1:
            warmth = own.temperature or TEMPERATURE
        settings = [replace(own, seed=seed, temperature=warmth) for seed in range(self.count)]
        return [replace(loaded, plan=replace(loaded.plan, settings=one)) for one in settings]


@dataclass(frozen=True)
class Measured:
    """One run: its figures, the seconds it took with loading the model, calls, tokens, and rows that failed.

    `read_tokens` were read, not taken from what another prompt had begun with. Of seeds that ran side by side, the
    seconds are a seed's share of those of all.
    """

    seed: int
    figures: Mapping[str, float]
    seconds: float
    calls: int
    read_tokens: int
    written_tokens: int
    failed: int


@dataclass(frozen=True)
class _Done:
    """A run that is not scored yet."""

    run_id: str
    state: RunState
    failed: int
    seconds: float


class Lent(WrappedBackend):
    """A model that outlives the run it is lent to: requests of several runs that begin alike are read once."""

    async def close(self) -> None:
        """Leave the model as it is: who lends it closes it."""


class Lender:
    """Models that several runs of one event loop share: each is loaded once. Runs load models in threads."""

    def __init__(self, models: Models) -> None:
        self._models = models
        self._opened: dict[str, ModelBackend] = {}
        self._lock = threading.Lock()

    def open_model(self, name: str) -> ModelBackend:
        """Lend a model, loading it for the first borrower (engine.executor.model_pool.OpenModel)."""
        with self._lock:
            if name not in self._opened:
                self._opened[name] = self._models.open_model(name)
            return Lent(self._opened[name])

    async def close(self) -> None:
        """Close all models that were opened."""
        for backend in self._opened.values():
            await backend.close()
        self._opened.clear()


@dataclass(frozen=True)
class Runner:
    """Runs plans of a task on the same documents, with the same model. Cases are made in `folder`.

    A run that is repeated there goes on from the replies of its case; its seconds are then those of the rest.
    `side_by_side`: the seeds of a plan share the model and run at once, so that it reads a document once for all.
    """

    task: Task
    documents: Sequence[Document]
    folder: Path
    new_models: NewModels
    options: RunOptions = field(default_factory=RunOptions)
    judge: Judge | None = None
    tell: Callable[[str], None] = lambda line: None
    side_by_side: bool = False

    def measure(self, title: str, loaded: Loaded, seeds: Seeds) -> list[Measured]:
        """Run a plan with every seed; raises the RedwellError that stops a run."""
        plans = seeds.plans(loaded)
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.side_by_side and len(plans) > 1:
            self.tell(f"{self.task.name}, {title}, seeds 0 to {len(plans) - 1} side by side")
            done = asyncio.run(self._together(plans))
            return [self._scored(title, plan, one) for plan, one in zip(plans, done, strict=True)]
        return [self._measure_one(title, plan) for plan in plans]

    def _measure_one(self, title: str, loaded: Loaded) -> Measured:
        self.tell(f"{self.task.name}, {title}, seed {loaded.plan.settings.seed}")
        models = self.new_models()  # a run closes those it used
        return self._scored(title, loaded, asyncio.run(self._run(loaded, models, models.open_model)))

    async def _together(self, plans: Sequence[Loaded]) -> list[_Done]:
        models = self.new_models()
        lender, start = Lender(models), time.perf_counter()
        try:
            async with asyncio.TaskGroup() as group:
                runs = [group.create_task(self._run(plan, models, lender.open_model)) for plan in plans]
        except* RedwellError as several:
            raise several.exceptions[0] from several
        finally:
            await lender.close()
        share = (time.perf_counter() - start) / len(plans)
        return [replace(run.result(), seconds=share) for run in runs]

    async def _run(self, loaded: Loaded, models: Models, open_model: OpenModel) -> _Done:
        state = RunState()
        ready = settled(loaded, self.options.settings.model, models)
        start = time.perf_counter()
        with open_case(self._case(loaded)) as case:
            done = await run_pipeline(
                ready,
                case,
                open_model=open_model,
                open_embedder=models.open_embedder,
                emit=state.take,
                options=self.options,
            )
        return _Done(done.run_id, state, done.failed_items, time.perf_counter() - start)

    def _scored(self, title: str, loaded: Loaded, done: _Done) -> Measured:
        with open_case(self._case(loaded)) as case:
            results = results_of(case, done.run_id, self.task)
            figures = dict(self.task.score(results, self.documents))
            if self.judge is not None and self.task.criteria is not None:
                self.tell(f"{self.task.name}, {title}, seed {loaded.plan.settings.seed}: the judge")
                figures |= asyncio.run(self.judge(self.task, results, case))
        calls = done.state.calls
        return Measured(
            seed=loaded.plan.settings.seed,
            figures=figures,
            seconds=done.seconds,
            calls=calls.made,
            read_tokens=calls.prompt_tokens - calls.reused_tokens,
            written_tokens=calls.sampled_tokens + calls.forced_tokens,
            failed=done.failed,
        )

    def _case(self, loaded: Loaded) -> Path:
        """Name the case of a plan: what it took must not depend on replies that another plan left there."""
        return self.folder / f"{hashlib.sha256(loaded.plan.digest.encode()).hexdigest()[:12]}.redwell"


def results_of(case: Case, run_id: str, task: Task) -> list[Result]:
    """Read the results of a run, each with the documents among the rows it was made from."""
    results = case.runs.results(run_id)
    sources = document_ids(case, case.rows.of_operator(run_id, task.dataset), task)
    found = []
    for row_id in results.row_ids if results else ():
        lineage = {row_id, *(relative.id for relative in case.rows.ancestors(run_id, row_id))}
        values = case.rows.get(run_id, row_id).values
        found.append(Result(values, frozenset(sources[row] for row in lineage if row in sources)))
    return found


def document_ids(case: Case, rows: Iterable[Row | RowRecord], task: Task) -> dict[str, str]:
    """Map rows of the task's dataset to the ids of their documents; an attachment is its mail."""
    files = record_names(case.documents)
    return {
        row.id: files[row.document_id] if row.document_id in files else str(row.values.get(task.id_field, ""))
        for row in rows
    }
