"""Reviewed rows as gold answers: what a person accepted or corrected, and what she rejected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from engine.errors import UsageError
from storage.case import Case
from storage.codec import dump_json
from storage.export.atomic import replacing
from storage.reviewed import ReviewBook, Verdict, edited_rows


@dataclass(frozen=True, slots=True)
class GoldRow:
    """A row that a person judged. `values` hold after corrections; `documents` are the ids it comes from.

    `judged` are the columns that were judged: all for a row that was accepted or rejected as a whole, else those of the
    cells that were. `rejected` are those of them whose value is wrong: all for a row that should not have been found.
    """

    row_id: str
    documents: tuple[str, ...]
    values: Mapping[str, Any]
    verdict: Verdict
    judged: tuple[str, ...]
    rejected: tuple[str, ...]
    note: str


def gold_rows(case: Case, run_id: str) -> list[GoldRow]:
    """Return the rows of a run that were judged, in order; raises NotInCase, ExportError while it has no results."""
    columns = case.result_rows.columns(run_id)
    book = ReviewBook(case.reviews.edits())
    here = edited_rows(case.result_rows, run_id, book)
    rows = []
    for row in case.result_rows.read(run_id) if len(book) else ():
        review = book.review(row.identity(columns), row.values, here)
        if not review.is_reviewed:
            continue
        values = review.values(row.values)
        verdicts = {c: review.cells[c].verdict for c in columns if c in review.cells and review.cells[c].verdict}
        judged = columns if review.whole.verdict else tuple(verdicts)
        cells = tuple(column for column, verdict in verdicts.items() if verdict == "rejected")
        rejected = columns if review.whole.verdict == "rejected" else cells
        shown = {column: values.get(column) for column in columns}
        rows.append(GoldRow(row.id, row.documents, shown, review.verdict, judged, rejected, review.note))
    return rows


def check_gold_name(file: Path) -> None:
    """Raise UsageError unless a file is named as one of JSON lines."""
    if file.suffix.lower() != ".jsonl":
        raise UsageError(f"{file} is no name for gold answers, which are JSON lines", advice="Name it FILE.jsonl.")


def write_gold(case: Case, run_id: str, file: Path) -> int:
    """Write the rows of a run that were judged, a JSON object a line; return how many.

    The file appears when it is whole. Raises UsageError for another name than FILE.jsonl, and as `gold_rows` does.
    """
    check_gold_name(file)
    rows = gold_rows(case, run_id)
    with replacing(file) as path, path.open("w", encoding="utf-8", newline="\n") as lines:
        lines.writelines(dump_json(_as_json(row)) + "\n" for row in rows)
    return len(rows)


def _as_json(row: GoldRow) -> dict[str, Any]:
    said = asdict(row)
    return {"row": said.pop("row_id"), **said}
