"""Judge the rows of a table by criteria that need no gold (paper, section 5.5)."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from engine.executor.run import RunOptions, run_pipeline
from engine.loader import Loaded, load_pipeline
from engine.worker.jobs import NewModels
from engine.worker.model_choice import settled
from evaluation.task import Result, Task
from storage.case import Case

Judge = Callable[[Task, Sequence[Result], Case], Coroutine[Any, Any, Mapping[str, float]]]
"""Decides the criteria of a task about the rows of a run; returns the share of rows that meet each, 0 to 1.

What it asks a model is kept in the case of the run."""

ROWS = "rows"
"""The dataset of a judging pipeline."""


@dataclass(frozen=True)
class PipelineJudge:
    """Judges by the pipeline that the task names (Task.criteria): it reads rows, and writes a boolean per criterion."""

    new_models: NewModels
    options: RunOptions

    async def __call__(self, task: Task, results: Sequence[Result], case: Case) -> Mapping[str, float]:
        """Run the pipeline over the rows; a row that it fails on meets no criterion. No rows meet none."""
        assert task.criteria is not None  # who calls has looked
        models = self.new_models()
        loaded = settled(load_pipeline(task.criteria), self.options.settings.model, models)
        criteria = criteria_of(loaded)
        if not results:
            return dict.fromkeys(criteria, 0.0)
        rows = {ROWS: [dict(result.values) for result in results]}
        done = await run_pipeline(
            loaded,
            case,
            open_model=models.open_model,
            open_embedder=models.open_embedder,
            emit=lambda event: None,
            options=replace(self.options, rows=rows, columns=criteria),
        )
        found = case.runs.results(done.run_id)
        judged = [case.rows.get(done.run_id, row).values for row in (found.row_ids if found else ())]
        return {name: sum(row.get(name) is True for row in judged) / len(results) for name in criteria}


def criteria_of(loaded: Loaded) -> tuple[str, ...]:
    """Return the fields that a judging pipeline writes."""
    schemas = (getattr(node, "schema", None) for node in loaded.plan.operators)
    return tuple(name for schema in schemas if schema is not None for name in schema.names)
