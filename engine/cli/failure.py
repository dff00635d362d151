"""How errors that a user can mend are shown: what failed, then what to do."""

from __future__ import annotations

from engine.cli.console import messages, styled, visible
from engine.worker.exit_codes import UserError


def show_error(error: UserError) -> None:
    """Print the message, and what to do, to stderr."""
    show_problem("error", str(error), error.advice)


def show_problem(what: str, message: str, advice: str = "", *, style: str = "bold red") -> None:
    """Print one problem to stderr in the same form as errors."""
    console = messages()
    console.print(styled((f"{what}: ", style), visible(message)), soft_wrap=not console.is_terminal)
    if advice:
        console.print(styled(("what to do: ", "bold"), visible(advice)), soft_wrap=not console.is_terminal)
