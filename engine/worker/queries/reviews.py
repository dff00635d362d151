"""What a person says of results: verdicts, corrections, notes; taken back and made again; how far she is."""

from __future__ import annotations

from typing import Any, Final, Literal

from engine.custody.recording import redo_review, save_review, undo_review
from engine.errors import UsageError
from engine.results.gold import write_gold
from engine.results.table import result_view
from engine.results.values import shown, typed
from engine.values.cells import is_typed
from engine.worker.contract import reviews as contract
from engine.worker.contract.reviews import ReviewProgress
from engine.worker.queries.registry import query
from models.paths import expanded
from storage.case import Case
from storage.result_rows import DeliveredRow
from storage.reviewed import ReviewBook, edited_rows
from storage.reviews import WHOLE_ROW, EditKind, ReviewEdit, ReviewStep

MOST_NOTE_CHARACTERS = 100_000
_AT_ONCE: Final = 200
"""Rows that are read at once when a value is looked for."""


@query(contract.PROGRESS)
def progress(case: Case, *, run: str) -> ReviewProgress:
    """Count the rows that were judged."""
    if case.reviews.stamp()[1] == 0:
        return ReviewProgress(case.result_rows.count(run), 0, 0, 0, 0, 0)
    view = result_view(case, run)
    verdicts = [review.verdict for review in view.reviews.values()]
    return ReviewProgress(
        rows=len(view.rows),
        reviewed=view.reviewed,
        accepted=verdicts.count("accepted"),
        corrected=verdicts.count("corrected"),
        rejected=verdicts.count("rejected"),
        unplaced=view.unplaced,
    )


@query(contract.GOLD, lane="slow")
def gold(case: Case, *, run: str, file: str) -> int:
    """Write the rows that were judged as gold answers (JSON lines); return how many."""
    return write_gold(case, run, expanded(file))


@query(contract.JUDGE, lane="edit")
def judge(
    case: Case, *, run: str, rows: tuple[str, ...], kind: Literal["accept", "reject", "clear"], column: str = ""
) -> int:
    """Accept or reject rows, or their cells in one column, or take that back; return how many."""
    chosen = _rows(case, run, rows, column)
    save_review(case, run, [_edit(case, run, row, column, kind) for row in chosen])
    return len(chosen)


@query(contract.CORRECT, lane="edit")
def correct(case: Case, *, run: str, row: str, column: str, text: str) -> str:
    """Put what a person typed in place of a value, or take the correction back if it is the model's; return it."""
    (stored,) = _rows(case, run, (row,), column)
    if not column:
        raise UsageError("a correction is of one cell", advice="Name the column.")
    original = stored.values.get(column)
    like = _like(case, run, column) if original is None else original
    value = original if text.strip() == shown(original) else typed(text, like)
    identity = stored.identity(case.result_rows.columns(run))
    book = ReviewBook(case.reviews.edits_of([identity]))
    held = book.review(identity, stored.values, edited_rows(case.result_rows, run, book))
    if value == held.values(stored.values).get(column):
        return shown(value)
    kind: EditKind = "clear" if value == original else "correct"
    save_review(case, run, [ReviewEdit(identity, column, kind, original=original, value=value)])
    return shown(value)


def _like(case: Case, run: str, column: str) -> Any:
    """Return a value of the kind that a column holds, None where it holds texts, or nothing."""
    for offset in range(0, case.result_rows.count(run), _AT_ONCE):
        for row in case.result_rows.read(run, offset=offset, limit=_AT_ONCE):
            value = row.values.get(column)
            if isinstance(value, list) and value:
                return [] if isinstance(value[0], str) else value[:1]
            if is_typed(value) or isinstance(value, int | float):
                return value
            if value not in (None, []):
                return None
    return None


@query(contract.NOTE, lane="edit")
def note(case: Case, *, run: str, row: str, text: str, column: str = "") -> str:
    """Write a note on a row or a cell in place of an earlier one; empty text takes it off."""
    if len(text) > MOST_NOTE_CHARACTERS:
        raise UsageError(f"a note has at most {MOST_NOTE_CHARACTERS:,} characters", advice="Write less.")
    (stored,) = _rows(case, run, (row,), column)
    edit = _edit(case, run, stored, column, "note", text.strip())
    save_review(case, run, [edit])
    return text.strip()


@query(contract.UNDO, lane="edit")
def undo(case: Case) -> ReviewStep | None:
    """Take the last step back; None when there is none."""
    return undo_review(case)


@query(contract.REDO, lane="edit")
def redo(case: Case) -> ReviewStep | None:
    """Make the step again that was taken back last; None when there is none."""
    return redo_review(case)


def _rows(case: Case, run: str, rows: tuple[str, ...], column: str) -> list[DeliveredRow]:
    columns = case.result_rows.columns(run)
    if column and column not in columns:
        raise UsageError(f"the results have no column {column!r}", advice=f"Columns: {', '.join(columns)}.")
    if not rows:
        raise UsageError("no row is named", advice="Choose a row of the results.")
    return list(case.result_rows.read(run, numbers=case.result_rows.numbers(run, rows)))


def _edit(case: Case, run: str, row: DeliveredRow, column: str, kind: EditKind, text: str = "") -> ReviewEdit:
    original = row.values.get(column) if column != WHOLE_ROW else None
    return ReviewEdit(row.identity(case.result_rows.columns(run)), column, kind, original=original, note=text)
