"""Runs of pipelines over the case, and the columns and rows each one delivered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from storage.checksums import is_whole
from storage.codec import pack, text_of, unpack_object
from storage.lock import writer_of
from storage.topic import Topic, now

RunStatus = Literal["running", "finished", "failed", "interrupted", "cancelled"]


@dataclass(frozen=True, slots=True)
class StoredRun:
    """One run. Times are UTC; `finished_at` is None until it ended. `settings` is what the caller gave."""

    id: str
    pipeline_yaml: str
    pipeline_digest: str
    model_name: str
    settings: dict[str, Any]
    status: RunStatus
    started_at: str
    finished_at: str | None


@dataclass(frozen=True, slots=True)
class StoredResults:
    """What a run delivered: the columns in order, and the ids of the result rows in order."""

    columns: tuple[str, ...]
    row_ids: tuple[str, ...]


class Runs(Topic):
    """The part of a case that holds runs and their results."""

    def start(
        self, *, pipeline_yaml: str, pipeline_digest: str, model_name: str, settings: Mapping[str, Any] | None = None
    ) -> str:
        """Begin a run with status `running`; return its id, a number written as text."""
        with self._connection.transaction():
            key = self._connection.insert(
                "INSERT INTO runs (pipeline_yaml, pipeline_digest, model_name, model_digest, settings, status,"
                " started_at) VALUES (?, ?, ?, '', ?, 'running', ?)",
                [pipeline_yaml, pipeline_digest, model_name, pack(dict(settings or {})), now()],
            )
        return str(key)

    def finish(self, run_id: str, status: RunStatus) -> None:
        """Record how a run ended; `running` takes up again a run that was interrupted."""
        self._need_run(run_id)
        with self._connection.transaction():
            self._connection.execute(
                "UPDATE runs SET status = ?, finished_at = ? WHERE id = ?",
                [status, None if status == "running" else now(), run_id],
            )

    def get(self, run_id: str) -> StoredRun:
        """Return one run; raises NotInCase."""
        self._need_run(run_id)
        return self._runs("WHERE id = ?", [run_id])[0]

    def all(self) -> list[StoredRun]:
        """List all runs, first started first."""
        return self._runs("ORDER BY id", [])

    def latest(self, pipeline_digest: str | None = None) -> StoredRun | None:
        """Return the run that was started last, of one pipeline if its digest is given; None when there is none."""
        if pipeline_digest is None:
            runs = self._runs("ORDER BY id DESC LIMIT 1", [])
        else:
            runs = self._runs("WHERE pipeline_digest = ? ORDER BY id DESC LIMIT 1", [pipeline_digest])
        return runs[0] if runs else None

    def latest_delivered(self) -> StoredRun | None:
        """Return the run that was started last of those that have delivered results; None when there is none."""
        runs = self._runs("WHERE columns IS NOT NULL ORDER BY id DESC LIMIT 1", [])
        return runs[0] if runs else None

    def _runs(self, tail: str, parameters: list[Any]) -> list[StoredRun]:
        rows = self._connection.query(
            "SELECT id, pipeline_yaml, pipeline_digest, model_name, settings, status, started_at, finished_at,"
            f" {is_whole(r='runs')} FROM runs r {tail}",
            parameters,
        )
        # Only the living writer can be running; it marks leftovers when it opens the case, a reader sees through them.
        alive = writer_of(self._path) is not None
        return [_stored_run(row, alive=alive) for row in self._whole("a run", rows)]

    def mark_interrupted(self) -> int:
        """Mark runs that a dead process left `running`; return how many. Called when the case is opened to write."""
        left = self._connection.count("SELECT count(*) FROM runs WHERE status = 'running'")
        if left:
            with self._connection.transaction():
                self._connection.execute(
                    "UPDATE runs SET status = 'interrupted', finished_at = ? WHERE status = 'running'", [now()]
                )
        return left

    def save_results(self, run_id: str, columns: Sequence[str], row_ids: Iterable[str]) -> None:
        """Save what the run delivers, replacing what was saved before. The rows must be there: raises NotInCase."""
        ordered = list(row_ids)
        with self._connection.transaction():
            self._need_run(run_id)
            keys = [self._known_row_key(run_id, row_id) for row_id in ordered]
            self._connection.execute("UPDATE runs SET columns = ? WHERE id = ?", [pack(list(columns)), run_id])
            self._connection.execute("DELETE FROM results WHERE run = ?", [run_id])
            self._connection.execute_many(
                "INSERT INTO results (run, position, row) VALUES (?, ?, ?)",
                ((run_id, position, key) for position, key in enumerate(keys)),
            )

    def has_results(self, run_id: str) -> bool:
        """Say whether the run has delivered its results, which may be no rows; none of them is read."""
        self._need_run(run_id)
        return self._columns(run_id) is not None

    def results(self, run_id: str) -> StoredResults | None:
        """Return what the run delivered; None when it has delivered nothing yet (which differs from no rows)."""
        self._need_run(run_id)
        columns = self._columns(run_id)
        if columns is None:
            return None
        rows = self._connection.query(
            f"SELECT r.position, i.id, {is_whole(r='results', i='row_ids')} FROM results r"
            " LEFT JOIN row_ids i ON i.key = r.row WHERE r.run = ? ORDER BY r.position",
            [run_id],
        )
        what = f"a row of the results of run {run_id}"
        delivered = self._whole(what, rows)
        if any(number != expected for expected, (number, _) in enumerate(delivered)):
            raise self._damaged(what)
        return StoredResults(columns, tuple(row_id for _, row_id in delivered))


def _stored_run(row: tuple[Any, ...], *, alive: bool) -> StoredRun:
    run_id, yaml, digest, model_name, settings, status, started_at, finished_at = row
    if status == "running" and not alive:
        status = "interrupted"
    return StoredRun(
        id=str(run_id),
        pipeline_yaml=text_of(yaml),
        pipeline_digest=text_of(digest),
        model_name=text_of(model_name),
        settings=unpack_object(settings),
        status=status,
        started_at=started_at,
        finished_at=finished_at,
    )
