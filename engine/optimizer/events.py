"""What happens during a build, as frozen dataclasses (engine.executor.events): enough to draw the tree of plans."""

from __future__ import annotations

from dataclasses import dataclass

from engine.executor.events import Event


@dataclass(frozen=True, slots=True)
class BuildStarted(Event):
    """A build begins. `plan` is the id of the user's own plan; `documents` the rows of the sample, of all `rows`.

    `reviewed` counts the rows of these documents that people judged: from five on plans are rated by them alone.
    """

    case: str
    model: str
    agent_model: str
    minutes: float
    documents: int
    rows: int
    operators: tuple[str, ...]
    plan: int
    reviewed: int


@dataclass(frozen=True, slots=True)
class PlaceStarted(Event):
    """A part of a plan is looked at: the operators from which rewrites start, on so many rows of the sample.

    `depth` is 0 for the user's pipeline, 1 for what a rewrite made, and so on.
    """

    plan: int
    step: str
    operators: tuple[str, ...]
    depth: int
    rows: int


@dataclass(frozen=True, slots=True)
class CandidateFound(Event):
    """A directive made another plan of `parent`; `words` say what it changed. `by_model`: no template filled it in."""

    plan: int
    parent: int
    directive: str
    words: str
    step: str
    depth: int
    by_model: bool


@dataclass(frozen=True, slots=True)
class CandidateDropped(Event):
    """A plan could not be run, or a directive made none."""

    plan: int
    parent: int
    directive: str
    reason: str


@dataclass(frozen=True, slots=True)
class CandidateRated(Event):
    """A plan's output on so many rows was rated, 1 to 4. `seconds` is what these rows take with nothing known."""

    plan: int
    rows: int
    score: float
    seconds: float
    tokens: int


@dataclass(frozen=True, slots=True)
class PlaceFinished(Event):
    """A part of a plan is done: the plan `chosen` stands there now, for the reason told."""

    plan: int
    chosen: int
    step: str
    depth: int
    reason: str


@dataclass(frozen=True, slots=True)
class BuildProgress(Event):
    """How the time stands, and what is done next with an estimate of its seconds (0: not known)."""

    spent_seconds: float
    left_seconds: float
    doing: str
    about_seconds: float


@dataclass(frozen=True, slots=True)
class BuildFinished(Event):
    """The build ended. `status`: finished, out of time, stopped. Scores are those of the last rating, 1 to 4.

    `folder_seconds` is what the chosen plan is estimated to take for all rows. `own_score` is that of the user's plan.
    """

    status: str
    chosen: int
    score: float
    own_score: float
    folder_seconds: float
    reason: str
    seconds: float
    outputs_made: int
    outputs_reused: int
    calls_made: int
    calls_reused: int
