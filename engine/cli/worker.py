"""`redwell worker`: the engine behind the desktop app, a child process that speaks JSON lines."""

from __future__ import annotations

import typer

from engine.cli.console import COMMAND_SETTINGS
from engine.cli.options import NetworkOption
from engine.cli.serving import local_models
from engine.worker.jobs import NewModels
from engine.worker.session import serve
from storage import passphrases

app = typer.Typer(**COMMAND_SETTINGS)

new_models: NewModels = local_models
"""Makes the models of a run; tests put scripted ones here."""


@app.command()
def worker(*, network: NetworkOption = False) -> None:
    """Serve the desktop app: commands on stdin and events on stdout, one JSON object a line.

    engine/worker/commands.py lists the commands. It ends when stdin does.
    """
    passphrases.ask_with(None)  # who speaks to a worker says `unlock`
    raise typer.Exit(serve(new_models))
