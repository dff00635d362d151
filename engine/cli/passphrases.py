"""Passphrases of encrypted cases on the command line: from the environment, a file, or a person at the terminal."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from engine.cli.console import messages, shell_word
from engine.errors import UsageError
from storage import passphrases
from storage.errors import BadPassphrase

MOST_ANSWERS = 3


def take_file(path: Path | None) -> None:
    """Use the passphrase in a file for every case of this command. Raises BadPassphrase."""
    if path is not None:
        passphrases.give_for_all(passphrases.read_passphrase_file(path))


CasePassphraseFileOption = Annotated[
    Path | None,
    typer.Option(
        "--case-passphrase-file",
        metavar="FILE",
        help="A file with the passphrase of an encrypted case, in place of REDWELL_CASE_PASSPHRASE or of being asked.",
        callback=take_file,
        expose_value=False,
        show_default=False,
    ),
]
NewPassphraseFileOption = Annotated[
    Path | None,
    typer.Option(
        "--new-passphrase-file",
        metavar="FILE",
        help="A file with the new passphrase; asked for on a terminal if not given.",
        show_default=False,
    ),
]


def begin() -> None:
    """Take the variable of the environment over, and ask where somebody sits at a terminal."""
    passphrases.take_from_environment()
    passphrases.ask_with(_ask if has_terminal() else None)


def add_option(command: Any) -> None:
    """Give a command that takes a case, and each such one of a group, the option --case-passphrase-file."""
    for each in (command, *getattr(command, "commands", {}).values()):
        if any(parameter.name == "case" for parameter in each.params):
            each.params += options_of(_holder)


def current_passphrase(case: Path) -> str:
    """Return the passphrase that a case has now, asking for it where it is not known. Raises UsageError."""
    known = passphrases.passphrase_of(case) or passphrases.ask(case, again=False)
    if known is None:
        raise UsageError(
            f"the passphrase of {case} is missing",
            advice="Put it into REDWELL_CASE_PASSPHRASE, name its file with --case-passphrase-file, or use a terminal.",
        )
    return known


def new_passphrase(
    file: Path | None, *, option: str = "--new-passphrase-file", lost: str = "everything in the case is lost"
) -> str:
    """Return a new passphrase from a file, or typed twice. Raises BadPassphrase or UsageError.

    `option` names such a file, and `lost` says what it means to forget the passphrase.
    """
    if file is not None:
        return passphrases.check_new(passphrases.read_passphrase_file(file))
    if not has_terminal():
        raise UsageError("the new passphrase is missing", advice=f"Name a file that holds it with {option}.")
    messages().print(f"Nobody can recover a passphrase that is forgotten: without it, {lost}.", soft_wrap=True)
    return _insist(_ask_twice)


def _ask_twice() -> str:
    first = passphrases.check_new(getpass.getpass("New passphrase: ", sys.stderr))
    if passphrases.normal(getpass.getpass("New passphrase again: ", sys.stderr)) != first:
        raise BadPassphrase("the two passphrases are not the same", advice="Type both again.")
    return first


def _insist(ask: Callable[[], str]) -> str:
    for _ in range(MOST_ANSWERS - 1):
        try:
            return ask()
        except BadPassphrase as error:
            messages().print(" ".join(filter(None, (f"{error}.".capitalize(), error.advice))), soft_wrap=True)
    return ask()


def _ask(case: Path, again: bool) -> str | None:
    if again:
        messages().print("That passphrase does not open it. Check capital letters and the keyboard layout.")
    try:
        return getpass.getpass(f"Passphrase of {shell_word(case)}: ", sys.stderr) or None
    except EOFError:
        return None


def has_terminal() -> bool:
    """Say whether a person may be asked."""
    return sys.stdin is not None and sys.stdin.isatty()


def _holder(case_passphrase_file: CasePassphraseFileOption = None) -> None:
    """Hold the option."""


def options_of(holder: Callable[..., None]) -> list[Any]:
    """Make the options that a function takes, as Typer does."""
    app = typer.Typer(add_completion=False)
    app.command()(holder)
    return list(typer.main.get_command(app).params)
