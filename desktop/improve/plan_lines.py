"""The plans of a build, put together from its events (engine.optimizer.events) or from the report of the last one."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from engine.worker.contract.build import LastBuild
from engine.worker.contract.events import (
    BuildFinished,
    BuildProgress,
    BuildStarted,
    CandidateDropped,
    CandidateFound,
    CandidateRated,
    Event,
    PlaceFinished,
)

OWN = 1
"""The number of the user's own plan, until a build says another."""
BEST, CHOSEN = "the best so far", "chosen"
TRIED, UNTRIED = "being tried", "not finished"


@dataclass(frozen=True, slots=True)
class PlanLine:
    """One plan. `score` is 1 to 4 on so many `rows`, None before it was rated; `seconds` is what these rows take.

    `dropped` says why it goes no further; `stands` that it is the best whole plan so far.
    """

    id: int
    parent: int | None = None
    directive: str = ""
    words: str = ""
    score: float | None = None
    rows: int = 0
    seconds: float | None = None
    dropped: str = ""
    stands: bool = False


@dataclass(slots=True)
class PlanLines:
    """All plans of one build by their number, and how the build is. Events may come in any order."""

    own: int = OWN
    lines: dict[int, PlanLine] = field(default_factory=dict)
    is_started: bool = False
    is_finished: bool = False
    documents: int = 0
    rows: int = 0
    """The sample has so many documents, and all have so many rows."""
    minutes: float = 0.0
    progress: BuildProgress | None = None

    def take(self, event: Event) -> int:
        """Take in an event; return the number of the plan that it is about, 0 for none."""
        match event:
            case BuildStarted():
                self.own, self.is_started, self.minutes = event.plan, True, event.minutes
                self.documents, self.rows = event.documents, event.rows
                return self._change(event.plan)
            case CandidateFound():
                return self._change(event.plan, parent=event.parent, directive=event.directive, words=event.words)
            case CandidateDropped():
                return self._drop(event)
            case CandidateRated():
                return self._rate(event)
            case PlaceFinished() if event.depth == 0:
                self._settle(event.plan, event.chosen)
            case BuildProgress():
                self.progress = event
            case BuildFinished():
                self.is_finished = True
                self._settle(0, event.chosen)
        return 0

    def parent_of(self, line: PlanLine) -> int:
        """Return the plan below which one is shown, 0 for the top: the user's own, and whose parent is not known."""
        parent = line.parent or 0
        return parent if parent in self.lines and parent != line.id else 0

    def state_of(self, line: PlanLine) -> str:
        """Say how a plan is: when the build is over, one was chosen, and none is being tried any more."""
        if line.stands and (self.is_finished or not line.dropped):
            return CHOSEN if self.is_finished else BEST
        if line.dropped:
            return "dropped"
        if line.score is not None:
            return "rated"
        return UNTRIED if self.is_finished else TRIED

    @property
    def folder_times(self) -> float:
        """Return how many times the rows of the sample all rows are; 0 before that is known."""
        return self.rows / self.documents if self.documents else 0.0

    def _change(self, id: int, **known: Any) -> int:
        self.lines[id] = replace(self.lines.get(id, PlanLine(id)), **known)
        return id

    def _drop(self, event: CandidateDropped) -> int:
        if not event.plan:
            return 0
        known = self.lines.get(event.plan)
        made: dict[str, Any] = {"directive": event.directive, "parent": event.parent or None}
        keep = known is not None and known.directive
        return self._change(event.plan, dropped=event.reason, **({} if keep else made))

    def _rate(self, event: CandidateRated) -> int:
        """Keep the rating on the most rows."""
        known = self.lines.get(event.plan)
        if known is not None and known.rows > event.rows:
            return event.plan
        return self._change(event.plan, rows=event.rows, score=event.score, seconds=event.seconds)

    def _settle(self, before: int, chosen: int) -> None:
        """Let a plan stand in place of the one it was made from; where the build ended, in place of all."""
        for line in [line for line in self.lines.values() if line.stands and (not before or line.id == before)]:
            self.lines[line.id] = replace(line, stands=False)
        if chosen in self.lines:
            self.lines[chosen] = replace(self.lines[chosen], stands=True)


def lines_of_report(last: LastBuild) -> PlanLines:
    """Make the plans of the last build from its report."""
    lines = PlanLines(own=last.own)
    for plan in last.plans:
        lines.lines[plan.id] = PlanLine(
            plan.id, plan.parent, plan.directive, plan.words, score=plan.score, rows=plan.rows, seconds=plan.seconds,
            dropped=plan.dropped, stands=plan.id == last.chosen,
        )  # fmt: skip
    lines.is_started = lines.is_finished = True
    lines.documents, lines.rows = last.sample, last.rows
    lines.minutes = last.minutes
    return lines
