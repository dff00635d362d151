"""Results of sub-pipelines that are dear to make again: bytes, or JSON."""

from __future__ import annotations

from typing import Any

from storage.codec import pack, unpack
from storage.errors import BadRecord
from storage.topic import Topic


class Cache(Topic):
    """The part of a case that caches by kind and key."""

    def cached(self, kind: str, key: str) -> Any:
        """Return what was saved under `kind` and `key`: bytes or a JSON value; None when there is nothing."""
        row = self._connection.first("SELECT body FROM cache WHERE kind = ? AND key = ?", [kind, key])
        return None if row is None else unpack(row[0])

    def save_cached(self, kind: str, key: str, value: Any) -> None:
        """Save bytes or a JSON value; the latest value of a key stands. None is refused: it means `nothing saved`."""
        if value is None:
            raise BadRecord(f"the cache {kind!r} cannot hold None (key {key!r})")
        with self._connection.transaction(relaxed=True):
            self._connection.execute(
                "INSERT INTO cache (kind, key, body) VALUES (?, ?, ?)"
                " ON CONFLICT (kind, key) DO UPDATE SET body = excluded.body",
                [kind, key, pack(value)],
            )

    def forget_cached(self, kind: str) -> int:
        """Drop everything of one kind; return how many values were dropped."""
        with self._connection.transaction(relaxed=True):
            return self._connection.execute("DELETE FROM cache WHERE kind = ?", [kind])
