"""Improving a question: what is known before a build, its plans, and how the last one ended."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.worker.contract.query import Query
from engine.worker.contract.queue import Question


@dataclass(frozen=True, slots=True)
class BuildSetup:
    """What a person wants to know before a build. `pipeline` is the file as the queue names it.

    `seconds` is what the question takes for all documents now, None where the speed of the model is not known;
    `reviewed` the rows of the last run that were judged: from `least_reviewed` on plans are rated by them alone.
    Until then plans are rated by whether the values of the fields `checkable` stand in the documents.
    """

    pipeline: str
    reviewed: int
    least_reviewed: int
    checkable: tuple[str, ...]
    calls: int
    seconds: float | None
    model: str


@dataclass(frozen=True, slots=True)
class BuildFiles:
    """Paths for the command `build`: the chosen plan, the report (its JSON beside it)."""

    out: str
    report: str

    @property
    def report_json(self) -> Path:
        """Return where the report for programs lies."""
        return Path(self.report).with_suffix(".json")


@dataclass(frozen=True, slots=True)
class PlanWords:
    """A directive in words."""

    name: str
    title: str
    does: str


@dataclass(frozen=True, slots=True)
class PlanSummary:
    """A plan of the last build, with its rating on the most rows; `score` and `seconds` are None where it has none.

    `parent` is the plan that it was made from, None for the user's own; `dropped` says why it went no further.
    """

    id: int
    parent: int | None
    directive: str
    words: str
    depth: int
    by_model: bool
    dropped: str
    score: float | None
    rows: int
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Finalist:
    """A plan to choose from: its rating, and what it takes for all documents."""

    plan: int
    score: float
    seconds: float
    beats_own: bool
    on_frontier: bool


@dataclass(frozen=True, slots=True)
class LastBuild:
    """How the last build of a pipeline ended; `own` is the user's own plan, `report` the page for a reader.

    Plans were tried on `sample` of all `rows`.
    """

    own: int
    chosen: int
    reason: str
    status: str
    minutes: float
    seconds: float
    sample: int
    rows: int
    outputs_reused: int
    outputs_made: int
    points: tuple[Finalist, ...]
    plans: tuple[PlanSummary, ...]
    report: str


@dataclass(frozen=True, slots=True)
class Rating:
    """A rating, 1 to 4, on so many rows; `grounds` are what it is made of, by name, with their shares."""

    rows: int
    score: float
    grounds: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class PartRatings:
    """How a plan was rated in one part, `operators`, or as a whole; `trouble` says why it could not go on."""

    operators: tuple[str, ...]
    is_whole: bool
    ratings: tuple[Rating, ...]
    seconds: float | None
    trouble: str


@dataclass(frozen=True, slots=True)
class PlanDetails:
    """A plan: its YAML, what changed from the plan before (`diff`), and how each part of it was rated.

    `operators` are those of each step, `complaints` those about each proposal that was sent back.
    """

    directive: str
    words: str
    by_model: bool
    dropped: str
    operators: tuple[tuple[str, ...], ...]
    complaints: tuple[tuple[str, ...], ...]
    yaml: str
    diff: str
    ratings: tuple[PartRatings, ...]


@dataclass(frozen=True, slots=True)
class SideBySide:
    """What two plans wrote of one sample document: rows as JSON objects, and why it was left out, "" if it was not.

    `documents` are those there are, as [id, name]; `operators` the part of the plan whose outputs these are. All is
    empty where no part was tried with both plans.
    """

    operators: tuple[str, ...]
    documents: tuple[tuple[str, str], ...]
    document: str
    left: tuple[dict[str, Any], ...]
    right: tuple[dict[str, Any], ...]
    left_reason: str
    right_reason: str


DIRECTIVES = Query[list[PlanWords]]("build.directives")
LAST = Query[LastBuild | None]("build.last")
OUTPUTS = Query[SideBySide]("build.outputs")
PLAN = Query[PlanDetails]("build.plan")
PREPARE = Query[BuildFiles]("build.prepare")
SETUP = Query[BuildSetup]("build.setup")
USE = Query[Question]("build.use")
