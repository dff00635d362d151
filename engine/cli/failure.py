"""Errors that a user can mend: how they are shown, and the exit code each gives."""

from __future__ import annotations

from engine.cli.console import messages, styled, visible
from engine.errors import RedwellError
from models.errors import ModelError
from storage.errors import StorageError

INTERRUPTED = 130
"""Exit code after Ctrl-C: 128 + the number of SIGINT."""

USER_ERRORS = (RedwellError, StorageError, ModelError)


def exit_code_of(error: RedwellError | StorageError | ModelError) -> int:
    """Return 1 for failed items, 2 for usage and configuration, 3 for what this machine lacks."""
    if isinstance(error, RedwellError):
        return error.exit_code
    if isinstance(error, StorageError):
        return 3 if error.is_environment else 2
    return 3


def show_error(error: RedwellError | StorageError | ModelError) -> None:
    """Print the message, and what to do, to stderr."""
    show_problem("error", str(error), error.advice)


def show_problem(what: str, message: str, advice: str = "", *, style: str = "bold red") -> None:
    """Print one problem to stderr in the same form as errors."""
    console = messages()
    console.print(styled((f"{what}: ", style), visible(message)), soft_wrap=not console.is_terminal)
    if advice:
        console.print(styled(("what to do: ", "bold"), visible(advice)), soft_wrap=not console.is_terminal)
