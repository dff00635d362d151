"""`redwell eval FOLDER`: the pipelines of a sample case against its gold answers."""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path

from rich.table import Table

from engine.cli.console import messages, output
from engine.cli.local_models import open_embedder, open_model
from engine.errors import UsageError
from engine.evaluation.officers import Gold, Located, Score, located, predicted_pairs, score
from engine.executor.run import RunOptions, run_pipeline
from engine.executor.translation import open_case
from engine.loader import load_pipeline


def evaluate_case(folder: Path, *, case: Path | None, options: RunOptions) -> None:
    """Run every pipeline of the folder and print how well each does; raises UsageError without gold or pipelines."""
    gold = Gold.read(folder / "gold.json")
    pipelines = sorted(folder.glob("*.yaml"))
    if not pipelines:
        raise UsageError(f"there is no pipeline in {folder}", advice="Give a folder with a .yaml file.")
    table = Table("pipeline", "precision", "recall", "F1", "located", "on gold page", "seconds", "failed")
    with tempfile.TemporaryDirectory() as scratch:
        for path in pipelines:
            messages().print(f"running {path}")
            start = time.perf_counter()
            kept = case or Path(scratch) / "eval.redwell"
            result, places, failed = _run(path, kept, gold, options)
            table.add_row(path.stem, *_figures(result, places), f"{time.perf_counter() - start:.0f}", str(failed))
            for name, pairs in (("wrong", result.wrong), ("missing", result.missing)):
                for file, officer in pairs:
                    messages().print(f"  {name}: {officer} in {file}")
    output().print(table)


def _run(path: Path, case_path: Path, gold: Gold, options: RunOptions) -> tuple[Score, Located, int]:
    with open_case(case_path) as case:
        result = asyncio.run(
            run_pipeline(
                load_pipeline(path),
                case,
                open_model=open_model,
                open_embedder=open_embedder,
                emit=lambda event: None,
                options=options,
            )
        )
        predicted = predicted_pairs(case, result.run_id, gold)
        places = located(case, result.run_id, gold, predicted)
        return score(predicted, gold.pairs), places, result.failed_items


def _figures(result: Score, places: Located) -> list[str]:
    return [
        f"{result.precision:.2f}",
        f"{result.recall:.2f}",
        f"{result.f1:.2f}",
        f"{places.located} of {places.values}",
        f"{places.on_gold_page} of {places.judged}",
    ]
