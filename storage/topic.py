"""What every part of a case shares: the connection, and how the things the parts have in common are found."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from storage.checksums import is_whole
from storage.codec import unpack, unpack_keys, unpack_names, unpack_object
from storage.errors import CaseDamaged, NotInCase

if TYPE_CHECKING:
    from storage.connection import Connection


AT_ONCE: Final = 500
"""Values for which one statement asks."""


class Topic:
    """Base of the parts of a case. It owns nothing: the case opens and closes the connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._path = connection.path

    def _whole(self, what: str, rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Return rows without their last column, which says whether each is as it was written; raises CaseDamaged."""
        for row in rows:
            if not row[-1]:
                raise self._damaged(what)
        return [row[:-1] for row in rows]

    def _damaged(self, what: str) -> CaseDamaged:
        """Make the error for something that is not as it was written, or is not there any more."""
        return CaseDamaged(
            f"the case {self._path} is damaged: {what} is not as it was written",
            advice=f"`redwell case verify` lists what is damaged. {CaseDamaged.default_advice}",
        )

    def _query_in(self, sql: str, values: Sequence[Any], before: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Run a query that ends in a column, for a list of its values; `before` are the parameters that come first."""
        for start in range(0, len(values), AT_ONCE):
            part = values[start : start + AT_ONCE]
            yield from self._connection.query(f"{sql} IN ({', '.join('?' * len(part))})", [*before, *part])

    def _document_key(self, document_id: str) -> int:
        row = self._connection.first("SELECT key FROM documents WHERE id = ?", [document_id])
        if row is None:
            raise NotInCase(
                f"the case {self._path} has no document {document_id}", advice="Add the file to the case first."
            )
        return int(row[0])

    def _document_keys(self, document_ids: set[str]) -> dict[str, int]:
        return {document_id: self._document_key(document_id) for document_id in document_ids}

    def _need_run(self, run_id: str) -> None:
        if self._connection.first("SELECT 1 FROM runs WHERE id = ?", [run_id]) is None:
            known = [str(row[0]) for row in self._connection.query("SELECT id FROM runs ORDER BY id DESC LIMIT 20")]
            raise NotInCase(
                f"the case {self._path} has no run {run_id}",
                advice=f"Runs in it: {', '.join(known)}." if known else "There is no run in it yet.",
            )

    def _operator_key(self, run_id: str, operator: str) -> int:
        """Find the operator of a run, adding it when it is new; its key tells the order of first mention."""
        find = "SELECT key FROM operators WHERE run = ? AND name = ?"
        row = self._connection.first(find, [run_id, operator])
        if row is not None:
            return int(row[0])
        self._need_run(run_id)
        return self._connection.insert("INSERT INTO operators (run, name) VALUES (?, ?)", [run_id, operator])

    def _known_row_key(self, run_id: str, row_id: str) -> int:
        row = self._connection.first("SELECT key FROM row_ids WHERE run = ? AND id = ?", [run_id, row_id])
        if row is None:
            self._need_run(run_id)
            raise NotInCase(f"run {run_id} of the case {self._path} has no row {row_id}")
        return int(row[0])

    def _row_keys(self, run_id: str, row_ids: set[str]) -> dict[str, int]:
        """Find the keys of rows, adding those that are new (a parent may be saved after its child)."""
        self._need_run(run_id)
        ordered = sorted(row_ids)
        self._connection.execute_many(
            "INSERT INTO row_ids (run, id) VALUES (?, ?) ON CONFLICT DO NOTHING", ((run_id, r) for r in ordered)
        )
        return {row_id: self._known_row_key(run_id, row_id) for row_id in ordered}

    def _columns(self, run_id: str) -> tuple[str, ...] | None:
        """Return the columns of a run's results, None while it has delivered none."""
        rows = self._connection.query(f"SELECT columns, {is_whole(r='runs')} FROM runs r WHERE id = ?", [run_id])
        columns = self._whole(f"run {run_id}", rows)[0][0]
        return None if columns is None else unpack_names(columns)

    def _unshelve(
        self, body: bytes, large: bytes | None, shelf: dict[int, Any], only: Collection[str] | None = None
    ) -> dict[str, Any]:
        """Put the values of a row together, those of `only` if given.

        `shelf` keeps the large fields that were read, by key, so that rows which carry the same one share it.
        """
        values = {name: value for name, value in unpack_object(body).items() if only is None or name in only}
        for name, key in unpack_keys(large).items():
            if only is None or name in only:
                if key not in shelf:
                    shelf[key] = unpack(self._field(key))
                values[name] = shelf[key]
        return values

    def _field(self, key: int) -> bytes:
        rows = self._connection.query(f"SELECT body, {is_whole(f='fields')} FROM fields f WHERE key = ?", [key])
        body: bytes = self._whole("a value of a row", rows or [(b"", False)])[0][0]
        return body


def now() -> str:
    """Return the time as text: UTC, ISO 8601, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
