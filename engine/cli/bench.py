"""`redwell bench`: the benchmarks of a source checkout."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from engine.cli.settings import COMMAND_SETTINGS
from engine.errors import EnvironmentMissing, UsageError

app = typer.Typer(**COMMAND_SETTINGS)

CHECKOUT = Path(__file__).resolve().parents[2]


@app.command()
def bench(
    only: Annotated[str, typer.Argument(help="Run those whose name holds this; all if not given.")] = "",
) -> None:
    """Run the benchmarks of a source checkout."""
    folder = CHECKOUT / "tests" / "bench"
    if not folder.is_dir():
        raise UsageError("there are no benchmarks here", advice="Run this in a source checkout of Redwell.")
    if importlib.util.find_spec("pytest") is None:
        raise EnvironmentMissing("pytest is not installed", advice="Run `make setup` in the checkout.")
    command = [sys.executable, "-m", "pytest", str(folder), "-o", "python_files=bench_*.py", "-s"]
    done = subprocess.run([*command, *(["-k", only] if only else [])], cwd=CHECKOUT, check=False)
    raise typer.Exit(done.returncode)
