"""Rows that operators made, and the lineage between them."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from storage.checksums import is_whole
from storage.codec import dump_json, pack, text_of
from storage.errors import BadRecord, NotInCase
from storage.topic import Topic

LARGE_FIELD_BYTES = 512
"""A field whose JSON is longer is stored once per case, however many rows carry it (a document's text does)."""


@dataclass(frozen=True, slots=True)
class RowRecord:
    """One row. `parents` are row ids in order. A row of a document may give its lines, first and last inclusive."""

    id: str
    values: Mapping[str, Any]
    parents: tuple[str, ...] = ()
    document_id: str | None = None
    first_line: int | None = None
    last_line: int | None = None


@dataclass(frozen=True, slots=True)
class Relative:
    """A row from which another was made. `operator` made it first.

    `operator` is empty when only the id is known: the row itself was not saved.
    """

    id: str
    operator: str
    document_id: str | None
    first_line: int | None
    last_line: int | None


class Rows(Topic):
    """The part of a case that holds rows and lineage."""

    def save(self, run_id: str, operator: str, rows: Iterable[RowRecord]) -> None:
        """Save what an operator put out: exactly these rows, in this order.

        Raises BadRecord when two rows have one id, NotInCase when a row names an unknown document.
        """
        records = list(rows)
        _check_unique(operator, records)
        with self._connection.transaction():
            key = self._operator_key(run_id, operator)
            self._connection.execute("DELETE FROM rows WHERE operator = ?", [key])
            row_keys = self._row_keys(run_id, {r.id for r in records} | {p for r in records for p in r.parents})
            documents = self._document_keys({r.document_id for r in records if r.document_id is not None})
            for position, record in enumerate(records):
                self._save_row(key, row_keys[record.id], position, record, documents)
            self._save_lineage(records, row_keys)

    def _save_row(
        self, operator: int, row: int, position: int, record: RowRecord, documents: Mapping[str, int]
    ) -> None:
        body, large = self._shelve(record.values)
        document = None if record.document_id is None else documents[record.document_id]
        self._connection.execute(
            "INSERT INTO rows (operator, row, position, body, large, document, first_line, last_line)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [operator, row, position, body, large, document, record.first_line, record.last_line],
        )

    def _shelve(self, values: Mapping[str, Any]) -> tuple[bytes, bytes | None]:
        """Split values into a body, with null for each large field, and the keys of the large fields by name."""
        small, large = dict(values), {}
        for name, value in values.items():
            text = dump_json(value)
            if len(text) > LARGE_FIELD_BYTES:
                small[name] = None
                large[name] = self._field_key(text, value)
        return pack(small), pack(large) if large else None

    def _field_key(self, text: str, value: Any) -> int:
        digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
        row = self._connection.first("SELECT key FROM fields WHERE digest = ?", [digest])
        if row is not None:
            return int(row[0])
        return self._connection.insert("INSERT INTO fields (digest, body) VALUES (?, ?)", [digest, pack(value)])

    def _save_lineage(self, records: Sequence[RowRecord], row_keys: Mapping[str, int]) -> None:
        self._connection.execute_many("DELETE FROM lineage WHERE child = ?", ((row_keys[r.id],) for r in records))
        self._connection.execute_many(
            "INSERT INTO lineage (child, position, parent) VALUES (?, ?, ?)",
            (
                (row_keys[record.id], position, row_keys[parent])
                for record in records
                for position, parent in enumerate(record.parents)
            ),
        )

    def of_operator(self, run_id: str, operator: str) -> list[RowRecord]:
        """Return what an operator put out, in order; empty when it put out nothing or never ran.

        Rows that carry the same large field share it, so change none of the values.
        """
        return self._read_rows("o.run = ? AND o.name = ? ORDER BY r.position", [run_id, operator])

    def get(self, run_id: str, row_id: str, *, only: Collection[str] | None = None) -> RowRecord:
        """Return a row as the last operator that put it out left it; raises NotInCase.

        `only`: the fields to read, all if None.
        """
        # By its key: sorted by operator, SQLite would else read all rows of the last one to find it.
        where = "r.row = (SELECT key FROM row_ids WHERE run = ? AND id = ?)"
        rows = self._read_rows(f"{where} ORDER BY o.key DESC LIMIT 1", [run_id, row_id], only)
        if not rows:
            self._need_run(run_id)
            raise NotInCase(f"run {run_id} of the case {self._path} has no row {row_id}")
        return rows[0]

    def _read_rows(self, where: str, parameters: Sequence[Any], only: Collection[str] | None = None) -> list[RowRecord]:
        rows = self._connection.query(
            f"SELECT i.key, i.id, r.body, r.large, d.id, r.first_line, r.last_line, {is_whole(r='rows', i='row_ids')}"
            " FROM rows r"
            " JOIN operators o ON o.key = r.operator JOIN row_ids i ON i.key = r.row"
            f" LEFT JOIN documents d ON d.key = r.document WHERE {where}",
            parameters,
        )
        shelf: dict[int, Any] = {}
        return [
            RowRecord(
                text_of(row_id), self._unshelve(body, large, shelf, only), self._parents(key), document, first, last
            )
            for key, row_id, body, large, document, first, last in self._whole("a row of a run", rows)
        ]

    def _parents(self, key: int) -> tuple[str, ...]:
        rows = self._connection.query(
            "SELECT i.id FROM lineage l JOIN row_ids i ON i.key = l.parent WHERE l.child = ? ORDER BY l.position", [key]
        )
        return tuple(text_of(row[0]) for row in rows)

    def ancestors(self, run_id: str, row_id: str) -> list[Relative]:
        """Return the rows from which this one was made, nearest first, each once; raises NotInCase."""
        distances = self._distances(self._known_row_key(run_id, row_id))
        rows = self._query_in(
            "SELECT i.key, i.id, o.name, d.id, r.first_line, r.last_line FROM row_ids i"
            " LEFT JOIN rows r ON r.key = (SELECT key FROM rows WHERE row = i.key ORDER BY operator LIMIT 1)"
            " LEFT JOIN operators o ON o.key = r.operator LEFT JOIN documents d ON d.key = r.document WHERE i.key",
            list(distances),
        )
        nearest_first = sorted(rows, key=lambda row: (distances[row[0]], row[0]))
        return [
            Relative(text_of(relative), text_of(operator or ""), document, first, last)
            for _, relative, operator, document, first, last in nearest_first
        ]

    def _distances(self, start: int) -> dict[int, int]:
        """Walk back the lineage of a row, generation by generation; return how far away each other row is.

        Each row is visited once: in a case that somebody changed, rows may be made from each other.
        """
        distances = {start: 0}
        generation, distance = [start], 0
        while generation:
            distance += 1
            reached = {int(key) for (key,) in self._query_in("SELECT parent FROM lineage WHERE child", generation)}
            generation = sorted(reached - distances.keys())
            distances |= dict.fromkeys(generation, distance)
        del distances[start]
        return distances


def _check_unique(operator: str, records: Sequence[RowRecord]) -> None:
    seen: set[str] = set()
    for record in records:
        if record.id in seen:
            raise BadRecord(f"operator {operator!r} put out two rows with the id {record.id}")
        if record.id in record.parents:
            raise BadRecord(f"operator {operator!r} made row {record.id} its own parent")
        seen.add(record.id)
