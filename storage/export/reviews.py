"""Reviews in an export: beside the values of the model, or with corrected values in their place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from storage.case import Case
from storage.export.table import ResultRow, ResultTable, free_name
from storage.reviewed import NO_REVIEW, ReviewBook, RowReview, edited_rows, reviews_of_rows

Reviews = Literal["none", "beside", "applied"]
"""`beside`: the values stay those of the model; columns say what reviewers said and each corrected value. `applied`:
corrected values take the place of the model's."""


@dataclass(frozen=True, slots=True)
class ReviewOptions:
    """What an export does with reviews. `drop_rejected` leaves out rows that were rejected, and a note says so."""

    reviews: Reviews = "none"
    drop_rejected: bool = False


def reviews_of(case: Case, run_id: str) -> dict[str, RowReview]:
    """Return what was said of the results of a run, by row id; rows nothing was said of are left out."""
    if case.reviews.stamp()[1] == 0:
        return {}
    book = ReviewBook(case.reviews.edits())
    here = edited_rows(case.result_rows, run_id, book)
    rows = list(case.result_rows.read(run_id))
    reviews = reviews_of_rows(rows, case.result_rows.columns(run_id), book, here)
    return {rows[number].id: review for number, review in reviews.items()}


def with_reviews(table: ResultTable, reviews: Mapping[str, RowReview], options: ReviewOptions) -> ResultTable:
    """Add what reviewers said to a table: columns `reviewed`, `X_corrected` where X was corrected, `review_note`."""
    table = _without_rejected(table, reviews) if options.drop_rejected else table
    if options.reviews == "none":
        return table
    corrected = [
        column
        for column in table.columns
        if any(_is_corrected(reviews.get(row.id, NO_REVIEW), column) for row in table.rows)
    ]
    names: dict[str, str] = {}
    for name in ("reviewed", *(f"{column}_corrected" for column in corrected), "review_note"):
        names[name] = free_name(name, {*table.columns, *names.values()})
    if options.reviews == "applied":
        names = {name: names[name] for name in ("reviewed", "review_note")}
    rows = tuple(_reviewed(row, reviews.get(row.id, NO_REVIEW), corrected, names, options) for row in table.rows)
    return replace(
        table, columns=(*table.columns, *names.values()), rows=rows, plain=table.plain | frozenset(names.values())
    )


def _is_corrected(review: RowReview, column: str) -> bool:
    cell = review.cells.get(column)
    return cell is not None and cell.is_replaced


def _reviewed(
    row: ResultRow, review: RowReview, corrected: list[str], names: Mapping[str, str], options: ReviewOptions
) -> ResultRow:
    said: dict[str, Any] = {names["reviewed"]: review.verdict, names["review_note"]: review.note}
    if options.reviews == "applied":
        # The lines cited for a value do not hold the one that replaced it.
        citations = {column: cited for column, cited in row.citations.items() if not _is_corrected(review, column)}
        return ResultRow(row.id, {**review.values(row.values), **said}, citations)
    values = {names[f"{c}_corrected"]: review.cells[c].value for c in corrected if _is_corrected(review, c)}
    return replace(row, values={**row.values, **said, **values})


def _without_rejected(table: ResultTable, reviews: Mapping[str, RowReview]) -> ResultTable:
    kept = tuple(row for row in table.rows if reviews.get(row.id, NO_REVIEW).whole.verdict != "rejected")
    left_out = len(table.rows) - len(kept)
    if not left_out:
        return table
    note = f"{left_out} rejected {'row was' if left_out == 1 else 'rows were'} left out."
    return replace(table, rows=kept, notes=(*table.notes, note))
