"""`redwell doctor`: what works on this machine and what to install."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from engine.cli.console import COMMAND_SETTINGS, messages, one_line, output, styled
from engine.cli.models_view import show_rates
from engine.errors import UsageError
from engine.worker.health import all_checks, is_helpful
from models.check import Check

app = typer.Typer(**COMMAND_SETTINGS)


@app.command()
def doctor(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="With --measure: which model; the default one if not given.")
    ] = "",
    measure: Annotated[
        bool, typer.Option("--measure", help="Measure how fast the model reads and writes, for `redwell explain`.")
    ] = False,
) -> None:
    """See what works on this machine and what to install.

    Takes some seconds: a model answers once and a picture is read. The exit code is 3 if something needed is missing.
    """
    if measure:
        show_rates(model)
        return
    if model:
        raise UsageError(f"doctor measures {model} only with --measure", advice="Add --measure, or leave it out.")
    console = output()
    with messages().status("looking at this machine …"):
        checks = all_checks()
    table = Table.grid(padding=(0, 2, 0, 0))
    for _ in range(3):
        table.add_column(overflow="fold")
    for check in checks:
        table.add_row(*_row(check))
    console.print(table)
    missing = [check for check in checks if not check.ok and not is_helpful(check)]
    verdict = f"{len(missing)} needed: {', '.join(check.name for check in missing)}" if missing else "Redwell can run."
    console.print(styled((verdict, "bold red" if missing else "bold green")))
    raise typer.Exit(3 if missing else 0)


def _row(check: Check) -> tuple[Text, Text, Text]:
    is_note = is_helpful(check)
    mark = ("ok", "green") if check.ok else (("note", "yellow") if is_note else ("missing", "bold red"))
    text = styled(one_line(check.detail))
    if check.advice:
        text.append("\n").append(one_line(check.advice), "bold")
    return styled(mark), styled(check.name), text
