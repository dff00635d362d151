"""The rows that a pipeline comes to, for benchmarks that look at nothing else of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from engine.cli.local_models import LocalModels
from engine.executor.events import Emit
from engine.executor.run import RunOptions, run_pipeline
from engine.loader import Loaded
from storage.case import Case


async def run(loaded: Loaded, file: Path, model: str, emit: Emit = lambda _: None) -> list[dict[str, Any]]:
    """Run a pipeline on a model, the default one if none is named, in a case that may be there."""
    models = LocalModels()
    with Case(file) as case:
        result = await run_pipeline(
            loaded,
            case,
            open_model=lambda _: models.open_model(model),
            open_embedder=models.open_embedder,
            emit=emit,
            options=RunOptions(),
        )
        return rows_of(case, result.run_id)


def rows_of(case: Case, run_id: str) -> list[dict[str, Any]]:
    """Read the rows that a run delivered."""
    results = case.runs.results(run_id)
    return [dict(case.rows.get(run_id, row).values) for row in (results.row_ids if results else ())]
