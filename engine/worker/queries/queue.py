"""The queue of runs of a case; every edit returns the whole queue, that of a clarified question also its entry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine.disk import questions_folder
from engine.errors import UsageError
from engine.worker.contract import queue as contract
from engine.worker.contract.queue import Clarified, Question, QueueEntry, QueueKind, QueueState
from engine.worker.queries.desk import Desk
from engine.worker.queries.registry import query
from engine.worker.queue_file import (
    add_entry,
    change_entry,
    find_entry,
    load_queue,
    move_entry,
    queue_to_change,
    save_queue,
)
from models.paths import expanded


@query(contract.SHOW)
def show(desk: Desk, *, case: str) -> list[QueueEntry]:
    """Return the queue of a case."""
    return load_queue(_path(case))


@query(contract.QUESTIONS)
def questions(desk: Desk, *, case: str) -> list[Question]:
    """List the pipelines in the folder beside the case, by name."""
    files = questions_folder(_path(case)).glob("*.y*ml")
    return [Question(file.stem, str(file)) for file in sorted(files, key=lambda file: file.name.casefold())]


@query(contract.ADD, lane="edit")
def add(  # noqa: PLR0913 - what an entry is
    desk: Desk,
    *,
    case: str,
    pipeline: str,
    input: str = "",
    model: str = "",
    kind: QueueKind = "run",
    options: Mapping[str, Any] | None = None,
) -> list[QueueEntry]:
    """Put a run or a build of a pipeline file at the end of the queue; raises UsageError where there is no such file.

    A build takes the place of an earlier one of the same pipeline.
    """
    path = expanded(pipeline)
    if not path.is_file():
        raise UsageError(f"there is no question {path}", advice="Choose the file of a question (.yaml).")
    with queue_to_change(_path(case)) as queue:
        added = add_entry(queue, str(path.resolve()), input=input, model=model, kind=kind, options=options)
        return _saved(case, added)


@query(contract.REMOVE, lane="edit")
def remove(desk: Desk, *, case: str, entry: int) -> list[QueueEntry]:
    """Take a run off the queue; what it has delivered stays in the case."""
    with queue_to_change(_path(case)) as queue:
        return _saved(case, change_entry(queue, entry, lambda old: None))


@query(contract.MOVE, lane="edit")
def move(desk: Desk, *, case: str, entry: int, step: int) -> list[QueueEntry]:
    """Move a run by so many places, up with a negative number."""
    with queue_to_change(_path(case)) as queue:
        return _saved(case, move_entry(queue, entry, step))


@query(contract.MARK, lane="edit")
def mark(
    desk: Desk, *, case: str, entry: int, state: QueueState, run: str | None = None, told: str = ""
) -> list[QueueEntry]:
    """Note how far a run of the queue is; `run`: which run of the case it is, if that is known."""

    def change(old: QueueEntry) -> QueueEntry:
        return replace(old, state=state, told=told, run_id=old.run_id if run is None else run)

    with queue_to_change(_path(case)) as queue:
        return _saved(case, change_entry(queue, entry, change))


@query(contract.CHOOSE, lane="edit")
def choose(
    desk: Desk, *, case: str, entry: int, input: str, model: str = "", trust_code: bool = False
) -> list[QueueEntry]:
    """Choose which documents a run reads, with which model, and whether the pipeline's own Python may run.

    It waits then, also where it was interrupted; who asks knows which one goes on.
    """

    def change(old: QueueEntry) -> QueueEntry:
        return replace(old, input=input, model=model, trust_code=trust_code, state="waiting", told="")

    with queue_to_change(_path(case)) as queue:
        return _saved(case, change_entry(queue, entry, change))


@query(contract.CLARIFY, lane="edit")
def clarify(  # noqa: PLR0913 - where the question is, and what is said of it
    desk: Desk, *, case: str, run: str, operator: str, question: str, said: str, entry: int = 0, document: str = ""
) -> Clarified:
    """Write into the pipeline of a run what a person says that a question means, and queue the pipeline again.

    It is the file of an entry of the queue, over the same documents, on the same model; without one (0) the file that
    the run was made from (engine.results.decisions.pipeline_of). What waits already is not added twice. `document` is
    the file name of the one document for which it is said, "" for all. Raises UsageError or PipelineError.
    """
    from engine.results.decisions import clarify as write_clarified  # noqa: PLC0415 - reads pipelines, others do not
    from engine.results.decisions import pipeline_of  # noqa: PLC0415

    with queue_to_change(_path(case)) as queue:
        queued = find_entry(queue, entry) if entry else None
        with desk.writing(case) as opened:
            file = Path(queued.pipeline) if queued is not None else pipeline_of(opened, run)
        if not file.is_file():
            raise UsageError(f"the file of the question, {file}, is gone", advice="Ask it again in Question.")
        write_clarified(file, operator, question, said, document)
        again = replace(queued, state="waiting", told="", run_id="") if queued is not None else QueueEntry(0, str(file))
        waiting = next((other for other in queue if replace(other, id=again.id) == again), None)
        if waiting is not None:
            return Clarified(queue, waiting.id)
        added = add_entry(queue, again.pipeline, input=again.input, model=again.model)
        changed = change_entry(added, added[-1].id, lambda new: replace(new, trust_code=again.trust_code))
        return Clarified(_saved(case, changed), added[-1].id)


def _saved(case: str, queue: list[QueueEntry]) -> list[QueueEntry]:
    save_queue(_path(case), queue)
    return queue


def _path(case: str) -> Path:
    return expanded(case).resolve()
