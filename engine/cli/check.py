"""`redwell check`: every problem of a pipeline, without running it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from engine.cli import run
from engine.cli.console import counted, output, styled, visible
from engine.cli.options import InputOption
from engine.cli.settings import COMMAND_SETTINGS
from engine.errors import PipelineError
from engine.estimate.sources import look_at
from engine.estimate.too_long import too_long
from engine.language.checks import check as find_problems
from engine.language.loader import Loaded
from engine.language.problems import Problem
from engine.language.trust import trust_warnings
from engine.worker.jobs import load_with_inputs
from engine.worker.model_choice import model_problems
from engine.worker.surroundings import check_surroundings, peek_fields
from models.rates import context_of

app = typer.Typer(**COMMAND_SETTINGS)


@app.command()
def check(
    pipeline: Annotated[Path, typer.Argument(metavar="PIPELINE", help="The pipeline file (YAML).", show_default=False)],
    input: InputOption = None,
    pipeline_only: Annotated[
        bool, typer.Option("--pipeline-only", help="Leave out what is around the pipeline: its data and the models.")
    ] = False,
) -> None:
    """Check a pipeline without running it: every problem with its line.

    Data files that are there (or are given with --input) are read for the fields of their rows, and rows that will be
    too long for a prompt are named. Ends with 0 if the pipeline can run (warnings are no hindrance), else with 2.
    """
    problems = all_problems(pipeline, input or [], around=not pipeline_only)
    console = output()
    for problem in problems:
        style = "bold red" if problem.severity == "error" else "bold yellow"
        console.print(styled((_place(problem), style), visible(problem.message)), soft_wrap=True)
        if problem.advice:
            console.print(styled("    ", visible(problem.advice)), soft_wrap=True)
    errors = sum(problem.severity == "error" for problem in problems)
    warnings = len(problems) - errors
    verdict = f"{counted(errors, 'error')}, {counted(warnings, 'warning')}"
    console.print(styled((f"{pipeline}: {verdict if problems else 'no problems'}", "bold")), soft_wrap=True)
    raise typer.Exit(2 if errors else 0)


def all_problems(pipeline: Path, inputs: list[str], *, around: bool = True) -> list[Problem]:
    """List errors and warnings; a file that cannot be loaded has one error. Raises UsageError for a wrong input.

    With `around`, also those of its data, its output and the models of this machine.
    """
    try:
        loaded = load_with_inputs(pipeline, inputs)
    except PipelineError as error:
        return [
            Problem(
                error.args[0],
                error.advice,
                operator=error.operator,
                file=error.file or str(pipeline),
                line=error.line,
                column=error.column,
            )
        ]
    trust = trust_warnings(loaded.plan, loaded.positions)
    if not around:
        return [*find_problems(loaded.plan, positions=loaded.positions), *trust, *loaded.warnings]
    fields, unreadable = peek_fields(loaded)
    return [
        *check_surroundings(loaded, missing_data="warning"),
        *unreadable,
        *find_problems(loaded.plan, source_fields=fields, positions=loaded.positions),
        *trust,
        *loaded.warnings,
        *model_problems(loaded, run.new_models()),
        *([] if unreadable else long_rows(loaded)),
    ]


def long_rows(loaded: Loaded) -> list[Problem]:
    """Name the rows that will be too long for a prompt, where the datasets are there and the model is known."""
    context = context_of(loaded.plan.default_model)
    here = {d.name for d in loaded.plan.datasets if d.path and d.location(loaded.directory).exists()}
    if context is None or not here:
        return []
    sources = {name: source for name, source in look_at(loaded).items() if name in here}
    return too_long(loaded.plan, sources, context, loaded.positions)


def _place(problem: Problem) -> str:
    place = ":".join(str(part) for part in (problem.file, problem.line, problem.column) if part)
    operator = f" operator {problem.operator!r}:" if problem.operator else ""
    return visible(f"{place}: {problem.severity}:{operator} ")
