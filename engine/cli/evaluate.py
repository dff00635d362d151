"""`redwell eval`: how well the pipelines of a sample case do, by its gold answers."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from engine.cli.console import COMMAND_SETTINGS, messages, one_line, output
from engine.cli.interrupting import run_interruptible, run_program
from engine.cli.local_models import LocalModels
from engine.cli.run_settings import takes_settings
from engine.cli.watching import Watch
from engine.documents.leftovers import scratch_folder
from engine.errors import UsageError
from engine.evaluation import Gold, Located, Score, located, predicted_pairs, score
from engine.executor.run import RunOptions, run_pipeline
from engine.executor.settings import RunSettings
from engine.executor.translation import open_case
from engine.loader import load_pipeline
from engine.worker.jobs import NewModels
from engine.worker.model_choice import settled

app = typer.Typer(**COMMAND_SETTINGS)

TASKS = Path(__file__).resolve().parents[2] / "tests" / "bench" / "evaluate.py"
"""The program that scores the paper's tasks; only a source checkout has it."""

new_models: NewModels = LocalModels
"""Makes the models of a run; tests put scripted ones here."""


@app.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@takes_settings("model", "trust_code")
def evaluate(
    context: typer.Context,
    folder: Annotated[
        str,
        typer.Argument(
            metavar="FOLDER|TASK",
            help="A sample case: a folder with pipelines (*.yaml), records and gold.json. In a source checkout also a "
            "task of the paper, with its own options.",
            show_default=False,
        ),
    ],
    *,
    case: Annotated[
        Path | None, typer.Option("--case", metavar="FILE", help="Keep the case here and use its replies.")
    ] = None,
    settings: RunSettings,
) -> None:
    """Run every pipeline of a sample case and print how well each does (docs/evaluation.md).

    In a source checkout, `redwell eval TASK` scores a task of the paper.
    """
    if not Path(folder).is_dir() and TASKS.is_file():
        raise typer.Exit(_score_task(folder, context.args, case, settings))
    if context.args:
        raise UsageError(f"eval does not know {context.args[0]}", advice="`redwell eval --help` lists its options.")
    evaluate_case(Path(folder), case=case, options=RunOptions(settings))


def _score_task(task: str, rest: list[str], case: Path | None, settings: RunSettings) -> int:
    """Run the program that scores a task of the paper; return its exit code."""
    if case is not None:
        raise UsageError("--case belongs to a sample case", advice="Give --keep FOLDER to keep the cases of a task.")
    shared = [*(["--model", settings.model] if settings.model else []), *["--trust-code"] * settings.trust_code]
    return run_program([sys.executable, str(TASKS), task, *rest, *shared])


def evaluate_case(folder: Path, *, case: Path | None, options: RunOptions) -> None:
    """Run every pipeline of the folder and print how well each does; raises UsageError without gold or pipelines."""
    gold = Gold.read(folder / "gold.json")
    pipelines = sorted(folder.glob("*.yaml"))
    if not pipelines:
        raise UsageError(f"there is no pipeline in {folder}", advice="Give a folder with a .yaml file.")
    table = Table("pipeline", "precision", "recall", "F1", "located", "on gold page", "seconds", "failed")
    with scratch_folder() as scratch:
        for path in pipelines:
            messages().print(f"running {path}")
            start = time.perf_counter()
            kept = case or scratch / "eval.redwell"
            result, places, failed = _run(path, kept, gold, options)
            table.add_row(path.stem, *_figures(result, places), f"{time.perf_counter() - start:.0f}", str(failed))
            for name, pairs in (("wrong", result.wrong), ("missing", result.missing)):
                for file, officer in pairs:
                    messages().print(f"  {one_line(f'{name}: {officer} in {file}')}")
    output().print(table)


def _run(path: Path, case_path: Path, gold: Gold, options: RunOptions) -> tuple[Score, Located, int]:
    models = new_models()
    models.apply(options.settings)
    loaded = settled(load_pipeline(path), options.settings.model, models)
    with open_case(case_path) as case:
        result = run_interruptible(
            run_pipeline(
                loaded,
                case,
                open_model=models.open_model,
                open_embedder=models.open_embedder,
                emit=Watch().take,
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
