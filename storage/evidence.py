"""Where each value of a row was found: document, page and lines, or the statement that it was not located."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from storage.checksums import is_whole
from storage.codec import text_of
from storage.documents import LINES_PER_DOCUMENT
from storage.errors import BadRecord
from storage.topic import Topic

NOT_LOCATED = "not_located"


@dataclass(frozen=True, slots=True)
class EvidenceRecord:
    """One place of one value, or the statement that the value was not located.

    `path` leads from the column inside a cell that holds a list or object (`acts[0].date`); for a plain value it is
    the column or empty. Lines are inclusive; `page` is None for formats without pages.
    With the method `not_located` document, page and lines are None; with any other document and lines are given.
    """

    row_id: str
    column: str
    path: str
    document_id: str | None
    page: int | None
    first_line: int | None
    last_line: int | None
    method: str
    score: float | None = None

    @classmethod
    def not_located(cls, row_id: str, column: str, path: str = "") -> EvidenceRecord:
        """Say that the value was looked for and not found."""
        return cls(row_id, column, path, None, None, None, None, NOT_LOCATED)

    def __post_init__(self) -> None:
        place = (self.document_id, self.first_line, self.last_line)
        if self.method == NOT_LOCATED:
            if any(part is not None for part in (*place, self.page)):
                raise BadRecord(f"row {self.row_id}, column {self.column!r}: what is not located has no place")
        elif self.document_id is None or self.first_line is None or self.last_line is None:
            raise BadRecord(f"row {self.row_id}, column {self.column!r}: evidence needs a document and lines")
        elif not 1 <= self.first_line <= self.last_line:
            raise BadRecord(f"row {self.row_id}, column {self.column!r}: bad lines {self.first_line}-{self.last_line}")


@dataclass(frozen=True, slots=True)
class HiddenEvidence:
    """A cell that rests on a line which no reader of the page sees; `hidden` says why."""

    row_id: str
    column: str
    document_id: str
    filename: str
    page: int
    line: int
    hidden: str


class Evidence(Topic):
    """The part of a case that holds evidence."""

    def save(self, run_id: str, records: Iterable[EvidenceRecord]) -> None:
        """Save evidence; all that was saved before for a cell (row and column) named here is replaced.

        So give all records of a cell in one call. Raises NotInCase for an unknown row or document.
        """
        batch = list(records)
        with self._connection.transaction():
            self._need_run(run_id)
            rows = {row_id: self._known_row_key(run_id, row_id) for row_id in {r.row_id for r in batch}}
            documents = self._document_keys({r.document_id for r in batch if r.document_id is not None})
            self._connection.execute_many(
                'DELETE FROM evidence WHERE row = ? AND "column" = ?',
                sorted({(rows[r.row_id], r.column) for r in batch}),
            )
            self._connection.execute_many(
                'INSERT INTO evidence (row, "column", path, document, page, first_line, last_line, method, score)'
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    (
                        *(rows[r.row_id], r.column, r.path, documents[r.document_id] if r.document_id else None),
                        *(r.page, r.first_line, r.last_line, r.method, r.score),
                    )
                    for r in batch
                ),
            )

    def of_row(self, run_id: str, row_id: str, column: str | None = None) -> list[EvidenceRecord]:
        """Return the evidence of a row, or of one cell, in the order it was given; raises NotInCase.

        A column without any record was never looked for.
        """
        key = self._known_row_key(run_id, row_id)
        records = self._records("the evidence of a row", "WHERE e.row = ? ORDER BY e.key", [key])
        return [record for record in records if column is None or record.column == column]

    def of_column(self, run_id: str, column: str) -> dict[str, list[EvidenceRecord]]:
        """Return the evidence of one column of a run's results by row id, in the order it was given.

        Rows whose cell was never looked for are absent. Raises NotInCase.
        """
        self._need_run(run_id)
        of_results = 'JOIN results r ON r.row = e.row WHERE r.run = ? AND e."column" = ? ORDER BY r.position, e.key'
        by_row: dict[str, list[EvidenceRecord]] = {}
        for record in self._records("the evidence of a column", of_results, [run_id, column]):
            by_row.setdefault(record.row_id, []).append(record)
        return by_row

    def _records(self, what: str, which: str, parameters: list[Any]) -> list[EvidenceRecord]:
        rows = self._connection.query(
            'SELECT i.id, e."column", e.path, d.id, e.page, e.first_line, e.last_line, e.method, e.score,'
            f" {is_whole(e='evidence')} FROM evidence e JOIN row_ids i ON i.key = e.row"
            f" LEFT JOIN documents d ON d.key = e.document {which}",
            parameters,
        )
        return [
            EvidenceRecord(
                *(text_of(row), text_of(column), text_of(path), document, page, first, last, text_of(method), score)
            )
            for row, column, path, document, page, first, last, method, score in self._whole(what, rows)
        ]

    def hidden(self, run_id: str) -> list[HiddenEvidence]:
        """List the cells of a run's results whose evidence holds hidden lines, in their order; raises NotInCase."""
        self._need_run(run_id)
        rows = self._connection.query(
            'SELECT i.id, e."column", d.id, d.filename, h.page, h.id % ?, h.hidden FROM results r'
            " JOIN evidence e ON e.row = r.row JOIN row_ids i ON i.key = r.row JOIN documents d ON d.key = e.document"
            " JOIN lines h ON h.id BETWEEN e.document * ? + e.first_line AND e.document * ? + e.last_line"
            " WHERE r.run = ? AND h.hidden IS NOT NULL ORDER BY r.position, e.key, h.id",
            [LINES_PER_DOCUMENT, LINES_PER_DOCUMENT, LINES_PER_DOCUMENT, run_id],
        )
        return [
            HiddenEvidence(row, text_of(column), document, text_of(name), page, line, hidden)
            for row, column, document, name, page, line, hidden in rows
        ]
