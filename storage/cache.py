"""Values by kind and key, as bytes or JSON: results that are costly to make again, and small notes of a person."""

from __future__ import annotations

from typing import Any

from storage.codec import pack, unpack
from storage.errors import BadRecord
from storage.topic import Topic


class Cache(Topic):
    """The part of a case that keeps values by kind and key."""

    def get(self, kind: str, key: str) -> Any:
        """Return what was saved under `kind` and `key`: bytes or a JSON value; None when there is nothing."""
        row = self._connection.first("SELECT body FROM cache WHERE kind = ? AND key = ?", [kind, key])
        return None if row is None else unpack(row[0])

    def of_kind(self, kind: str) -> dict[str, Any]:
        """Return everything of one kind, by key."""
        rows = self._connection.query("SELECT key, body FROM cache WHERE kind = ? ORDER BY key", [kind])
        return {key: unpack(body) for key, body in rows}

    def save(self, kind: str, key: str, value: Any) -> None:
        """Save bytes or a JSON value; the latest value of a key stands. None is refused: it means `nothing saved`."""
        if value is None:
            raise BadRecord(f"the cache {kind!r} cannot hold None (key {key!r})")
        with self._connection.transaction(relaxed=True):
            self._connection.execute(
                "INSERT INTO cache (kind, key, body) VALUES (?, ?, ?)"
                " ON CONFLICT (kind, key) DO UPDATE SET body = excluded.body",
                [kind, key, pack(value)],
            )

    def forget(self, kind: str, key: str | None = None) -> int:
        """Drop the value of a key, or everything of one kind; return how many values were dropped."""
        which, values = ("", [kind]) if key is None else (" AND key = ?", [kind, key])
        with self._connection.transaction(relaxed=True):
            return self._connection.execute(f"DELETE FROM cache WHERE kind = ?{which}", values)
