"""`redwell desktop`: the window, a process of its own."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from engine.cli.options import NetworkOption
from engine.cli.settings import COMMAND_SETTINGS
from engine.errors import EnvironmentMissing
from storage import passphrases

app = typer.Typer(**COMMAND_SETTINGS)


@app.command()
def desktop(
    case: Annotated[Path | None, typer.Argument(metavar="[CASE]", help="A case to open.", show_default=False)] = None,
    *,
    network: NetworkOption = False,
) -> None:
    """Open the window: drop a folder, watch it being read, look at every page."""
    if importlib.util.find_spec("PySide6") is None:
        raise EnvironmentMissing("the library PySide6 is not installed", advice="Run `make setup`.")
    # -P: a folder named desktop in the current folder is not what is meant.
    known = passphrases.passphrase_of(case) if case else None
    options = [*(["--network"] if network else []), *(["--passphrase-on-stdin"] if known else [])]
    command = [sys.executable, "-P", "-m", "desktop", *options, *([str(case)] if case else [])]
    # Through a pipe, for others can read the environment and the command line of a process.
    stdin = f"{known}\n".encode() if known else None
    raise typer.Exit(subprocess.run(command, input=stdin, check=False).returncode)
