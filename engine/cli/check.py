"""`redwell check`: every problem of a pipeline, without running it."""

from __future__ import annotations

from typing import Annotated

import typer

from engine.cli import run
from engine.cli.console import COMMAND_SETTINGS, counted, output, styled, visible
from engine.cli.options import InputOption, PipelineArgument
from engine.cli.run_settings import AllowPathOption
from engine.language.problems import Problem
from engine.worker.checking import all_problems
from engine.worker.jobs import load_with_inputs

app = typer.Typer(**COMMAND_SETTINGS)


@app.command()
def check(
    pipeline: PipelineArgument,
    input: InputOption = None,
    allow_path: AllowPathOption = None,
    pipeline_only: Annotated[
        bool, typer.Option("--pipeline-only", help="Do not check the data files and the models.")
    ] = False,
) -> None:
    """Check a pipeline without running it: every problem with its line.

    Data files that are there (or are given with --input) are read for the fields of their rows, and rows that will be
    too long for a prompt are named. The exit code is 0 if the pipeline can run, also with
    warnings, else 2.
    """
    checked = all_problems(
        lambda: load_with_inputs(pipeline, input or [], allow_path or []),
        str(pipeline),
        run.new_models,
        around=not pipeline_only,
    )
    problems = checked.problems
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


def _place(problem: Problem) -> str:
    place = ":".join(str(part) for part in (problem.file, problem.line, problem.column) if part)
    operator = f" operator {problem.operator!r}:" if problem.operator else ""
    return visible(f"{place}: {problem.severity}:{operator} ")
