"""What a person sees while a run goes on: a live picture on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import sys
import threading
from typing import Self

from rich.console import Console, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table

from engine.cli.console import counted, messages, one_line, show_problem, span_text, styled, write_json_text
from engine.executor.events import (
    DocumentFailed,
    Event,
    FilesFound,
    ModelLoading,
    ModelReady,
    ModelRestarted,
    ModelWorking,
    OperatorFinished,
    OperatorStarted,
    RunFinished,
    RunStarted,
    Warned,
)
from engine.executor.run_state import FileState, OperatorState, RunState

LINE_SECONDS = 15.0
"""Without a terminal, a line on progress at most this often."""

BAR_WIDTH = 20
SHOWN_PROBLEMS = 10
"""Row failures are shown at the end; of the files that fail so many are shown at once."""


class QuietWatch:
    """Follows a run or a build and says nothing but warnings. Use as a context manager around it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Leave the screen as it is."""

    def take(self, event: Event) -> None:
        """Take in one event (engine.executor.events.Emit)."""
        if isinstance(event, Warned):
            show_problem("warning", event.message.replace(" warning:", "", 1), style="bold yellow")


class Watch(QuietWatch):
    """Follows a run, how far it is too."""

    def __init__(self, state: RunState | None = None) -> None:
        self.state = state or RunState()
        self._lock = threading.Lock()

    def take(self, event: Event) -> None:
        """Take in one event."""
        with self._lock:
            self.state.take(event)
        super().take(event)
        self.show(event)

    def show(self, event: Event) -> None:
        """Draw what the event changed."""


class JsonWatch(Watch):
    """Writes each event to stdout as one line."""

    def take(self, event: Event) -> None:
        """Take in one event and write it; raises BrokenPipeError."""
        self.state.take(event)
        write_event(event)


def write_event(event: Event) -> None:
    """Write an event as one line; raises BrokenPipeError, which ends the work, where nobody reads any more.

    How far a model is comes from a callback, where an error ends nothing: the next event of another kind does.
    """
    try:
        write_json_text(event.to_json())
        sys.stdout.flush()
    except BrokenPipeError:
        if not isinstance(event, ModelWorking):
            raise


class LiveWatch(Watch):
    """Draws the run on a terminal."""

    def __init__(self, state: RunState | None = None) -> None:
        super().__init__(state)
        self._console = messages()
        self._live = Live(console=self._console, get_renderable=self._picture, refresh_per_second=5, transient=True)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Take the picture away; what follows stands in its place."""
        self._live.stop()

    def take(self, event: Event) -> None:
        """Take in one event; the picture is drawn by its own clock."""
        with self._lock:
            self.state.take(event)
        if isinstance(event, Warned):
            message = event.message.replace(" warning:", "", 1)
            self._console.print(styled(("warning: ", "bold yellow"), one_line(message)))
        elif isinstance(event, DocumentFailed):
            self._console.print(styled(("failed: ", "bold red"), one_line(f"{event.path}: {event.message}")))
        elif isinstance(event, ModelRestarted):
            self._console.print(styled(("restarted: ", "bold yellow"), event_line(event)))

    def _picture(self) -> RenderableType:
        with self._lock:
            return picture(self.state, self._console)


class PlainWatch(Watch):
    """Writes lines that stand well in a log."""

    def __init__(self, state: RunState | None = None) -> None:
        super().__init__(state)
        self._console = messages()
        self._said = self.state.clock()

    def show(self, event: Event) -> None:
        """Write what a log should have; progress at most every LINE_SECONDS."""
        line = event_line(event)
        now = self.state.clock()
        if not line and now - self._said < LINE_SECONDS:
            return
        self._said = now
        self._console.print(line or _progress_line(self.state), soft_wrap=True)


def choose_watch(*, quiet: bool, json_events: bool) -> Watch:
    """Choose the display for where stderr goes."""
    if json_events:
        return JsonWatch()
    if quiet:
        return Watch()
    return LiveWatch() if messages().is_terminal else PlainWatch()


def picture(state: RunState, console: Console) -> RenderableType:
    """Draw a run: a line per dataset and operator, then the model."""
    grid = Table.grid(padding=(0, 2))
    for _ in range(4):
        grid.add_column(no_wrap=True, overflow="ellipsis")
    for files in state.files.values():
        bar = ProgressBar(total=max(files.total, 1), completed=files.done, width=BAR_WIDTH)
        grid.add_row(one_line(files.dataset), bar, f"{files.done}/{files.total}", _files_text(files, state.clock()))
    for operator in state.operators.values():
        grid.add_row(*_operator_row(state, operator))
    outer = Table.grid()
    outer.add_row(grid)
    outer.add_row(styled((_foot(state, console.width), "dim")))
    return Padding(outer, (0, 1))


