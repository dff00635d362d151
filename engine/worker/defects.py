"""What the window is told of an error that nobody foresaw."""

from __future__ import annotations

import traceback

from engine.worker.contract.events import CommandFailed

_ENVIRONMENT = 3
"""The exit code of what this machine refuses."""


def failure_of(id: str, command: str, error: Exception, *, what: str) -> CommandFailed:
    """Tell a refusal of the system by the file and what it said; anything else is a defect, with its trace on stderr.

    `what` names in a sentence what was stopped: "the run", or a question.
    """
    if isinstance(error, OSError) and error.strerror:
        place = f"{error.filename}: " if error.filename is not None else ""
        advice = "Check the path, that you may use what is there, and that the disk has room."
        return CommandFailed(id, command, f"{place}{error.strerror}", advice, _ENVIRONMENT)
    traceback.print_exception(error)
    message = f"a defect of Redwell stopped {what}: {type(error).__name__}: {error}"
    return CommandFailed(id, command, message, "Please report it; the trace is in the log.", 1)
