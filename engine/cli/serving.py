"""The worker as the window starts it: `redwell worker` without the command line, which takes as long to read again."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from engine.fencing import begin
from engine.worker.exit_codes import INTERRUPTED
from engine.worker.session import serve
from storage import passphrases

if TYPE_CHECKING:
    from engine.worker.model_choice import Models


def local_models() -> Models:
    """Return the models of this machine; what knows them is read when it is asked."""
    from engine.cli.local_models import LocalModels  # noqa: PLC0415

    return LocalModels()


def run() -> None:
    """Serve commands on stdin, and exit with the worker's code."""
    begin(sys.argv[1:])
    passphrases.take_from_environment()
    os.environ.pop("REDWELL_PASSWORD", None)  # for the command line; no child is to inherit it
    passphrases.ask_with(None)  # who speaks to a worker says `unlock`
    try:
        code = serve(local_models)
    except KeyboardInterrupt:  # in a terminal, it reaches the window and all its children
        code = INTERRUPTED
    sys.exit(code)
