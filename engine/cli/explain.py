"""`redwell explain`: how a pipeline will run, and what it will take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from engine.cli.console import output, visible
from engine.cli.options import InputOption
from engine.cli.settings import COMMAND_SETTINGS
from engine.estimate.explain import explanation
from engine.executor.run import refuse_problems
from engine.worker.jobs import default_case, load_with_inputs

app = typer.Typer(**COMMAND_SETTINGS)


@app.command()
def explain(
    pipeline: Annotated[Path, typer.Argument(metavar="PIPELINE", help="The pipeline file (YAML).", show_default=False)],
    input: InputOption = None,
    case: Annotated[
        Path | None,
        typer.Option("--case", metavar="FILE", help="A case that has the documents; PIPELINE's own if not given."),
    ] = None,
    model: Annotated[str, typer.Option("--model", metavar="NAME", help="A model of `redwell models list`.")] = "",
) -> None:
    """Show how a pipeline will run, and what it will take, without running it.

    The plan before and after its exact rewrites, the fields of each operator, and an estimate of calls, tokens and
    minutes from the rates that `redwell doctor --measure` has measured on this machine.
    """
    loaded = load_with_inputs(pipeline, input or [])
    refuse_problems(loaded)
    text = explanation(loaded, case=case or default_case(pipeline), model=model)
    output().print(visible(text), soft_wrap=True)
