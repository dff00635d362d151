"""The program `redwell`: one line per command here, one module each beside it, imported when it is called."""

from __future__ import annotations

import importlib
import importlib.metadata
import sys
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from engine.cli import passphrases, passwords
from engine.cli.console import COMMAND_SETTINGS, messages, one_line, show_error, write_every_character
from engine.disk import private_umask
from engine.fencing import begin
from engine.worker.exit_codes import INTERRUPTED, USER_ERRORS, exit_code_of, refusal
from storage import upgrade_notice


@dataclass(frozen=True, slots=True)
class Entry:
    """One command: `help` is the line that `redwell --help` shows without loading it.

    `module` holds its Typer `app`, "" for the one of its name here.
    """

    name: str
    help: str
    module: str = ""


COMMANDS = (
    Entry("ask", "Ask a folder of records a question in plain words; show and write the table."),
    Entry("run", "Run a pipeline over a folder of records; show and write the table."),
    Entry("new", "Write a pipeline to begin with; without arguments, list the templates."),
    Entry("check", "Check a pipeline without running it: every problem with its line."),
    Entry("explain", "Show how a pipeline will run and how long it will take, without running it."),
    Entry("build", "Look for better ways to ask a pipeline's question, on a sample of your documents."),
    Entry("ingest", "Read a folder into a case, without a model."),
    Entry("export", "Write the results of a run again, in any format."),
    Entry("verify", "Check an export against its manifest: sources, custody log, signature."),
    Entry("custody", "Show the custody log of a case; make keys that sign, add timestamps."),
    Entry("rerun", "Run a pipeline again on the same documents; report row by row what differs."),
    Entry("review", "Show what was reviewed, or write it as right answers (gold) to test against."),
    Entry("trace", "Show the lines of the records that a cell of the table comes from."),
    Entry("ledger", "Show what became of every file and every row."),
    Entry("search", "Find words in the records of a case."),
    Entry("case", "Check, back up, repair or encrypt a case; take documents out of it."),
    Entry("models", "List, install, add, check and remove the models on this machine."),
    Entry("doctor", "See what works on this machine and what to install."),
    Entry("desktop", "Open the window: drop a folder, watch it being read, see every page."),
    Entry("worker", "Serve the desktop app: commands and events as JSON lines."),
    Entry("eval", "Score the pipelines of a sample case by its gold answers.", "engine.cli.evaluate"),
    Entry("bench", "Run the benchmarks of a source checkout."),
)


class CommandTable(TyperGroup):
    """Knows every command by its help line and imports a command's module only to run it.

    That keeps the start below half a second, however heavy the commands are.
    """

    entries: tuple[Entry, ...] = COMMANDS

    def __init__(self, **settings: Any) -> None:
        settings["commands"] = {entry.name: TyperCommand(entry.name, help=entry.help) for entry in self.entries}
        super().__init__(**settings)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Load the command that the first argument names."""
        name, _, rest = super().resolve_command(ctx, args)
        entry = next(entry for entry in self.entries if entry.name == name)
        command = typer.main.get_command(importlib.import_module(entry.module or f"engine.cli.{name}").app)
        command.name = name
        passphrases.add_option(command)
        passwords.add_options(command)
        return name, command, rest

    def invoke(self, ctx: Any) -> Any:
        """Run a command; what a user can mend is said in two lines, a defect of ours keeps its traceback.

        So is what the system refuses, such as a path that is too long. That nobody reads the output is no such thing.
        """
        passphrases.begin()
        upgrade_notice.tell_with(_say_upgraded)
        passwords.begin()
        try:
            return super().invoke(ctx)
        except USER_ERRORS as error:
            show_error(error)
            raise typer.Exit(exit_code_of(error)) from error
        except OSError as error:
            if isinstance(error, ConnectionError) or not error.strerror:
                raise
            refused = refusal(error)
            show_error(refused)
            raise typer.Exit(refused.exit_code) from error
        except (KeyboardInterrupt, typer.Abort):
            messages().print("stopped")
            raise typer.Exit(INTERRUPTED) from None


app = typer.Typer(
    name="redwell",
    cls=CommandTable,
    help="Read thousands of sensitive pages on your own machine: a folder of records in, a table out in which "
    "every cell opens its page.",
    no_args_is_help=True,
    **COMMAND_SETTINGS,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _say_upgraded(upgraded: upgrade_notice.Upgraded) -> None:
    text = f"{upgraded.case} is of an earlier version and was upgraded; {upgraded.backup} is a copy of it as it was."
    messages().print(one_line(text), soft_wrap=True)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"redwell {_version()}")
        raise typer.Exit


def _version() -> str:
    try:
        return importlib.metadata.version("redwell")
    except importlib.metadata.PackageNotFoundError:
        return "(a source checkout that is not installed)"


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Hold the options that stand before a command."""


def run() -> None:
    """Run the command line and exit with its code: 0 done, 1 some items failed, 2 usage, 3 environment."""
    private_umask()
    write_every_character()
    begin(sys.argv[1:])
    app(prog_name="redwell")
