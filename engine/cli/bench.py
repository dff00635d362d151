"""`redwell bench`: the benchmarks of a source checkout."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from engine.cli.console import COMMAND_SETTINGS
from engine.cli.interrupting import run_program
from engine.errors import EnvironmentMissing, UsageError
from models.paths import expanded

app = typer.Typer(**COMMAND_SETTINGS)

CHECKOUT = Path(__file__).resolve().parents[2]


@app.command()
def bench(  # noqa: PLR0913, PLR0917 - one parameter per option
    only: Annotated[str, typer.Argument(help="Run those whose name holds this; all if not given.")] = "",
    jobs: Annotated[str, typer.Option("--jobs", metavar="LETTERS", help="Of bench_jobs: which, such as ABC.")] = "",
    model: Annotated[str, typer.Option("--model", metavar="NAME", help="A model of `redwell models list`.")] = "",
    out: Annotated[Path | None, typer.Option("--out", metavar="FOLDER", help="Where results.json goes.")] = None,
    peers: Annotated[
        str,
        typer.Option("--peers", metavar="DOCETL,LOTUS", help="Pythons of environments that have DocETL (and LOTUS)."),
    ] = "",
    server: Annotated[Path | None, typer.Option("--server", metavar="FILE", help="A llama-server for peers.")] = None,
    repeats: Annotated[int, typer.Option("--repeats", min=1, help="How often to run every contestant.")] = 1,
    draws: Annotated[int, typer.Option("--draws", min=1, help="How many lots of rows to run each job on.")] = 1,
    growth: Annotated[bool, typer.Option("--growth", help="Also more documents and more prompts.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="A few rows only, to see that everything runs.")] = False,
) -> None:
    """Run the benchmarks of a source checkout (tests/bench/README.md)."""
    folder = CHECKOUT / "tests" / "bench"
    if not folder.is_dir():
        raise UsageError("there are no benchmarks here", advice="Run this in a source checkout of Redwell.")
    if importlib.util.find_spec("pytest") is None:
        raise EnvironmentMissing("pytest is not installed", advice="Run `make setup` in the checkout.")
    docetl, _, lotus = peers.partition(",")
    if bool(peers) != bool(server):
        raise UsageError("--peers and --server go together", advice="See tests/bench/peers/README.md.")
    chosen = {
        "JOBS": jobs,
        "MODEL": model,
        "OUT": _absolute(out),
        "DOCETL": _absolute(docetl),
        "LOTUS": _absolute(lotus),
        "SERVER": _absolute(server),
        "REPEATS": str(repeats),
        "DRAWS": str(draws),
        "GROWTH": "1" if growth else "",
        "QUICK": "1" if quick else "",
    }
    environment = {f"REDWELL_BENCH_{name}": value for name, value in chosen.items() if value}
    command = [sys.executable, "-m", "pytest", str(folder), "-o", "python_files=bench_*.py", "-s"]
    command += ["-k", only] if only else []
    raise typer.Exit(run_program(command, cwd=CHECKOUT, environment={**os.environ, **environment}))


def _absolute(path: Path | str | None) -> str:
    """Write a path for another folder. Not resolved: the Python of an environment is a link."""
    return str(expanded(path).absolute()) if path else ""
