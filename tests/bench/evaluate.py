"""Score pipelines on the paper's tasks: `python tests/bench/evaluate.py contracts --seeds 3` (docs/evaluation.md).

`redwell eval TASK` runs this in a source checkout.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

sys.path.insert(0, str(Path(__file__).resolve().parent))

from evaluation.evaluate_build import BuildOrder
from evaluation.evaluate_task import TaskJob, evaluate_task
from evaluation.running import Seeds
from evaluation.tasks import load_task

from engine.cli.console import COMMAND_SETTINGS, show_error
from engine.cli.local_models import LocalModels
from engine.cli.run_settings import takes_settings
from engine.errors import UsageError
from engine.executor.run import RunOptions
from engine.executor.settings import RunSettings
from engine.optimizer.build_options import MINUTES
from engine.worker.exit_codes import USER_ERRORS, exit_code_of
from engine.worker.jobs import NewModels

app = typer.Typer(**COMMAND_SETTINGS)

new_models: NewModels = LocalModels
"""Makes the models of a task's runs; tests put scripted ones here."""

TaskArgument = Annotated[
    str,
    typer.Argument(metavar="TASK", help="contracts, reviews, casefiles, reactions or police.", show_default=False),
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


@app.command()
@takes_settings("model", "trust_code")
def evaluate(  # noqa: PLR0913 - one parameter per option
    task: TaskArgument,
    *,
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
    settings: RunSettings,
) -> None:
    """Run a task's pipeline as a user would write it, and print how well it does (docs/evaluation.md).

    With --optimised or --build another one beside it, on the same documents with the same model. Figures are means over
    the seeds, with their standard deviation.
    """
    chosen = load_task(task) if documents is None else load_task(task).fewer(split, documents)
    _check_build(build=build, minutes=minutes, optimised=optimised)
    figures = out or Path(f"eval-{chosen.name}.json")
    pipelines = [("as written", pipeline or chosen.pipeline), *([("optimised", optimised)] if optimised else [])]
    evaluate_task(
        TaskJob(
            task=chosen,
            pipelines=tuple(pipelines),
            seeds=Seeds(seeds, temperature),
            out=figures,
            split=split,
            data=data,
            keep=keep,
            options=RunOptions(settings),
            side_by_side=side_by_side,
            judge=judge,
            build=_build_order(figures, minutes) if build else None,
        ),
        new_models,
    )


def _check_build(*, build: bool, minutes: float | None, optimised: Path | None) -> None:
    if build and optimised is not None:
        raise UsageError("--build makes the pipeline that --optimised names", advice="Give one of them.")
    if minutes is not None and not build:
        raise UsageError("--minutes is the time of --build", advice="Give --build too, or neither.")


def _build_order(figures: Path, minutes: float | None) -> BuildOrder:
    return BuildOrder(figures.with_name(f"{figures.stem}-build.yaml"), MINUTES if minutes is None else minutes)


def run() -> None:
    """Run the command line; errors that a user can mend are said in two lines, as by `redwell`."""
    try:
        app(prog_name="redwell eval")
    except USER_ERRORS as error:
        show_error(error)
        sys.exit(exit_code_of(error))


if __name__ == "__main__":
    run()
