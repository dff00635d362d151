"""Run the pipeline of a task, and score it: the same plan, seed by seed, each in a case of its own."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from engine.evaluation.judging import Judge
from engine.evaluation.officers import record_names
from engine.evaluation.task import Document, Result, Task
from engine.executor.events import Event
from engine.executor.run import RunOptions, run_pipeline
from engine.executor.run_state import RunState
from engine.executor.translation import open_case
from engine.language.loader import Loaded
from engine.rows import Row
from engine.worker.jobs import NewModels
from engine.worker.model_choice import settled
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

    `read_tokens` were read, not taken from what another prompt had begun with.
    """

    seed: int
    figures: Mapping[str, float]
    seconds: float
    calls: int
    read_tokens: int
    written_tokens: int
    failed: int


@dataclass(frozen=True)
class Runner:
    """Runs plans of a task on the same documents, with the same model. Cases are made in `folder`.

    A run that is repeated there goes on from the replies of its case; its seconds are then those of the rest.
    """

    task: Task
    documents: Sequence[Document]
    folder: Path
    new_models: NewModels
    options: RunOptions = field(default_factory=RunOptions)
    judge: Judge | None = None
    tell: Callable[[str], None] = lambda line: None

    def measure(self, title: str, loaded: Loaded, seeds: Seeds) -> list[Measured]:
        """Run a plan with every seed; raises the RedwellError that stops a run."""
        return [self._measure_one(title, plan) for plan in seeds.plans(loaded)]

    def _measure_one(self, title: str, loaded: Loaded) -> Measured:
        seed = loaded.plan.settings.seed
        self.tell(f"{self.task.name}, {title}, seed {seed}")
        self.folder.mkdir(parents=True, exist_ok=True)
        state = RunState()
        models = self.new_models()  # a run closes those it used
        ready = settled(loaded, self.options.model, models)
        start = time.perf_counter()
        # Another plan gets another case: what it took must not depend on replies that a plan before it left there.
        with open_case(self.folder / f"{hashlib.sha256(loaded.plan.digest.encode()).hexdigest()[:12]}.redwell") as case:
            done = asyncio.run(
                run_pipeline(
                    ready,
                    case,
                    open_model=models.open_model,
                    open_embedder=models.open_embedder,
                    emit=_watching(state),
                    options=self.options,
                )
            )
            seconds = time.perf_counter() - start
            results = results_of(case, done.run_id, self.task)
            figures = dict(self.task.score(results, self.documents))
            if self.judge is not None and self.task.criteria is not None:
                self.tell(f"{self.task.name}, {title}, seed {seed}: the judge")
                figures |= asyncio.run(_judged(self.judge, self.task, results, case))
        calls = state.calls
        return Measured(
            seed=seed,
            figures=figures,
            seconds=seconds,
            calls=calls.made,
            read_tokens=calls.prompt_tokens - calls.reused_tokens,
            written_tokens=calls.sampled_tokens + calls.forced_tokens,
            failed=done.failed_items,
        )


def _watching(state: RunState) -> Callable[[Event], None]:
    return state.take


async def _judged(judge: Judge, task: Task, results: Sequence[Result], case: Case) -> Mapping[str, float]:
    return await judge(task, results, case)


def results_of(case: Case, run_id: str, task: Task) -> list[Result]:
    """Read the results of a run, each with the documents among the rows it was made from."""
    results = case.results(run_id)
    sources = document_ids(case, case.rows(run_id, task.dataset), task)
    found = []
    for row_id in results.row_ids if results else ():
        lineage = {row_id, *(relative.id for relative in case.ancestors(run_id, row_id))}
        values = case.row(run_id, row_id).values
        found.append(Result(values, frozenset(sources[row] for row in lineage if row in sources)))
    return found


def document_ids(case: Case, rows: Iterable[Row | RowRecord], task: Task) -> dict[str, str]:
    """Map rows of the task's dataset to the ids of their documents; an attachment is its mail."""
    files = record_names(case)
    return {
        row.id: files[row.document_id] if row.document_id in files else str(row.values.get(task.id_field, ""))
        for row in rows
    }
