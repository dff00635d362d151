"""The events of a run, one JSON object each, in the order they were emitted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from storage.codec import pack, unpack
from storage.topic import Topic


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """One event; `number` counts from 1 within its run."""

    number: int
    event: dict[str, Any]


class Events(Topic):
    """The part of a case that holds events."""

    def append_event(self, run_id: str, event: Mapping[str, Any]) -> int:
        """Add an event to the run's end; return its number. This is the one write that is not idempotent."""
        with self._connection.transaction(relaxed=True):
            last = self._connection.count("SELECT max(number) FROM events WHERE run = ?", [run_id])
            if not last:
                self._need_run(run_id)
            self._connection.execute(
                "INSERT INTO events (run, number, body) VALUES (?, ?, ?)", [run_id, last + 1, pack(dict(event))]
            )
            return last + 1

    def events(self, run_id: str, after: int = 0) -> list[StoredEvent]:
        """Return the run's events with numbers greater than `after`, in order."""
        self._need_run(run_id)
        rows = self._connection.query(
            "SELECT number, body FROM events WHERE run = ? AND number > ? ORDER BY number", [run_id, after]
        )
        return [StoredEvent(number, unpack(body)) for number, body in rows]
