"""What happens during a run, as frozen dataclasses: one JSON line each. Nothing else reports progress."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

from storage.codec import dump_json


@dataclass(frozen=True, slots=True)
class Event:
    """Base of all events; `to_json` writes one line, engine.worker.contract.events.read_event reads it back."""

    def to_json(self) -> str:
        """Write one line: the event's kind first, then its fields."""
        body = {"event": type(self).__name__, **dataclasses.asdict(self)}
        return dump_json(body)


@dataclass(frozen=True, slots=True)
class RunStarted(Event):
    """A run begins; `resumed` says that an earlier, unfinished run of the same plan left replies behind."""

    run_id: str
    case: str
    model: str
    operators: tuple[str, ...]
    resumed: bool


@dataclass(frozen=True, slots=True)
class FilesFound(Event):
    """Files of one dataset, before anything is read."""

    dataset: str
    total: int


@dataclass(frozen=True, slots=True)
class DocumentRead(Event):
    """One file is a document now. `status` is parsed, known (from an earlier run) or duplicate."""

    dataset: str
    path: str
    document_id: str
    status: str
    pages: int
    ocr_pages: int
    seconds: float
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class DocumentFailed(Event):
    """One file could not be read; the others go on."""

    dataset: str
    path: str
    reason: str
    message: str
    advice: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class ModelLoading(Event):
    """The weights are being loaded."""

    model: str


@dataclass(frozen=True, slots=True)
class ModelReady(Event):
    """The model answers; `context_tokens` is its context."""

    model: str
    context_tokens: int
    seconds: float


@dataclass(frozen=True, slots=True)
class ModelRestarted(Event):
    """The model's process ended and another takes its place; what was in progress is asked again.

    `settings` says with which settings, smaller ones where memory was why.
    """

    model: str
    reason: str
    settings: str


@dataclass(frozen=True, slots=True)
class OperatorStarted(Event):
    """An operator begins to take rows; those of a row-local chain all begin together."""

    operator: str
    kind: str


@dataclass(frozen=True, slots=True)
class OperatorProgress(Event):
    """Work items (rows, pairs, groups) of an operator so far; `total` may grow while rows stream in."""

    operator: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class ChainProgress(Event):
    """Rows that have passed all row-local operators of a chain.

    `size_done` and `size_total` are the work: characters of the rows' texts, with an allowance for each reply.
    `row_ids` are the rows that the operators were given on the way of the one that passed last, () before the first.
    `readings` says how often each text is likely to be read: by each operator that asks about it.
    """

    operators: tuple[str, ...]
    rows_done: int
    rows_total: int
    size_done: int
    size_total: int
    row_ids: tuple[str, ...] = ()
    readings: int = 1


@dataclass(frozen=True, slots=True)
class OperatorFinished(Event):
    """All rows have passed an operator."""

    operator: str
    rows_in: int
    rows_out: int
    rejected: int
    failed: int


@dataclass(frozen=True, slots=True)
class RowFailed(Event):
    """One row failed in one operator; the others go on."""

    operator: str
    row_id: str
    error: str
    advice: str


@dataclass(frozen=True, slots=True)
class ModelCall(Event):
    """One reply: its tokens and seconds; cached replies cost nothing."""

    operator: str
    row_id: str
    prompt_tokens: int
    reused_tokens: int
    sampled_tokens: int
    forced_tokens: int
    seconds: float
    from_cache: bool


@dataclass(frozen=True, slots=True)
class ModelWorking(Event):
    """How far the calls in progress of a model are, about once a second: tokens read of their prompts, and written.

    A call that has ended (ModelCall) counts no more.
    """

    model: str
    read: int
    written: int


@dataclass(frozen=True, slots=True)
class Warned(Event):
    """Something a user should know, though the run goes on."""

    message: str


@dataclass(frozen=True, slots=True)
class RunFinished(Event):
    """The run ended. `status`: finished, failed, cancelled. `exit_code` as the command line gives it."""

    run_id: str
    status: str
    rows: int
    failed_items: int
    exit_code: int
    seconds: float
    message: str = ""
    advice: str = ""


Emit = Callable[[Event], None]
