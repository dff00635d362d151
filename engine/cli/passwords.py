"""The password of encrypted documents on the command line: from a file, the environment, or a person at the terminal.

Not from the command line itself: every user of the machine sees it in the list of processes, and shells keep it.
"""

from __future__ import annotations

import getpass
import os
import sys
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from engine.cli.passphrases import has_terminal, options_of
from engine.errors import UsageError
from storage.passphrases import read_passphrase_file

VARIABLE: Final = "REDWELL_PASSWORD"

_given: dict[str, str] = {}
"""By where it comes from: VARIABLE, or "asked"."""


def begin() -> None:
    """Take the variable over and out of the environment, so that no child process inherits it."""
    _given.clear()
    if password := os.environ.pop(VARIABLE, ""):
        _given[VARIABLE] = password


def _take(file: str | None) -> str | None:
    """Return the password: from the file, as it was typed, or from the environment. Raises UsageError."""
    if file is not None and "asked" in _given:
        raise UsageError("--password-file and --ask-password are two ways to say it", advice="Give one of them.")
    if file is not None:
        return read_passphrase_file(Path(file), "password")
    return _given.get("asked") or _given.get(VARIABLE)


def _ask(wanted: bool) -> None:
    if not wanted:
        return
    if not has_terminal():
        raise UsageError(
            "there is no terminal to type the password at", advice="Name a file that holds it with --password-file."
        )
    _given["asked"] = getpass.getpass("Password of the documents: ", sys.stderr)


def _refuse(value: str | None) -> None:
    if value is not None:
        raise UsageError(
            "a password is not taken from the command line: every user of this machine sees it in the list of "
            "processes, and the shell keeps it",
            advice=f"Name a file that holds it with --password-file, type it with --ask-password, or set {VARIABLE}.",
        )


PasswordOption = Annotated[
    str | None,  # the name of a file, which the callback makes a password of
    typer.Option(
        "--password-file",
        metavar="FILE",
        help=f"A file with the password of encrypted documents, in place of {VARIABLE}.",
        callback=_take,
        show_default=False,
    ),
]
_AskOption = Annotated[
    bool,
    typer.Option(
        "--ask-password",
        help="Ask for the password of encrypted documents.",
        callback=_ask,
        expose_value=False,
        is_eager=True,
    ),
]
_RefusedOption = Annotated[
    str | None, typer.Option("--password", hidden=True, callback=_refuse, expose_value=False, is_eager=True)
]


def add_options(command: Any) -> None:
    """Give a command that takes a password the other ways to give it, and one that is refused."""
    if any(parameter.name == "password" for parameter in command.params):
        command.params += options_of(_holder)


def _holder(ask_password: _AskOption = False, refused_password: _RefusedOption = None) -> None:
    """Hold the options."""
