"""`redwell export`: the results of a run, written again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from engine.cli.console import COMMAND_SETTINGS, counted, messages, one_line, output, shell_word, styled
from engine.cli.custody import SignOption, SignPassphraseFileOption, chosen_signer
from engine.cli.options import (
    BomOption,
    CaseArgument,
    ColumnsOption,
    ListsOption,
    OutOption,
    OverwriteOption,
    RunOption,
    find_run,
    split_columns,
)
from engine.cli.passwords import PasswordOption
from engine.cli.results_view import show_written
from engine.custody.manifest import with_manifests
from engine.documents.options import ParseOptions
from engine.errors import UsageError
from engine.executor.results import refuse_unknown
from engine.results.hidden import hidden_warning
from engine.results.network import NetworkChoice
from engine.results.network_files import network_format
from engine.worker.crossings import recorded
from engine.worker.exports import OutputOptions, row_ids, write_outs
from engine.worker.jobs import check_outs
from storage.case import Case
from storage.export.long_form import Form
from storage.export.reviews import ReviewOptions, Reviews

app = typer.Typer(**COMMAND_SETTINGS)

FormOption = Annotated[
    Form, typer.Option("--form", help="One row for each result (wide), or one for each place of evidence (long).")
]
ReviewsOption = Annotated[
    Reviews,
    typer.Option(
        "--reviews", help="Reviews: left out (none), in columns of their own (beside), corrected values (applied)."
    ),
]
DropRejectedOption = Annotated[bool, typer.Option("--drop-rejected", help="Leave out rows that were rejected.")]
RowsOption = Annotated[
    str,
    typer.Option(
        "--rows",
        metavar="1,4-7",
        help="Rows to write, by number in the table, or new: those that the last run of the question did not have. "
        "All if not given.",
    ),
]
TimelineOption = Annotated[
    str | None,
    typer.Option(
        "--timeline",
        metavar="COLUMN",
        help="Order the rows by the dates in this column, with the days between them; rows without a sure date come "
        "last and say why, rejected rows are left out.",
    ),
]
PeopleOption = Annotated[str, typer.Option("--people", metavar="A,B", help="For a network: columns that hold people.")]
OrganizationsOption = Annotated[
    str, typer.Option("--organizations", metavar="A,B", help="For a network: columns that hold organizations.")
]
ThingsOption = Annotated[
    str, typer.Option("--things", metavar="A,B", help="For a network: columns that hold other things.")
]
WithoutDocumentsOption = Annotated[
    bool, typer.Option("--without-documents", help="For a network: leave the documents out.")
]
DespiteChangesOption = Annotated[
    bool,
    typer.Option(
        "--despite-changes", help="Write also what differs from what was recorded, with a warning in every row."
    ),
]


@app.command()
def export(  # noqa: PLR0913, PLR0917 - one parameter per option
    case: CaseArgument,
    out: OutOption = None,
    run: RunOption = "",
    columns: ColumnsOption = "",
    bom: BomOption = False,
    lists: ListsOption = "json",
    form: FormOption = "wide",
    reviews: ReviewsOption = "none",
    drop_rejected: DropRejectedOption = False,
    rows: RowsOption = "",
    timeline: TimelineOption = None,
    people: PeopleOption = "",
    organizations: OrganizationsOption = "",
    things: ThingsOption = "",
    without_documents: WithoutDocumentsOption = False,
    despite_changes: DespiteChangesOption = False,
    sign: SignOption = None,
    sign_passphrase_file: SignPassphraseFileOption = None,
    password: PasswordOption = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Write the results of a run again, in any format.

    A .pdf is a report: each row with the pages of its evidence, the lines marked, and the ledger at the end. Beside
    each file stands a manifest of what it was made from (`redwell verify`). A .graphml or .ftm.json is a network of
    what stands in the same row, without the rows that were rejected.
    """
    outs = tuple(out or ())
    if not outs:
        raise UsageError("--out is missing", advice="Name the file to write: --out results.csv (or .xlsx, ...).")
    check_outs(outs, case=case)
    network = NetworkChoice(
        split_columns(people, "--people"),
        split_columns(organizations, "--organizations"),
        split_columns(things, "--things"),
        with_documents=not without_documents,
    )
    _check_network(network, outs)
    layout = OutputOptions(
        columns=split_columns(columns),
        bom=bom,
        lists=lists,
        form=form,
        reviews=ReviewOptions(reviews, drop_rejected),
        parse=ParseOptions(password=password),
        despite_changes=despite_changes,
        timeline=timeline,
        network=network,
        signer=chosen_signer(sign, sign_passphrase_file),
    )
    with Case(case, read_only=True) as opened:
        _write(opened, find_run(opened, run).id, outs, layout, rows, overwrite=overwrite)


def _write(
    case: Case, run_id: str, outs: tuple[Path, ...], layout: OutputOptions, rows: str, *, overwrite: bool
) -> None:
    _check_columns(case, run_id, layout.columns)
    if rows:
        layout = replace(layout, rows=row_ids(case, run_id, rows))
    if warning := hidden_warning(case, run_id, rows=layout.rows):
        messages().print(styled(("Note ", "bold yellow"), one_line(warning)), soft_wrap=True)
    with recorded(case, with_manifests(outs), overwrite=overwrite):
        table, written = write_outs(case, run_id, outs, layout)
    show_written(written)
    if table.ledger is not None and table.ledger.failed:
        failed = counted(table.ledger.failed, "item")
        output().print(
            f"{failed} of that run failed: `redwell ledger {shell_word(case.path)} --failed`", soft_wrap=True
        )


def _check_network(network: NetworkChoice, outs: tuple[Path, ...]) -> None:
    """Raise UsageError for choices about a network where none is written."""
    if network != NetworkChoice() and not any(map(network_format, outs)):
        raise UsageError(
            "--people, --organizations, --things and --without-documents are for a network, and none is written",
            advice="Name one with --out: FILE.graphml or FILE.ftm.json.",
        )


def _check_columns(case: Case, run_id: str, columns: tuple[str, ...]) -> None:
    results = case.runs.results(run_id) if columns else None
    if results is None or not results.row_ids:
        return
    refuse_unknown(columns, list(dict.fromkeys(key for row in case.result_rows.read(run_id) for key in row.values)))
