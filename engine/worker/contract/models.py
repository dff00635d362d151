"""The models of this machine: what is known of each, and what came of adding or measuring one."""

from __future__ import annotations

from dataclasses import dataclass

from engine.worker.contract.query import Query


@dataclass(frozen=True, slots=True)
class ModelMemory:
    """What a model needs, with its whole context, and what is free now, in bytes."""

    weights_bytes: int
    kv_bytes: int
    compute_bytes: int
    available_bytes: int
    needed_bytes: int
    fits: bool


@dataclass(frozen=True, slots=True)
class ModelSpeed:
    """How fast a model is here, several replies at once; `estimated_from` a model that was measured, or measured."""

    read_tokens_per_second: float
    written_tokens_per_second: float
    is_estimated: bool
    estimated_from: str
    measured_at: str


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """All that is known of a model (models.status.ModelStatus, models.prospects.Prospect)."""

    id: str
    title: str
    kind: str
    purpose: str
    installed: bool
    is_default: bool
    licence: str
    made_by: str
    source: str
    sha256: str
    bytes: int
    context_tokens: int
    path: str
    memory: ModelMemory
    verdict: str
    why: str
    most_context_tokens: int | None
    speed: ModelSpeed | None


@dataclass(frozen=True, slots=True)
class MeasuredSpeed:
    """What was measured of a model; `layout` is the one that it answers best in, "" where that was not tried."""

    read_tokens_per_second: float
    written_tokens_per_second: float
    measured_at: str
    layout: str


@dataclass(frozen=True, slots=True)
class AddedModel:
    """A file of the user's own that was taken in; `answer` is what it said when it was tried, empty if it was not."""

    id: str
    sha256: str
    answer: str


ADD = Query[AddedModel]("models.add")
CHECK = Query[str]("models.check")
CHOOSE = Query[str]("models.choose")
INSTALL = Query[str]("models.install")
LIST = Query[list[ModelFacts]]("models.list")
MEASURE = Query[MeasuredSpeed]("models.measure")
REMOVE = Query[int]("models.remove")
