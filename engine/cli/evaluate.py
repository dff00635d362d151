"""`redwell eval`: how well pipelines do, on the paper's tasks or on a sample case with gold answers."""

from __future__ import annotations

from pathlib import Path

import typer

from engine.cli.evaluate_build import BuildOrder
from engine.cli.evaluate_case import evaluate_case
from engine.cli.evaluate_options import (
    BuildMinutesOption,
    BuildOption,
    DataOption,
    DocumentsOption,
    JsonOption,
    JudgeOption,
    KeepOption,
    ModelOption,
    OptimisedOption,
    PipelineOption,
    SampleCaseOption,
    SeedsOption,
    SideBySideOption,
    SplitOption,
    TemperatureOption,
    WhatArgument,
)
from engine.cli.evaluate_task import TaskJob, evaluate_task
from engine.cli.local_models import LocalModels
from engine.cli.options import TrustOption
from engine.cli.settings import COMMAND_SETTINGS
from engine.errors import UsageError
from engine.evaluation.checkout import load_task, task_names
from engine.evaluation.running import Seeds
from engine.executor.run import RunOptions
from engine.optimizer.build_options import MINUTES
from engine.worker.jobs import NewModels

app = typer.Typer(**COMMAND_SETTINGS)

new_models: NewModels = LocalModels
"""Makes the models of a task's runs; tests put scripted ones here."""


@app.command()
def evaluate(  # noqa: PLR0913, PLR0917 - one parameter per option
    what: WhatArgument,
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
    model: ModelOption = "",
    trust_code: TrustOption = False,
) -> None:
    """Run pipelines and print how well they do (docs/evaluation.md).

    Of a task: its pipeline as a user would write it, and with --optimised or --build another, on the same documents
    with the same model; figures are means over the seeds, with their standard deviation. Of a sample case: all its
    pipelines.
    """
    options = RunOptions(model=model, trust_code=trust_code)
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
