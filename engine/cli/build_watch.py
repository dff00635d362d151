"""What a person sees while a build goes on: what is tried, what it is rated, and what it will take."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Self

from rich.console import Console
from rich.text import Text

from engine.cli.console import counted, messages, one_line, span_text, styled
from engine.cli.watching import JsonWatch, QuietWatch, event_line
from engine.executor.events import DocumentFailed, DocumentRead, Event, FilesFound, ModelLoading, ModelReady
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

INDENT = "  "


class LineWatch(QuietWatch):
    """Writes a line for each thing that happens; on a terminal, what is being done stands below them."""

    def __init__(self) -> None:
        self._console: Console = messages()
        self._status = self._console.status("") if self._console.is_terminal else None
        self._own = 0

    def __enter__(self) -> Self:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Take the last line away."""
        if self._status is not None:
            self._status.stop()

    def take(self, event: Event) -> None:
        """Write a line, or show what is being done."""
        super().take(event)
        if isinstance(event, BuildStarted):
            self._own = event.plan
        if isinstance(event, BuildProgress):
            if self._status is not None:
                self._status.update(Doing(event))
            return
        if line := self.line(event):
            self._console.print(styled(line), soft_wrap=not self._console.is_terminal)

    def line(self, event: Event) -> str:
        """Write what happened in a line; empty for what is not worth one."""
        text = _frame_line(event)
        match event:
            case PlaceStarted():
                text = (
                    f"{INDENT * event.depth}{one_line(' -> '.join(event.operators))}: on {counted(event.rows, 'row')}"
                )
            case CandidateFound():
                text = f"{INDENT * (event.depth + 1)}plan {event.plan}: {event.directive}"
            case CandidateDropped():
                text = f"{INDENT}plan {event.plan} ({event.directive}) dropped: {one_line(event.reason)}"
            case CandidateRated():
                text = f"{INDENT}{self._name(event.plan)} rated {event.score:.2f} on {counted(event.rows, 'row')}"
            case PlaceFinished() if event.depth == 0 or event.chosen != event.plan:
                text = f"{INDENT * event.depth}{self._name(event.chosen)} stands: {one_line(event.reason)}"
        return text

    def _name(self, plan: int) -> str:
        return "your own plan" if plan == self._own else f"plan {plan}"


def choose_build_watch(*, quiet: bool, json_events: bool) -> QuietWatch:
    """Choose the display."""
    if json_events:
        return JsonWatch()
    return QuietWatch() if quiet else LineWatch()


def _frame_line(event: Event) -> str:
    """Write what happened before and after the search."""
    text = ""
    match event:
        case FilesFound():
            text = f"reading {counted(event.total, 'file')} of {one_line(event.dataset)}"
        case DocumentFailed() | ModelLoading() | ModelReady():
            text = event_line(event)
        case DocumentRead() if event.done == event.total:
            text = f"{counted(event.total, 'file')} read"
        case BuildStarted():
            text = f"plans are tried on {event.documents} of {event.rows} rows, for {event.minutes:g} minutes"
            text += f"; {counted(event.reviewed, 'reviewed row')} known" if event.reviewed else ""
        case BuildFinished():
            text = f"{event.status} after {span_text(event.seconds)}"
    return text


class Doing:
    """What is being done and the time that is left, which runs on between two events."""

    def __init__(self, event: BuildProgress, clock: Callable[[], float] = time.monotonic) -> None:
        self._event, self._clock, self._since = event, clock, clock()

    def __rich__(self) -> Text:
        """Write it as of now."""
        event, spent = self._event, self._clock() - self._since
        about = f", about {span_text(event.about_seconds)}" if event.about_seconds else ""
        return styled(f"{one_line(event.doing)}{about} · {span_text(max(0.0, event.left_seconds - spent))} left")
