"""The rows of a run by date; rows that a reviewer rejected are left out, as in charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.errors import UsageError
from engine.results.table import ALL_ROWS, Selection, result_view
from engine.results.timeline import choose_dates, date_columns, make_timeline, timeline_table
from engine.results.values import shown
from engine.worker.contract import timeline as contract
from engine.worker.contract.timeline import ShownEntry, ShownTimeline
from engine.worker.queries.charts import counted
from engine.worker.queries.registry import query
from models.paths import expanded
from storage.case import Case
from storage.evidence import EvidenceRecord
from storage.export.assemble import file_names, result_table
from storage.export.files import write_table
from storage.export.reviews import ReviewOptions

MOST_ENTRIES = 2000
"""Dates, and texts that are no sure date, in one answer; a table that is saved has all."""
MOST_TEXT = 300


@query(contract.SHOW, lane="slow")
def show(case: Case, *, run: str, column: str = "", label: str = "", only: Selection = ALL_ROWS) -> ShownTimeline:
    """Order the rows by the dates of a column, the first that holds dates if none is named; `label` names the rows."""
    view = result_view(case, run)
    columns = date_columns(view.columns, view.values)
    if label:
        view.check_column(label)
    chosen = choose_dates(column, view.columns, view.values) if column or columns else ""
    if not chosen:
        return ShownTimeline("", (), (), (), 0, 0)
    timeline = make_timeline(((view.rows[n].id, view.cell(n, chosen)) for n in view.select(counted(only))), chosen)
    evidence = case.evidence.of_column(run, chosen)
    files = file_names(case.documents)
    numbers = {row.id: row.number for row in view.rows}

    def described(row: str, path: str) -> tuple[int, str, str]:
        number = numbers[row]
        text = shown(view.cell(number, label))[:MOST_TEXT] if label else ""
        return number, text, _place(evidence.get(row, ()), path, view.rows[number].documents, files)

    entries = []
    for entry in timeline.entries[:MOST_ENTRIES]:
        number, text, place = described(entry.row, entry.path)
        entries.append(
            ShownEntry(entry.row, number + 1, entry.path, entry.date, entry.gap_days, entry.gap, text, "", place)
        )
    undated = []
    for each in timeline.undated[:MOST_ENTRIES]:
        number, text, place = described(each.row, each.path)
        reason = f"{each.text[:MOST_TEXT]}: {each.reason}" if each.text else each.reason
        undated.append(ShownEntry(each.row, number + 1, each.path, "", 0, "", text, reason, place))
    return ShownTimeline(
        column=chosen,
        columns=columns,
        entries=tuple(entries),
        undated=tuple(undated),
        other_entries=len(timeline.entries) - len(entries),
        other_undated=len(timeline.undated) - len(undated),
    )


@query(contract.SAVE, lane="slow")
def save(case: Case, *, run: str, column: str, file: str, only: Selection = ALL_ROWS) -> int:
    """Write the rows by date as a table, corrected, in the format that the suffix names; return its rows."""
    view = result_view(case, run)
    view.check_column(column)
    rows = {view.rows[number].id for number in view.select(counted(only))}
    if not rows:
        raise UsageError("there is no row to write", advice="Show all rows again with Ctrl+Shift+E.")
    table = result_table(case, run, reviews=ReviewOptions("applied", drop_rejected=True), only=rows)
    ordered = timeline_table(table, column)
    write_table(ordered, expanded(file))
    return len(ordered.rows)


def _place(records: Sequence[EvidenceRecord], path: str, documents: Sequence[str], files: Mapping[str, str]) -> str:
    """Name the place of a date: that of its path, else the first of its cell, else the file of the row."""
    located = [record for record in records if record.document_id is not None]
    chosen = next((record for record in located if record.path == path), located[0] if located else None)
    if chosen is None or chosen.document_id is None:
        return files[documents[0]] if documents else ""
    page = f", page {chosen.page}" if chosen.page is not None else ""
    return f"{files[chosen.document_id]}{page}"
