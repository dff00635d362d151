"""Results of the runs of a case: tables a page at a time, groups, and the evidence of a cell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from engine.custody.guard import change_warning
from engine.errors import UsageError
from engine.results.answers import question_columns
from engine.results.doubt import doubt_of
from engine.results.hidden import hidden_warning
from engine.results.names import resolved_columns
from engine.results.same_question import new_rows
from engine.results.sections import UNGROUPED, Grouping, Sections
from engine.results.shown import ShownHeading
from engine.results.table import ALL_ROWS, Selection, result_view
from engine.results.values import date_of, is_empty, number_of, shown
from engine.values.cells import cell_text, is_typed
from engine.worker.contract import results as contract
from engine.worker.contract.results import (
    CellDetails,
    CellPlace,
    ColumnInfo,
    Group,
    HiddenNote,
    Kind,
    RowsPage,
    RunEntry,
    ShownRow,
    TableInfo,
)
from engine.worker.queries.documents import Span, check_page
from engine.worker.queries.registry import query
from engine.worker.queue_file import question_names
from storage.case import Case
from storage.evidence import EvidenceRecord
from storage.export.table import inner_value
from storage.result_rows import DeliveredRow
from storage.reviewed import NO_REVIEW, CellReview, ReviewBook, RowReview, edited_rows, reviews_of_rows

MOST_CHARACTERS = 4000
"""Characters of a cell in a page of the table; `results.cell` returns all of them."""

SAMPLED_ROWS = 200
"""Rows whose values tell the kind of a column."""


@query(contract.HIDDEN)
def hidden(case: Case, *, run: str) -> HiddenNote:
    """Say which values of a run rest on text that no reader of a page sees, for whoever is about to export them."""
    return HiddenNote(run, hidden_warning(case, run))


@query(contract.RUNS)
def runs(case: Case) -> list[RunEntry]:
    """List the runs of a case, last started first."""
    asked = question_names(case.path)
    return [
        RunEntry(
            id=run.id,
            name=f"{asked[run.id]} (run {run.id})" if run.id in asked else f"Run {run.id}",
            started_at=run.started_at,
            rows=case.result_rows.count(run.id) if case.runs.has_results(run.id) else None,
        )
        for run in reversed(case.runs.all())
    ]


@query(contract.TABLE)
def table(case: Case, *, run: str) -> TableInfo:
    """Describe the table of a run."""
    resolved = resolved_columns(case, run)
    questions = {column: asked.name for asked in question_columns(case.runs, run) for column in asked.columns}
    sample = list(case.result_rows.read(run, limit=SAMPLED_ROWS))
    columns = tuple(
        ColumnInfo(
            column,
            kind_of(row.values.get(column) for row in sample),
            resolved.get(column, ""),
            questions.get(column, ""),
        )
        for column in case.result_rows.columns(run)
    )
    new = new_rows(case, run)
    return TableInfo(run, columns, case.result_rows.count(run), None if new is None else len(new))


@query(contract.PREPARE, lane="slow")
def prepare(case: Case, *, run: str) -> int:
    """Read all rows, so that the first sorting, filter or group need not wait for it; return their number."""
    return len(result_view(case, run).rows)


@query(contract.CHANGES, lane="slow")
def changes(case: Case, *, run: str) -> str:
    """Say what of a run differs from what was recorded of it; empty for nothing."""
    return change_warning(case.seals, run)


@query(contract.PAGE)
def page(
    case: Case,
    *,
    run: str,
    offset: int = 0,
    limit: int = 100,
    only: Selection = ALL_ROWS,
    grouping: Grouping = UNGROUPED,
) -> RowsPage:
    """Return some rows, sorted, filtered and grouped; without all that, none but these are read."""
    check_page(offset, limit)
    columns = case.result_rows.columns(run)
    new = new_rows(case, run) or frozenset()
    if only.is_everything and not grouping.column:
        rows = list(case.result_rows.read(run, offset=offset, limit=limit))
        book = ReviewBook(case.reviews.edits_of(row.identity(columns) for row in rows))
        reviews = reviews_of_rows(rows, columns, book, edited_rows(case.result_rows, run, book))
        total = case.result_rows.count(run)
        shown_rows = (_shown_row(row, columns, reviews.get(row.number, NO_REVIEW), new) for row in rows)
        return RowsPage(total, total, tuple(shown_rows))
    view = result_view(case, run)

    def shown_line(line: ShownHeading | int) -> ShownRow | ShownHeading:
        if isinstance(line, ShownHeading):
            return line
        return _shown_row(view.rows[line], columns, view.review(line), new)

    if grouping.column:
        sections = Sections(view, only, grouping)
        lines = tuple(map(shown_line, sections.lines(offset, limit)))
        return RowsPage(len(sections), sections.rows, lines)
    chosen = view.select(only)
    return RowsPage(len(chosen), len(chosen), tuple(map(shown_line, chosen[offset : offset + limit])))


@query(contract.IDS)
def ids(
    case: Case, *, run: str, spans: tuple[Span, ...], only: Selection = ALL_ROWS, grouping: Grouping = UNGROUPED
) -> tuple[str, ...]:
    """Return the ids of the rows in some lines of the table, in their order, each once."""
    if only.is_everything and not grouping.column:
        return tuple(id for span in spans for id in case.result_rows.ids(run, span.first, span.last))
    view = result_view(case, run)
    lines: Sequence[ShownHeading | int] = view.select(only)
    if grouping.column:
        sections = Sections(view, only, grouping)
        lines = list(sections.lines(0, len(sections)))
    numbers = (line for span in spans for line in span.of(lines) if not isinstance(line, ShownHeading))
    return tuple(dict.fromkeys(view.rows[number].id for number in numbers))


@query(contract.GROUP)
def group(case: Case, *, run: str, column: str, only: Selection = ALL_ROWS, most: int = 500) -> Group:
    """Count the rows by what a column names."""
    counts = result_view(case, run).group(column, only)
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0].casefold()))
    return Group(column, tuple(ordered[:most]), max(len(ordered) - most, 0))


@query(contract.CELL)
def cell(case: Case, *, run: str, row: str, column: str) -> CellDetails:
    """Return all about one cell: its whole value, what was said of it, and each place."""
    columns = case.result_rows.columns(run)
    if column not in columns:
        raise UsageError(f"the results have no column {column!r}", advice=f"Columns: {', '.join(columns)}.")
    stored = next(case.result_rows.read(run, numbers=case.result_rows.numbers(run, [row])))
    identity = stored.identity(columns)
    book = ReviewBook(case.reviews.edits_of([identity]))
    review = book.review(identity, stored.values, edited_rows(case.result_rows, run, book))
    said = review.cells.get(column, CellReview())
    original = stored.values.get(column)
    return CellDetails(
        row=row,
        column=column,
        value=_readable(review.values(stored.values).get(column)),
        original=_readable(original),
        verdict=said.verdict or review.whole.verdict,
        note=said.note or review.whole.note,
        who=said.who or review.whole.who,
        made_at=said.made_at or review.whole.made_at,
        places=tuple(_place(record, original, column) for record in case.evidence.of_row(run, row, column)),
    )


def _readable(value: Any) -> Any:
    """Return a value with yes or no, and in place of typed values what they mean; all else as it is."""
    if isinstance(value, bool):
        return shown(value)
    if is_typed(value):
        return cell_text(value)
    if isinstance(value, list | tuple):
        return [_readable(item) for item in value]
    return {key: _readable(inner) for key, inner in value.items()} if isinstance(value, dict) else value


def kind_of(values: Iterable[Any]) -> Kind:
    """Say what a column holds, judged by some of its values."""
    filled = [value for value in values if not is_empty(value)]
    if filled and all(isinstance(value, bool) for value in filled):
        return "flag"
    if any(map(is_typed, filled)):
        return "text"
    if filled and all(isinstance(value, list | dict) for value in filled):
        return "list"
    if filled and all(number_of(value) is not None for value in filled):
        return "number"
    return "date" if filled and all(date_of(value) is not None for value in filled) else "text"


def _shown_row(row: DeliveredRow, columns: tuple[str, ...], review: RowReview, new: frozenset[str]) -> ShownRow:
    values = row.values if review is NO_REVIEW else review.values(row.values)
    texts = [shown(values.get(column)) for column in columns]
    cells = review.cells
    return ShownRow(
        id=row.id,
        number=row.number + 1,
        cells=tuple(text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}…" for text in texts),
        missing=tuple(place for place, column in enumerate(columns) if column in row.not_located),
        corrected=tuple(place for place, column in enumerate(columns) if column in cells and cells[column].is_replaced),
        cut=tuple(place for place, text in enumerate(texts) if len(text) > MOST_CHARACTERS),
        verdict=review.verdict,
        note=review.note,
        doubts=dict(doubt_of(values).cells),
        is_new=row.id in new,
    )


def _place(record: EvidenceRecord, value: Any, column: str) -> CellPlace:
    return CellPlace(
        inside=record.path if record.path != column else "",
        value=shown(inner_value(value, column, record.path))[:MOST_CHARACTERS],
        document=record.document_id or "",
        page=record.page or 1,
        first_line=record.first_line or 0,
        last_line=record.last_line or 0,
        method=record.method,
        score=record.score,
    )
