"""`redwell review`: what people said of the results of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from engine.cli.console import COMMAND_SETTINGS, counted, one_line, output, shortened, styled
from engine.cli.options import CaseArgument, OverwriteOption, RunOption, find_run
from engine.cli.results_view import plain_table
from engine.results.doubt import doubt_of
from engine.results.gold import check_gold_name, write_gold
from engine.results.table import ResultView, Selection, result_view
from engine.results.values import shown
from engine.worker.crossings import recorded
from storage.case import Case
from storage.reviewed import NO_REVIEW

app = typer.Typer(**COMMAND_SETTINGS)

_CHARACTERS = 60


@app.command()
def review(
    case: CaseArgument,
    run: RunOption = "",
    doubtful: Annotated[
        int, typer.Option("--doubtful", metavar="N", min=0, help="List N rows to look at first, and why.")
    ] = 0,
    gold: Annotated[
        Path | None,
        typer.Option("--gold", metavar="FILE.jsonl", help="Write the reviewed rows, corrected, as gold answers."),
    ] = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Show what people said of the results of a run: rows accepted, corrected and rejected, and their notes."""
    if gold is not None:
        check_gold_name(gold)
    console = output()
    with Case(case, read_only=True) as opened:
        run_id = find_run(opened, run).id
        view = result_view(opened, run_id)
        console.print(_summary(view, run_id))
        if any(judged != NO_REVIEW for judged in view.reviews.values()):
            console.print(_table(view))
        if doubtful:
            console.print(_doubtful(view, doubtful))
        if view.unplaced:
            console.print(f"{counted(view.unplaced, 'row')} reviewed in earlier runs, but not in this one.")
        if gold is not None:
            with recorded(opened, [gold], overwrite=overwrite):
                rows = write_gold(opened, run_id, gold)
            console.print(styled(("Written ", "bold"), f"{gold}, {counted(rows, 'row')}"), soft_wrap=True)


def _summary(view: ResultView, run_id: str) -> Any:
    verdicts = [judged.verdict for judged in view.reviews.values()]
    counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in ("accepted", "corrected", "rejected"))
    return styled(
        (f"Run {run_id}: ", "bold"), f"{view.reviewed:,} of {counted(len(view.rows), 'row')} reviewed; {counts}"
    )


def _table(view: ResultView) -> Table:
    table = plain_table("row", "verdict", "what", "note")
    for number, judged in view.reviews.items():
        if judged == NO_REVIEW:  # all that was said of it was taken back
            continue
        original = view.rows[number].values
        changes = (
            f"{column}: {shown(original.get(column))} -> {shown(cell.value)}"
            for column, cell in judged.cells.items()
            if cell.is_replaced
        )
        what = shortened(one_line("; ".join(changes)), _CHARACTERS)
        table.add_row(str(number + 1), judged.verdict, what, shortened(one_line(judged.note), _CHARACTERS))
    return table


def _doubtful(view: ResultView, most: int) -> Table:
    """List the rows that nobody has judged yet and most speaks against, as the window orders them."""
    table = plain_table("row", "column", "why")
    chosen = view.select(Selection(only_unreviewed=True, least_agreed_first=True))
    for number in chosen[:most]:
        doubt = doubt_of(view.values[number], view.rows[number].not_located)
        reasons = {**{name: "not located" for name in sorted(view.rows[number].not_located)}, **doubt.cells}
        for place, (column, why) in enumerate(reasons.items()):
            table.add_row("" if place else str(number + 1), one_line(column), one_line(why))
    return table
