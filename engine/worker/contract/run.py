"""A run while it goes on: how far it is, the latest rows of each operator, and why rows were left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engine.executor.events import Event
from engine.worker.contract.query import Query


@dataclass(frozen=True, slots=True)
class OperatorLine:
    """One operator. `per_minute` are work items lately; it and `left_seconds` are None while they cannot be told."""

    name: str
    kind: str
    done: int
    total: int
    rejected: int
    failed: int
    is_finished: bool
    per_minute: float | None
    left_seconds: float | None


@dataclass(frozen=True, slots=True)
class ReasonLine:
    """How many rows an operator rejected or failed so far, and why."""

    operator: str
    fate: str
    reason: str
    rows: int


@dataclass(frozen=True, slots=True)
class AskedBack:
    """What an operator asks the user about one of its questions, and for how many rows so far."""

    operator: str
    question: str
    text: str
    rows: int


@dataclass(frozen=True, slots=True)
class RunProgress(Event):
    """How far a run is, told about twice a second.

    `left_seconds` is for rows alone, `reading_left_seconds` for files; each is None while it cannot be told. Speeds are
    tokens a second lately; `memory_bytes` is that of the worker and all its child processes. `other_reasons` counts the
    rows whose reasons are not among `reasons`.
    """

    run_id: str
    elapsed_seconds: float
    left_seconds: float | None
    share_done: float
    files_done: int
    files_total: int
    reading_left_seconds: float | None
    operators: tuple[OperatorLine, ...]
    calls_made: int
    calls_from_cache: int
    read_per_second: float
    written_per_second: float
    loading: str
    model: str
    memory_bytes: int
    reasons: tuple[ReasonLine, ...]
    other_reasons: int
    asked_back: tuple[AskedBack, ...] = ()


@dataclass(frozen=True, slots=True)
class LiveRows:
    """Some rows of one operator, the latest first. `operator` is the one asked for, or the last with rows.

    Of each row, as it was made, there are some fields, long ones cut, with `…` at the end.
    """

    operator: str
    total: int
    rows: tuple[Mapping[str, str], ...]


ROWS = Query[LiveRows]("run.rows")