def _operator_row(state: RunState, operator: OperatorState) -> tuple[RenderableType, ...]:
    name = one_line(operator.name)
    if operator.end is not None:
        return name, styled(("done", "green")), f"{operator.done}/{operator.total}", _end_text(operator.end)
    if not operator.kind or not operator.total:
        return styled((name, "dim")), styled(("waiting", "dim")), "", ""
    bar = ProgressBar(total=1, completed=state.operator_share(operator), width=BAR_WIDTH)
    left = state.operator_seconds_left(operator)
    parts = [counted(operator.failed, "row") + " failed"] if operator.failed else []
    parts += [f"about {span_text(left)} left"] if left else []
    return name, bar, f"{operator.done}/{operator.total}", ", ".join(parts)


def _end_text(end: OperatorFinished) -> str:
    parts = [counted(end.rows_in, "row") + f" in, {end.rows_out:,} out"]
    parts += [f"{end.rejected:,} left out"] if end.rejected else []
    parts += [f"{end.failed:,} failed"] if end.failed else []
    return ", ".join(parts)


def _files_text(files: FileState, now: float) -> str:
    parts = [counted(files.pages, "page")]
    parts += [f"{files.ocr_pages} by OCR"] if files.ocr_pages else []
    parts += [f"{files.known} known already"] if files.known else []
    parts += [f"{files.failed} failed"] if files.failed else []
    left = files.seconds_left(now)
    parts += [f"about {span_text(left)} left"] if left else []
    return ", ".join(parts)


def _foot(state: RunState, width: int) -> str:
    """Write the last line: the model's speed, the calls, the time."""
    read, written = state.calls.speeds(state.clock())
    parts = []
    if state.loading:
        parts.append(f"loading the model {state.loading} …")
    elif state.model:
        parts.append(state.model)
    if read or written:
        parts.append(f"{written:,.0f} tokens/s written, {read:,.0f} read")
    if state.calls.made or state.calls.from_cache:
        cached = f" + {state.calls.from_cache:,} from the cache" if state.calls.from_cache else ""
        parts.append(counted(state.calls.made, "call") + cached)
    parts.append(span_text(state.elapsed_seconds))
    return one_line(_fitted(parts, width - 2))


def _fitted(parts: list[str], width: int) -> str:
    """Join the parts, leaving out the first ones on a narrow screen."""
    while len(parts) > 1 and len(" · ".join(parts)) > width:
        parts = parts[1:]
    return " · ".join(parts)


def event_line(event: Event) -> str:
    """Write what a log should have of an event; empty for one that is only progress."""
    text = ""
    match event:
        case RunStarted(resumed=resumed):
            again = ", going on where an earlier run stopped" if resumed else ""
            text = f"run {event.run_id} of {event.case}{again}"
        case FilesFound():
            text = f"{event.dataset}: {counted(event.total, 'file')}"
        case DocumentFailed():
            text = f"failed: {event.path}: {event.message}"
        case ModelLoading():
            text = f"loading the model {event.model}"
        case ModelReady():
            text = f"{event.model} is ready after {span_text(event.seconds)}"
        case ModelRestarted():
            text = f"the process of {event.model} starts again {event.settings}: {event.reason}"
        case OperatorStarted():
            text = f"{event.operator} ({event.kind}) begins"
        case OperatorFinished():
            text = f"{event.operator}: {_end_text(event)}"
        case RunFinished():
            text = f"{event.status} after {span_text(event.seconds)}"
    return one_line(text)


def _progress_line(state: RunState) -> str:
    parts = []
    for files in state.files.values():
        if files.done < files.total:
            left = files.seconds_left(state.clock())
            eta = f" (about {span_text(left)} left for reading)" if left else ""
            parts.append(f"{files.dataset} {files.done}/{files.total}{eta}")
    for operator in state.operators.values():
        if operator.total and operator.end is None:
            left = state.operator_seconds_left(operator)
            eta = f" (about {span_text(left)} left)" if left else ""
            parts.append(f"{operator.name} {operator.done}/{operator.total}{eta}")
    return one_line(" · ".join([*parts, _foot(state, 200)]))
