"""Convert an error to what the window shows."""

from __future__ import annotations

import traceback

from engine.errors import OutsideBorders
from engine.worker.contract.events import CommandFailed
from engine.worker.exit_codes import USER_ERRORS, exit_code_of, refusal


def failure_of(id: str, command: str, error: Exception, *, what: str) -> CommandFailed:
    """Tell what a user can mend, and a refusal of the system by the file and what it said.

    Anything else is a defect, with its trace on stderr; `what` names in a sentence what it stopped: "the run", or a
    question.
    """
    if isinstance(error, OSError) and error.strerror:
        error = refusal(error)
    if isinstance(error, USER_ERRORS):
        need, path = (error.need, str(error.path)) if isinstance(error, OutsideBorders) else ("", "")
        return CommandFailed(id, command, str(error), error.advice, exit_code_of(error), need, path)
    traceback.print_exception(error)
    message = f"a defect of Redwell stopped {what}: {type(error).__name__}: {error}"
    return CommandFailed(id, command, message, "Please report it; the trace is in the log.", 1)
