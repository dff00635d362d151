"""What the worker tells: of its commands and questions, of runs, builds and trials."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.executor.events import (
    DocumentFailed,
    DocumentRead,
    Event,
    FilesFound,
    ModelLoading,
    ModelRestarted,
    OperatorProgress,
    RunStarted,
    Warned,
)
from engine.optimizer.events import (
    BuildFinished,
    BuildProgress,
    BuildStarted,
    CandidateDropped,
    CandidateFound,
    CandidateRated,
    PlaceFinished,
    PlaceStarted,
)
from engine.worker.contract.decoding import decoder
from engine.worker.contract.run import RunProgress

__all__ = [
    "BuildFinished",
    "BuildProgress",
    "BuildStarted",
    "CandidateDropped",
    "CandidateFound",
    "CandidateRated",
    "DocumentFailed",
    "DocumentRead",
    "Event",
    "FilesFound",
    "ModelLoading",
    "ModelRestarted",
    "OperatorProgress",
    "PlaceFinished",
    "PlaceStarted",
    "RunProgress",
    "RunStarted",
    "Warned",
]


@dataclass(frozen=True, slots=True)
class WorkerReady(Event):
    """The worker listens; `commands` are those it knows."""

    commands: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CommandAccepted(Event):
    """A command was read; a run or an ingest goes on until CommandFinished or CommandFailed."""

    id: str
    command: str


@dataclass(frozen=True, slots=True)
class CommandFinished(Event):
    """A run or an ingest came to its end. `exit_code` is as on the command line: 1 some items failed, 130 cancelled."""

    id: str
    command: str
    exit_code: int


@dataclass(frozen=True, slots=True)
class CommandFailed(Event):
    """A line was no command, or a command could not be carried out. The worker goes on.

    Where the user has only to allow something, `need` is read, write or overwrite, and `path` is what it is about: the
    same command with `allow_path` or `overwrite` goes on.
    """

    id: str
    command: str
    message: str
    advice: str
    exit_code: int
    need: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True)
class Answered(Event):
    """The answer to a question: JSON, or dataclasses that become JSON."""

    id: str
    query: str
    result: Any


@dataclass(frozen=True, slots=True)
class CaseChanged(Event):
    """An edit (`query`) changed the case: who shows it asks anew."""

    case: str
    query: str


@dataclass(frozen=True, slots=True)
class CaseNoted(Event):
    """Something a person should know of a case, and what to do (may be empty)."""

    message: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class ResultsWritten(Event):
    """A results file is there."""

    path: str
    rows: int
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExportProgress(Event):
    """How far an export is: `done` of `total` rows, files or pages, as `what` says."""

    done: int
    total: int
    what: str


@dataclass(frozen=True, slots=True)
class ConvertProgress(Event):
    """How far a conversion is: `what` is "copied" or "compared", `done` and `total` are bytes (0: not known)."""

    what: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class TriedLine:
    """One thing to look at, in the list of a trial (engine.worker.trial_items.TriedItem): who did what to which row."""

    operator: str
    name: str
    fate: str
    calls: int
    rows: int


@dataclass(frozen=True, slots=True)
class Tried(Event):
    """A trial is done: its items in order.

    `case` and `run` are where they and its results lie, until the next trial. `in_part`: the names of documents of
    which parts were read, and the share of their text, 0 to 1.
    """

    until: str
    documents: tuple[str, ...]
    items: tuple[TriedLine, ...]
    calls: int
    from_case: int
    note: str
    case: str
    run: str
    in_part: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class PlanWritten(Event):
    """The files of a build are there; `report` and `report_json` are "" where none was asked for."""

    path: str
    report: str
    report_json: str


@dataclass(frozen=True, slots=True)
class CareProgress(Event):
    """How far a check, a backup or a repair is (`question` is its id); `total` is 0 where it is not known."""

    question: str
    what: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class ModelProgress(Event):
    """How far a question about a model is (`question` is its id). `stage`: wait, download or verify."""

    question: str
    model: str
    stage: str
    done_bytes: int
    total_bytes: int
    note: str


KINDS: Mapping[str, type[Event]] = {kind.__name__: kind for kind in Event.__subclasses__()}
"""All that the worker tells, by name. A dataclass with slots is made twice: the second of a name stays."""


def read_event(body: Mapping[str, Any]) -> Event:
    """Read one event from the JSON of its line (Event.to_json)."""
    kind: Any = KINDS[body["event"]]
    event: Event = decoder(kind)({key: value for key, value in body.items() if key != "event"})
    return event
