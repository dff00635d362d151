"""The rows that a run delivered, read in bulk: a table of 100,000 must not cost a question a row."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from storage.checksums import is_whole
from storage.codec import text_of
from storage.errors import ExportError, NotInCase
from storage.reviews import RowIdentity
from storage.topic import AT_ONCE, Topic


@dataclass(frozen=True, slots=True)
class DeliveredRow:
    """One row of the results. `number` counts from 0; `documents` are ids: its own, else those of its evidence."""

    number: int
    id: str
    values: dict[str, Any]
    documents: tuple[str, ...]
    not_located: frozenset[str]
    """Columns in which a value was looked for and not found."""

    def identity(self, columns: Sequence[str]) -> RowIdentity:
        """Identify the row by the values of these columns."""
        return RowIdentity.of(self.id, {column: self.values.get(column) for column in columns}, self.documents)


class ResultRows(Topic):
    """The part of a case that reads the results of a run a page or a table at a time."""

    def columns(self, run_id: str) -> tuple[str, ...]:
        """Return the columns of a run's results; raises NotInCase, or ExportError while it has none."""
        self._need_run(run_id)
        columns = self._columns(run_id)
        if columns is None:
            raise ExportError(
                f"run {run_id} of {self._path} has delivered no results yet",
                advice="Run the question again (it goes on where it stopped), then look again.",
            )
        return columns

    def count(self, run_id: str) -> int:
        """Count the rows that a run delivered."""
        return self._connection.count("SELECT count(*) FROM results WHERE run = ?", [run_id])

    def ids(self, run_id: str, first: int, last: int) -> list[str]:
        """Return the ids of the rows from place `first` to `last` (inclusive) of the results, from 0."""
        rows = self._connection.query(
            f"SELECT i.id, {is_whole(x='results', i='row_ids')} FROM results x"
            " LEFT JOIN row_ids i ON i.key = x.row WHERE x.run = ? AND x.position BETWEEN ? AND ? ORDER BY x.position",
            [run_id, first, last],
        )
        return [text_of(row_id) for (row_id,) in self._whole(_A_ROW, rows)]

    def numbers(self, run_id: str, row_ids: Sequence[str]) -> list[int]:
        """Return the places of rows in the results, from 0; raises NotInCase for one that is no result."""
        places = self._places(run_id) if len(row_ids) > _FEW else None
        numbers = []
        for row_id in row_ids:
            number = self._place(run_id, row_id) if places is None else places.get(row_id)
            if number is None:
                self._need_run(run_id)
                raise NotInCase(f"row {row_id} is no result of run {run_id} of the case {self._path}")
            numbers.append(number)
        return numbers

    def _place(self, run_id: str, row_id: str) -> int | None:
        row = self._connection.first(
            "SELECT x.position FROM row_ids i JOIN results x ON x.run = i.run AND x.row = i.key"
            " WHERE i.run = ? AND i.id = ?",
            [run_id, row_id],
        )
        return None if row is None else int(row[0])

    def _places(self, run_id: str) -> dict[str, int]:
        """Return the place of each row of the results, the first of one that is in them twice."""
        rows = self._connection.query(
            "SELECT i.id, x.position FROM results x JOIN row_ids i ON i.key = x.row WHERE x.run = ?"
            " ORDER BY x.position DESC",
            [run_id],
        )
        return {text_of(row_id): int(position) for row_id, position in rows}

    def numbers_among(self, run_id: str, row_ids: Collection[str]) -> list[int]:
        """Return the places of those rows that are in the results, from 0; others are passed over."""
        # CROSS JOIN keeps the order: the results are gone through once, not once for each row.
        sql = "SELECT x.position FROM results x CROSS JOIN row_ids i ON i.key = x.row WHERE x.run = ? AND i.id"
        return [int(position) for (position,) in self._query_in(sql, sorted(row_ids), [run_id])]

    def read(
        self, run_id: str, *, offset: int = 0, limit: int | None = None, numbers: Sequence[int] | None = None
    ) -> Iterator[DeliveredRow]:
        """Yield rows `offset` to `offset + limit` (exclusive) of the results, or those of `numbers`, in their order."""
        if numbers is None:
            where, parameters = "x.run = ? AND x.position >= ?", [run_id, offset]
            if limit is not None:
                where, parameters = f"{where} AND x.position < ?", [*parameters, offset + limit]
            yield from self._without_gaps(self._read_delivered(where, parameters), offset)
            return
        for start in range(0, len(numbers), AT_ONCE):
            part = [int(number) for number in numbers[start : start + AT_ONCE]]
            marks = ", ".join("?" * len(part))
            rows = {row.number: row for row in self._read_delivered(
                f"x.run = ? AND x.position IN ({marks})", [run_id, *part]
            )}  # fmt: skip
            if any(number not in rows for number in part):
                raise self._damaged(_A_ROW)
            yield from (rows[number] for number in part)

    def _without_gaps(self, rows: Iterator[DeliveredRow], first: int) -> Iterator[DeliveredRow]:
        """Yield rows as they are; raises CaseDamaged where one between them is not there."""
        for expected, row in enumerate(rows, first):
            if row.number != expected:
                raise self._damaged(_A_ROW)
            yield row

    def _read_delivered(self, where: str, parameters: Sequence[Any]) -> Iterator[DeliveredRow]:
        documents, missing = self._found_in(where, parameters)
        rows = self._connection.query(
            f"SELECT x.position, x.row, i.id, r.body, r.large, d.id, {is_whole(x='results', i='row_ids', r='rows')}"
            " FROM results x LEFT JOIN row_ids i ON i.key = x.row"
            " LEFT JOIN rows r ON r.key ="
            " (SELECT l.key FROM rows l WHERE l.row = x.row ORDER BY l.operator DESC LIMIT 1)"
            f" LEFT JOIN documents d ON d.key = r.document WHERE {where} ORDER BY x.position",
            parameters,
        )
        shelf: dict[int, Any] = {}
        for position, key, row_id, body, large, document in self._whole(_A_ROW, rows):
            sources = (document,) if document is not None else tuple(documents.get(key, ()))
            values, not_located = self._unshelve(body, large, shelf), frozenset(missing.get(key, ()))
            yield DeliveredRow(position, text_of(row_id), values, sources, not_located)

    def _found_in(self, where: str, parameters: Sequence[Any]) -> tuple[dict[int, list[str]], dict[int, list[str]]]:
        """Return by row: the documents of its evidence, in order, and its columns with a value that was not located."""
        documents: dict[int, list[str]] = {}
        missing: dict[int, list[str]] = {}
        for key, column, document in self._connection.query(
            'SELECT e.row, CASE WHEN e.document IS NULL THEN e."column" END, d.id FROM evidence e'
            f" JOIN results x ON x.row = e.row LEFT JOIN documents d ON d.key = e.document WHERE {where}"
            " GROUP BY e.row, 2, e.document ORDER BY e.row, min(e.key)",
            parameters,
        ):
            if document is None:
                missing.setdefault(key, []).append(text_of(column))
            else:
                documents.setdefault(key, []).append(document)
        return documents, missing


_FEW = 20
"""So many rows are looked for one by one, each by going through the results; for more, the results are read once."""
_A_ROW = "a row of the results"
