"""Results written to files: tables in every format, and reports with pictures of the pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from engine.custody.guard import change_warning, refuse_changes, with_warning
from engine.custody.keys import SigningKey, sign_manifest
from engine.custody.manifest import manifest_path, write_manifest
from engine.documents.options import ParseOptions
from engine.errors import UsageError
from engine.results.network import NetworkChoice, NetworkRow, make_network
from engine.results.network_files import network_format, write_network
from engine.results.same_question import new_rows
from engine.results.timeline import choose_dates, timeline_table
from engine.worker.report import REPORT_SUFFIX, write_report
from storage.case import Case
from storage.export.assemble import file_names, result_table
from storage.export.cells import Lists
from storage.export.csv import CsvOptions
from storage.export.files import check_suffix, write_table
from storage.export.long_form import Form, long_form
from storage.export.reviews import ReviewOptions
from storage.export.table import ResultTable

Told = Callable[[int, int, str], None]
"""Hears how much of how much is done, and of what; it may raise to stop the work."""


@dataclass(frozen=True, slots=True)
class OutputOptions:
    """How results are written. `columns` empty means the usual ones; `lists` as in storage.export.cells.

    `table` names the table of a database, empty for the usual name. `form` and `reviews` are those of storage.export.
    `rows` are the ids of the rows to write, None for all. `parse` opens encrypted files for pictures of their pages.
    `despite_changes`: write also what differs from what was recorded, with a warning in it. `signer` signs manifests.
    `timeline` orders the rows by the dates of this column (empty: the first that holds dates), without those that were
    rejected (engine.results.timeline); None for the order of the run. `network` says what one is made of, for the
    formats of a network (engine.results.network_files), which have no row that was rejected either.
    """

    columns: tuple[str, ...] = ()
    bom: bool = False
    lists: Lists = "json"
    table: str = ""
    form: Form = "wide"
    reviews: ReviewOptions = ReviewOptions()
    rows: frozenset[str] | None = None
    parse: ParseOptions = ParseOptions()
    despite_changes: bool = False
    signer: SigningKey | None = None
    timeline: str | None = None
    network: NetworkChoice = NetworkChoice()

    @property
    def layout(self) -> dict[str, Any]:
        """Say how the rows were laid out and which they are, for the manifest."""
        chosen = {"columns": list(self.columns) or "usual", "rows": "all" if self.rows is None else "chosen"}
        reviews = {"reviews": self.reviews.reviews, "drop_rejected": self.reviews.drop_rejected}
        order = {} if self.timeline is None else {"timeline": self.timeline or "usual"}
        return {"form": self.form, **reviews, **chosen, **order}


@dataclass(frozen=True, slots=True)
class Written:
    """One results file, and the notes that a person should see."""

    path: Path
    rows: int
    notes: tuple[str, ...]


class ExportStopped(Exception):
    """Raised by what is told of progress, where the work is to stop; nothing half-written is left."""


def check_format(out: Path) -> None:
    """Raise ExportError if the suffix names no format of a table, nor a report or a network."""
    if out.suffix.lower() != REPORT_SUFFIX and not network_format(out):
        check_suffix(out, (REPORT_SUFFIX,))


def write_outs(
    case: Case,
    run_id: str,
    outs: Sequence[Path],
    output: OutputOptions,
    told: Told = lambda done, total, what: None,
) -> tuple[ResultTable, list[Written]]:
    """Write the results of a run to each file; return the table too, one row for each result.

    Raises CustodyBroken where something differs from what was recorded, ExportError, DiskFull, DocumentError or
    NotInCase, and what `told` raises.
    """
    networks = [out for out in outs if network_format(out)]
    if networks:
        output.network.check(case.result_rows.columns(run_id))
    if output.timeline is not None or networks:
        output = replace(output, reviews=replace(output.reviews, drop_rejected=True))
    warning = change_warning(case.seals, run_id, only=output.rows, reviews=output.reviews != ReviewOptions())
    if not output.despite_changes:
        refuse_changes(case, warning)
    table = result_table(
        case,
        run_id,
        columns=output.columns or None,
        reviews=output.reviews,
        only=output.rows,
        told=lambda done, total: told(done, total, "rows"),
    )
    network_rows = _network_rows(case, run_id, table) if networks else []
    if output.timeline is not None:
        table = timeline_table(table, choose_dates(output.timeline, table.columns, [row.values for row in table.rows]))
    if warning:
        table = with_warning(table, warning)
    shaped = long_form(table) if output.form == "long" else table
    options = CsvOptions(bom=output.bom, lists=output.lists)
    written, warnings = [], (warning,) if warning else ()
    for number, out in enumerate(outs):
        if out.suffix.lower() == REPORT_SUFFIX:
            notes = write_report(case, run_id, table, out, output.parse, lambda done, total: told(done, total, "pages"))
            rows = len(table.rows)
        elif out in networks:
            rows, notes = len(network_rows), (*table.notes, _write_network(case, network_rows, out, output.network))
        else:
            told(number, len(outs), "files")
            notes = write_table(shaped, out, csv_options=options, sqlite_table=output.table)
            rows = len(shaped.rows)
        notes = (*notes, *write_manifest(case, run_id, out, rows=rows, layout=output.layout, warnings=warnings))
        if output.signer is not None:
            signed = sign_manifest(manifest_path(out), output.signer)
            notes = (*notes, f"signed: {signed.name}")
        written.append(Written(out, rows, notes))
    return table, written


def _network_rows(case: Case, run_id: str, table: ResultTable) -> list[NetworkRow]:
    documents = {row.id: row.documents for row in case.result_rows.read(run_id)}
    return [NetworkRow(row.id, row.values, documents[row.id]) for row in table.rows]


def _write_network(case: Case, rows: Sequence[NetworkRow], out: Path, choice: NetworkChoice) -> str:
    """Write a network; return a note that says how large it is."""
    network = make_network(rows, choice)
    write_network(network, file_names(case.documents), out)
    return f"{len(network.nodes):,} nodes and {len(network.links):,} links"


def row_ids(case: Case, run_id: str, numbers: str) -> frozenset[str]:
    """Read numbers of rows as people write them, `1,4-7` as in the table, or `new`; raises UsageError.

    `new` are those that the last run of the question had not.
    """
    if numbers.strip() == "new":
        new = new_rows(case, run_id)
        if new is None:
            raise UsageError(
                "--rows new: the question was not run to its end before", advice="Leave --rows out: all rows are new."
            )
        return new
    total = case.result_rows.count(run_id)
    wanted: set[int] = set()
    for part in numbers.split(","):
        first, dash, last = part.strip().partition("-")
        ends = (first, last if dash else first)
        if not all(end.strip().isdecimal() for end in ends) or not 1 <= int(ends[0]) <= int(ends[1]) <= total:
            raise UsageError(
                f"--rows {numbers}: {part!r} names no rows", advice=f"Rows: 1 to {total}, written like 1,4-7."
            )
        wanted |= set(range(int(ends[0]) - 1, int(ends[1])))
    return frozenset(row.id for row in case.result_rows.read(run_id, numbers=sorted(wanted)))
