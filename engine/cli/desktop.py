"""`redwell desktop`: the window."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from engine.cli.console import COMMAND_SETTINGS
from engine.cli.options import NetworkOption
from engine.errors import EnvironmentMissing
from storage import passphrases

app = typer.Typer(**COMMAND_SETTINGS)


@app.command()
def desktop(
    case: Annotated[Path | None, typer.Argument(metavar="CASE", help="A case to open.", show_default=False)] = None,
    *,
    network: NetworkOption = False,
) -> None:
    """Open the window: drop a folder, watch it being read, look at every page."""
    if importlib.util.find_spec("PySide6") is None:
        raise EnvironmentMissing(
            "the library PySide6 is not installed", advice="Install Redwell again (from source: `make setup`)."
        )
    # -P: a folder named desktop in the current folder is not what is meant.
    known = passphrases.passphrase_of(case) if case else None
    options = [*(["--network"] if network else []), *(["--passphrase-on-stdin"] if known else [])]
    command = [sys.executable, "-P", "-m", "desktop", *options, *([str(case)] if case else [])]
    _become(command, f"{known}\n".encode() if known else b"")


def _become(command: list[str], stdin: bytes) -> None:
    """Go on as another program: what ends this one (a signal, a closed terminal) then ends the window.

    What it is told comes through a pipe, for others can read the environment and the command line of a process.
    """
    if sys.platform == "win32":  # a program that becomes another ends there, for the one who waits for it
        raise typer.Exit(subprocess.run(command, input=stdin or None, check=False).returncode)
    if stdin:
        reading, writing = os.pipe()
        os.write(writing, stdin)  # a pipe holds 64 KiB, a passphrase is shorter
        os.close(writing)
        os.dup2(reading, 0)
        os.close(reading)
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(command[0], command)
