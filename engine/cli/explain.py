"""`redwell explain`: how a pipeline will run, and what it will take."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from engine.cli.console import COMMAND_SETTINGS, output, visible
from engine.cli.options import InputOption, PipelineArgument
from engine.cli.run_settings import AllowPathOption
from engine.errors import UsageError
from engine.estimate.explain import explanation
from engine.estimate.scale import Corpus, Machine
from engine.executor.run import refuse_problems
from engine.worker.jobs import default_case, load_with_inputs
from engine.worker.typed_json import read_dataclass

app = typer.Typer(**COMMAND_SETTINGS)


@app.command()
def explain(  # noqa: PLR0913, PLR0917 - one parameter per option
    pipeline: PipelineArgument,
    input: InputOption = None,
    allow_path: AllowPathOption = None,
    case: Annotated[
        Path | None,
        typer.Option("--case", metavar="FILE", help="A case that has the documents; PIPELINE's own if not given."),
    ] = None,
    model: Annotated[str, typer.Option("--model", metavar="NAME", help="A model of `redwell models list`.")] = "",
    documents: Annotated[
        int | None, typer.Option("--documents", metavar="N", help="Predict for N documents like those of the input.")
    ] = None,
    pages: Annotated[
        int | None, typer.Option("--pages", metavar="N", help="Predict for N pages in all.", show_default=False)
    ] = None,
    rates: Annotated[
        Path | None, typer.Option("--rates", metavar="FILE", help="Machines and their rates (TOML, see docs/scale.md).")
    ] = None,
) -> None:
    """Show how a pipeline will run, and what it will take, without running it.

    The plan before and after its exact rewrites, the fields of each operator, and an estimate of calls, tokens and
    minutes from the rates that `redwell doctor --measure` has measured on this machine. With --documents, --pages or
    --rates also for a larger corpus and other machines: hours, and the size of the case file.
    """
    if case is not None and not case.is_file():
        raise UsageError(f"there is no case {case}", advice="Check the path, or leave out --case.")
    corpus, machines = Corpus(documents, pages), read_machines(rates) if rates else []
    loaded = load_with_inputs(pipeline, input or [], allow_path or [])
    refuse_problems(loaded)
    file = case or default_case(pipeline)
    text = explanation(loaded, case=file, model=model, corpus=corpus, machines=machines)
    output().print(visible(text), soft_wrap=True)


def read_machines(file: Path) -> list[Machine]:
    """Read `[[machine]]` tables of a TOML file. Raises UsageError naming the table and what is wrong with it."""
    try:
        body = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"{file}: {reason}", advice="Name a TOML file such as docs/rates.toml.") from error
    tables = body.get("machine")
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        raise UsageError(f"{file} has no [[machine]] table", advice="See docs/scale.md for the form.")
    names = [f"{file}: machine {number} ({table.get('name', 'no name')})" for number, table in enumerate(tables, 1)]
    return [_machine(name, table) for name, table in zip(names, tables, strict=True)]


def _machine(where: str, table: Mapping[str, Any]) -> Machine:
    for key, value in table.items():
        if isinstance(value, int | float) and not 0 < value < math.inf:
            raise UsageError(f"{where}: {key} must be a number above 0, not {value!r}", advice="Correct the file.")
    machine = read_dataclass(where, Machine, table)
    if machine.efficiency > 1:
        raise UsageError(f"{where}: efficiency is at most 1", advice="Correct the file.")
    return machine
