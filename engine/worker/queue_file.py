"""The queue of runs of a case, in a file beside it, so that a crash of anything leaves it to be gone on with.

`CASE questions/queue.json` lies in the folder of the pipelines that were made in the window. Each entry is a run as
`redwell run PIPELINE --case CASE --input INPUT --model MODEL` would do it, with `--trust-code` where that was allowed.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from engine.disk import questions_folder
from engine.errors import UsageError
from engine.worker.contract.queue import QueueEntry, QueueKind
from storage.errors import StorageError
from storage.export.atomic import replacing
from storage.lock import WriterLock

FILE = "queue.json"
MOST_ENTRIES = 500
LOCK_SECONDS = 10.0
"""How long a change waits for that of another window, which takes milliseconds on a disk that is not busy."""


def queue_file(case: Path) -> Path:
    """Return where the queue of a case is kept; it may not exist yet."""
    return questions_folder(case) / FILE


def load_queue(case: Path) -> list[QueueEntry]:
    """Read the queue of a case, empty where there is none; raises UsageError for a damaged file."""
    file = queue_file(case)
    try:
        text = file.read_text(encoding="utf-8")
        if not text.strip():
            raise ValueError("it is empty")
        return [QueueEntry(**entry) for entry in json.loads(text)["queue"]]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UsageError(
            f"the queue {file} cannot be read: {error}", advice="Remove the file; only the order of runs is lost."
        ) from error


@contextmanager
def queue_to_change(case: Path) -> Iterator[list[QueueEntry]]:
    """Read the queue of a case, and let no other window change it until the `with` ends; raises UsageError."""
    file = queue_file(case)
    try:
        file.parent.mkdir(exist_ok=True)
        lock = WriterLock(file, wait_seconds=LOCK_SECONDS)
    except (OSError, StorageError) as error:
        raise _not_kept(error) from error
    try:
        yield load_queue(case)
    finally:
        lock.release()


def question_names(case: Path) -> dict[str, str]:
    """Return what the questions of runs are called, by run, as far as the queue knows and can be read.

    That a queue cannot be read is told where it is shown; the runs of the case are there without it.
    """
    try:
        queue = load_queue(case)
    except UsageError:
        return {}
    return {entry.run_id: Path(entry.pipeline).stem for entry in queue if entry.run_id}


def save_queue(case: Path, queue: Sequence[QueueEntry]) -> None:
    """Write the queue in one step; raises UsageError where that cannot be done."""
    file = queue_file(case)
    body = {"queue": [dataclasses.asdict(entry) for entry in queue]}
    try:
        file.parent.mkdir(exist_ok=True)
        with replacing(file) as part:
            part.write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")
    except (OSError, StorageError) as error:
        raise _not_kept(error) from error


def _not_kept(error: Exception) -> UsageError:
    advice = "Free some disk space, or get permission to write there."
    return UsageError(f"the queue cannot be kept: {error}", advice=advice)


def add_entry(
    queue: Sequence[QueueEntry],
    pipeline: str,
    *,
    input: str = "",
    model: str = "",
    kind: QueueKind = "run",
    options: Mapping[str, str | int | float] | None = None,
) -> list[QueueEntry]:
    """Put a run or a build at the end, which takes the place of a build of the same pipeline that does not go on.

    Ended ones go from the front where there are very many. Raises UsageError when full.
    """

    def is_replaced(entry: QueueEntry) -> bool:
        return kind == "build" == entry.kind and entry.pipeline == pipeline

    kept = [entry for entry in queue if not is_replaced(entry)]
    while len(kept) >= MOST_ENTRIES:
        ended = next((entry for entry in kept if entry.state not in ("waiting", "running")), None)
        if ended is None:
            raise UsageError(f"the queue has {MOST_ENTRIES} runs", advice="Remove some of them.")
        kept.remove(ended)
    number = max((entry.id for entry in kept), default=0) + 1
    return [*kept, QueueEntry(number, pipeline, input, model, kind=kind, options=options or {})]


def move_entry(queue: Sequence[QueueEntry], id: int, step: int) -> list[QueueEntry]:
    """Move a run by so many places, as far as there are any; raises UsageError for one that is not there."""
    moved = find_entry(queue, id)
    place = queue.index(moved)
    others = [entry for entry in queue if entry is not moved]
    at = min(max(place + step, 0), len(others))
    return [*others[:at], moved, *others[at:]]


def change_entry(
    queue: Sequence[QueueEntry], id: int, change: Callable[[QueueEntry], QueueEntry | None]
) -> list[QueueEntry]:
    """Put what `change` makes of a run in its place, nothing for None; raises UsageError for one that is not there."""
    changed = find_entry(queue, id)
    made = change(changed)
    return [other for entry in queue if (other := made if entry is changed else entry) is not None]


def find_entry(queue: Sequence[QueueEntry], id: int) -> QueueEntry:
    """Return a run of the queue; raises UsageError."""
    match = next((entry for entry in queue if entry.id == id), None)
    if match is None:
        raise UsageError(f"the queue has no run {id}", advice="It may have been removed.")
    return match
