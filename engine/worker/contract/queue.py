"""The queue of runs of a case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from engine.worker.contract.query import Query

QueueState = Literal["waiting", "running", "finished", "failed", "cancelled"]
"""`running` when nothing runs means that it was interrupted: running it again goes on from the last reply."""


QueueKind = Literal["run", "build"]


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """One run. `input` is an `--input` of the command line, empty for the pipeline's own data.

    `trust_code`: Python that the pipeline brings along may run. `run_id`: the last run of it in the case, empty before
    one began. `told`: how that ended. A build of the pipeline (`redwell build`) waits and goes on as a run does;
    `options` are the other keys of its command.
    """

    id: int
    pipeline: str
    input: str = ""
    model: str = ""
    trust_code: bool = False
    state: QueueState = "waiting"
    run_id: str = ""
    told: str = ""
    kind: QueueKind = "run"
    options: Mapping[str, str | int | float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.state not in get_args(QueueState):
            raise ValueError(f"{self.state!r} is no state of a queue entry")
        if self.kind not in get_args(QueueKind):
            raise ValueError(f"{self.kind!r} is nothing that waits in a queue")


@dataclass(frozen=True, slots=True)
class Clarified:
    """The queue after a question was clarified, and the entry that asks it again."""

    queue: list[QueueEntry]
    entry: int


@dataclass(frozen=True, slots=True)
class Question:
    """A pipeline in the folder beside the case."""

    name: str
    path: str


ADD = Query[list[QueueEntry]]("queue.add")
CHOOSE = Query[list[QueueEntry]]("queue.choose")
CLARIFY = Query[Clarified]("queue.clarify")
MARK = Query[list[QueueEntry]]("queue.mark")
MOVE = Query[list[QueueEntry]]("queue.move")
QUESTIONS = Query[list[Question]]("queue.questions")
REMOVE = Query[list[QueueEntry]]("queue.remove")
SHOW = Query[list[QueueEntry]]("queue.show")
