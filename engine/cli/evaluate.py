"""`redwell eval`: how well pipelines do, on the paper's tasks or on a sample case with gold answers."""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.table import Table

from engine.cli.console import messages, output
from engine.cli.evaluate_build import BuildOrder
from engine.cli.evaluate_task import TaskJob, evaluate_task
from engine.cli.local_models import LocalModels, open_embedder, open_model
from engine.cli.run_settings import takes_settings
from engine.cli.settings import COMMAND_SETTINGS
from engine.errors import UsageError
from engine.evaluation.checkout import load_task, task_names
from engine.evaluation.officers import Gold, Located, Score, located, predicted_pairs, score
from engine.evaluation.running import Seeds
from engine.executor.run import RunOptions, run_pipeline
from engine.executor.settings import RunSettings
from engine.executor.translation import open_case
from engine.loader import load_pipeline
from engine.optimizer.build_options import MINUTES
from engine.worker.jobs import NewModels

app = typer.Typer(**COMMAND_SETTINGS)

new_models: NewModels = LocalModels
"""Makes the models of a task's runs; tests put scripted ones here."""


WhatArgument = Annotated[
    str,
    typer.Argument(
        metavar="TASK|FOLDER",
        help="A task of the paper (contracts, reviews, casefiles, reactions, police), or a sample case: a folder "
        "with pipelines (*.yaml), records and gold.json.",
        show_default=False,
    ),
]
DataOption = Annotated[
    Path | None, typer.Option("--data", metavar="FOLDER", help="The task's data, where they are elsewhere.")
]
OptimisedOption = Annotated[
    Path | None,
    typer.Option("--optimised", metavar="FILE", help="Run this pipeline too, beside the task's own."),
]
BuildOption = Annotated[
    bool, typer.Option("--build", help="Find an optimised pipeline first, on documents that are not scored.")
]
BuildMinutesOption = Annotated[
    float | None,
    typer.Option("--minutes", metavar="N", help="Of --build: it takes no longer than so many; 20 if not given."),
]
PipelineOption = Annotated[
    Path | None, typer.Option("--pipeline", metavar="FILE", help="A pipeline in place of the task's own.")
]
SeedsOption = Annotated[int, typer.Option("--seeds", min=1, help="Run each pipeline so often.")]
SideBySideOption = Annotated[
    bool,
    typer.Option("--side-by-side", help="Run the seeds at once on one model, which reads each document once for all."),
]
JudgeOption = Annotated[
    bool,
    typer.Option("--judge/--no-judge", help="Let a model decide the task's criteria about each row, where it has any."),
]
TemperatureOption = Annotated[
    float | None,
    typer.Option(
        "--temperature",
        min=0,
        help="Of all runs; if not given, the pipeline's own, or 0.3 for several seeds of a pipeline at 0.",
        show_default=False,
    ),
]
SplitOption = Annotated[
    Literal["dev", "sample"], typer.Option("--split", help="The documents that are scored, or those to build on.")
]
DocumentsOption = Annotated[
    int | None, typer.Option("--documents", min=1, metavar="N", help="Score the first N documents only.")
]
JsonOption = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="Where the JSON goes; eval-TASK.json if not given.")
]
KeepOption = Annotated[
    Path | None, typer.Option("--keep", metavar="FOLDER", help="Keep the task's cases here, and go on from them.")
]
SampleCaseOption = Annotated[
    Path | None,
    typer.Option("--case", metavar="FILE", help="Of a sample case: keep its case here and use its replies."),
]


@app.command()
@takes_settings("model", "trust_code")
def evaluate(  # noqa: PLR0913 - one parameter per option
    what: WhatArgument,
    *,
    settings: RunSettings,
    data: DataOption = None,
    optimised: OptimisedOption = None,
    build: BuildOption = False,
    minutes: BuildMinutesOption = None,
    pipeline: PipelineOption = None,
    seeds: SeedsOption = 3,
    side_by_side: SideBySideOption = False,
    judge: JudgeOption = True,
    temperature: TemperatureOption = None,
    split: SplitOption = "dev",
    documents: DocumentsOption = None,
    out: JsonOption = None,
    keep: KeepOption = None,
    case: SampleCaseOption = None,
) -> None:
    """Run pipelines and print how well they do (docs/evaluation.md).

    Of a task: its pipeline as a user would write it, and with --optimised or --build another, on the same documents
    with the same model; figures are means over the seeds, with their standard deviation. Of a sample case: all its
    pipelines.
    """
    options = RunOptions(settings)
    if _is_sample_case(what):
        _check_sample_case(
            {
                "--data": data,
                "--optimised": optimised,
                "--build": build,
                "--pipeline": pipeline,
                "--documents": documents,
                "--out": out,
                "--keep": keep,
                "--side-by-side": side_by_side,
                "--no-judge": not judge,
            }
        )
        evaluate_case(Path(what), case=case, options=options)
        return
    if case is not None:
        raise UsageError("--case belongs to a sample case", advice="Give --keep FOLDER to keep the cases of a task.")
    task = load_task(what) if documents is None else load_task(what).fewer(split, documents)
    _check_build(build=build, minutes=minutes, optimised=optimised)
    found = out or Path(f"eval-{task.name}.json")
    pipelines = [("as written", pipeline or task.pipeline), *([("optimised", optimised)] if optimised else [])]
    evaluate_task(
        TaskJob(
            task=task,
            pipelines=tuple(pipelines),
            seeds=Seeds(seeds, temperature),
            out=found,
            split=split,
            data=data,
            keep=keep,
            options=options,
            side_by_side=side_by_side,
            judge=judge,
            build=_build_order(found, minutes) if build else None,
        ),
        new_models,
    )


def _check_sample_case(given: dict[str, object]) -> None:
    """Refuse what only a task has: nothing that is asked for is passed over."""
    if named := [option for option, value in given.items() if value]:
        raise UsageError(
            f"{' and '.join(named)} belong{'s' if len(named) == 1 else ''} to a task, not to a sample case",
            advice=f"Leave it out, or name a task: {', '.join(task_names())}.",
        )


def _check_build(*, build: bool, minutes: float | None, optimised: Path | None) -> None:
    if build and optimised is not None:
        raise UsageError("--build makes the pipeline that --optimised names", advice="Give one of them.")
    if minutes is not None and not build:
        raise UsageError("--minutes is the time of --build", advice="Give --build too, or neither.")


def _build_order(figures: Path, minutes: float | None) -> BuildOrder:
    return BuildOrder(figures.with_name(f"{figures.stem}-build.yaml"), MINUTES if minutes is None else minutes)


def _is_sample_case(what: str) -> bool:
    folder = Path(what)
    return (folder / "gold.json").is_file() or (folder.is_dir() and what not in task_names())


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
