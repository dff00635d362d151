"""Replies of the model, kept under a content hash, so that no finished call is ever made again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from storage.checksums import is_whole
from storage.codec import pack, text_of, unpack
from storage.errors import StorageError
from storage.topic import Topic, now


class Replies(Topic):
    """The part of a case that is the reply cache."""

    def get(self, key: str) -> dict[str, Any] | None:
        """Return the reply saved under `key` (hexadecimal digest), None when there is none."""
        rows = self._connection.query(
            f"SELECT body, {is_whole(r='replies')} FROM replies r WHERE key = ?", [bytes.fromhex(key)]
        )
        if not rows:
            return None
        value: dict[str, Any] = unpack(self._whole("a reply of the model", rows)[0][0])
        return value

    def save(self, key: str, reply: Mapping[str, Any], operator: str = "", run_id: str | None = None) -> None:
        """Save a reply; once this returns, the death of the process cannot lose it. The latest reply of a key stands.

        Raises StorageError inside a transaction, where that promise could not be kept.
        """
        if self._connection.in_transaction:
            raise StorageError("a reply was saved inside a transaction, where it would not yet be safe")
        if run_id is not None:
            self._need_run(run_id)
        with self._connection.transaction():
            self._connection.execute(
                "INSERT OR REPLACE INTO replies (key, body, operator, run, saved_at) VALUES (?, ?, ?, ?, ?)",
                [bytes.fromhex(key), pack(dict(reply)), operator, run_id, now()],
            )
            self._connection.execute("DELETE FROM begun_calls WHERE key = ? AND run = ?", [bytes.fromhex(key), run_id])

    def begin_call(self, key: str, operator: str, run_id: str) -> None:
        """Note that a run asks the model now. Its reply, or `end_call`, takes the note away; a kill leaves it."""
        with self._connection.transaction(relaxed=True):
            self._connection.execute(
                "INSERT OR REPLACE INTO begun_calls (key, run, operator, begun_at) VALUES (?, ?, ?, ?)",
                [bytes.fromhex(key), run_id, operator, now()],
            )

    def end_call(self, key: str, run_id: str) -> None:
        """Note that a call came to an end without a reply, as the model refused it."""
        with self._connection.transaction(relaxed=True):
            self._connection.execute("DELETE FROM begun_calls WHERE key = ? AND run = ?", [bytes.fromhex(key), run_id])

    def calls_of_run(self, run_id: str) -> dict[str, int]:
        """Count, per operator, the calls that this run made itself: replies it saved, not those it found."""
        return self._by_operator("replies WHERE run = ?", run_id)

    def unfinished_calls_of_run(self, run_id: str) -> dict[str, int]:
        """Count, per operator, the calls that were in progress when the run was killed or stopped."""
        return self._by_operator("begun_calls WHERE run = ?", run_id)

    def repeated_calls_of_run(self, run_id: str) -> dict[str, int]:
        """Count, per operator, the calls of this run that an earlier one had begun and not finished."""
        begun = "SELECT 1 FROM begun_calls b WHERE b.key = r.key AND b.run < r.run"
        return self._by_operator(f"replies r WHERE run = ? AND EXISTS ({begun})", run_id)

    def _by_operator(self, calls: str, run_id: str) -> dict[str, int]:
        rows = self._connection.query(
            f"SELECT operator, count(*) FROM {calls} GROUP BY operator ORDER BY operator", [run_id]
        )
        return {text_of(operator): count for operator, count in rows}
