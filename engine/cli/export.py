"""`redwell export`: the results of a run, written again."""

from __future__ import annotations

import typer

from engine.cli.console import counted, output, styled
from engine.cli.options import (
    BomOption,
    CaseArgument,
    ColumnsOption,
    ListsOption,
    OutOption,
    RunOption,
    find_run,
    split_columns,
)
from engine.cli.settings import COMMAND_SETTINGS
from engine.errors import UsageError
from engine.worker.jobs import OutputOptions, check_outs, write_outs
from storage.case import Case

app = typer.Typer(**COMMAND_SETTINGS)


@app.command()
def export(
    case: CaseArgument,
    out: OutOption = None,
    run: RunOption = "",
    columns: ColumnsOption = "",
    bom: BomOption = False,
    lists: ListsOption = "json",
) -> None:
    """Write the results of a run again, in any format."""
    outs = tuple(out or ())
    if not outs:
        raise UsageError("--out is missing", advice="Name the file to write: --out results.csv (or .xlsx, ...).")
    check_outs(outs, case=case)
    layout = OutputOptions(split_columns(columns), bom, lists)
    with Case(case, read_only=True) as opened:
        run_id = find_run(opened, run).id
        _check_columns(opened, run_id, layout.columns)
        table, written = write_outs(opened, run_id, outs, layout)
    console = output()
    for file in written:
        console.print(styled(("Written ", "bold"), f"{file.path}, {counted(file.rows, 'row')}"), soft_wrap=True)
        for note in file.notes:
            console.print(f"        {note}", soft_wrap=True)
    if table.ledger is not None and table.ledger.failed:
        console.print(f"{counted(table.ledger.failed, 'item')} of that run failed: `redwell ledger {case} --failed`")


def _check_columns(case: Case, run_id: str, columns: tuple[str, ...]) -> None:
    results = case.results(run_id)
    if results is None or not results.row_ids:
        return
    there = list(dict.fromkeys(key for row_id in results.row_ids for key in case.row(run_id, row_id).values))
    unknown = [column for column in columns if column not in there]
    if unknown:
        raise UsageError(f"no result has the column {unknown[0]!r}", advice=f"Columns: {', '.join(there)}.")
