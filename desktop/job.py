"""The job that is going on, as data with signals: what the window shows of an ingest or a run."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from PySide6.QtCore import QObject, Signal

from desktop.client import WorkerClient
from engine.worker.contract.events import (
    CommandFailed,
    CommandFinished,
    ConvertProgress,
    DocumentFailed,
    DocumentRead,
    Event,
    ExportProgress,
    FilesFound,
    ModelRestarted,
    RunProgress,
    RunStarted,
    Warned,
)

State = Literal["none", "going", "pausing", "cancelling"]

_SAID = {
    "ingest": "Documents are being read.",
    "run": "A question is being answered.",
    "build": "A question is being improved.",
    "export": "A file is being written.",
    "convert": "The case is being encrypted or decrypted.",
    "try": "A preview is being made.",
}

_SECRET = ("passphrase", "new_passphrase", "password")
"""Keys of commands that are passed on and not kept."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a job is. `left_seconds` is None until it can be told."""

    done: int = 0
    total: int = 0
    failed: int = 0
    pages: int = 0
    left_seconds: float | None = None


class Job(QObject):
    """At most one job: `ingest`, `run`, `build`, `export`, `try` or `convert`.

    Commands go to the worker; events come back as signals.
    """

    changed = Signal()
    """State or progress changed."""
    finished = Signal(int)
    """The job ended with this exit code (as on the command line)."""
    failed = Signal(str, str)
    """The job could not be done: message and advice."""
    refused = Signal(str, str)
    """Another job could not be begun while this one goes on, which it does not touch: message and advice."""
    noted = Signal(str)
    """Something a person should know, though the job goes on."""

    def __init__(self, client: WorkerClient, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._client = client
        self._id = ""
        self.name = ""
        self.state: State = "none"
        self.progress = Progress()
        self.given: dict[str, Any] = {}
        self.run: RunProgress | None = None
        """The latest of a run, None before there is one."""
        self.run_id = ""
        self.refusal: CommandFailed | None = None
        """What the last job was refused, if that is why it failed."""
        self.was_lost = False
        """The last job ended because the worker did."""
        self._began = 0.0
        self._paused_seconds = 0.0
        self._paused_at = 0.0
        client.told.connect(self._take)
        client.lost.connect(self._lost)

    @property
    def is_going(self) -> bool:
        """Say whether there is a job."""
        return self.state != "none"

    @property
    def told(self) -> str:
        """Say in a sentence what is going on; empty for nothing."""
        return _SAID.get(self.name, "Redwell is still working.") if self.is_going else ""

    def start(self, name: str, **given: Any) -> bool:
        """Start a job with the keys of its command.

        Return False, and say why, while another one is going and where the case was moved away.
        """
        if self.is_going:
            self.refused.emit("Redwell is busy with something else.", "Wait until it has finished, or stop it.")
            return False
        case = given.get("case")
        if case and not Path(case).exists():  # the worker would make an empty one
            self.refused.emit(f"There is no case at {case} any more.", "Put it back, or open it where it is now.")
            return False
        self.name, self.given = name, {key: value for key, value in given.items() if key not in _SECRET}
        self.state, self.progress, self.was_lost, self.refusal = "going", Progress(), False, None
        if name in ("run", "build"):
            self.run, self.run_id = None, ""
        self._began, self._paused_seconds = time.monotonic(), 0.0
        self._id = self._client.command(name, **given)
        self.changed.emit()
        return True

    def pause_or_resume(self) -> None:
        """Begin nothing new, while what is under way comes to its end; or go on after that."""
        if self.state == "going":
            self._client.command("pause")
            self._paused_at = time.monotonic()
            self._become("pausing")
        elif self.state == "pausing":
            self._client.command("resume")
            self._paused_seconds += time.monotonic() - self._paused_at
            self._become("going")

    def cancel(self) -> None:
        """Stop; what is finished is kept."""
        if self.state in ("going", "pausing"):
            self._client.command("cancel")
            self._become("cancelling")

    def _become(self, state: State) -> None:
        self.state = state
        self.changed.emit()

    def _lost(self, how: str) -> None:
        if self.is_going:
            self.was_lost = True
            self._end()
            self.failed.emit(
                f"Redwell's background program {how} during the work.", "What was finished is kept: start it again."
            )

    def _end(self) -> None:
        self._id = ""
        self._become("none")

    def _take(self, event: Event) -> None:
        match event:
            case FilesFound():
                self._advance(total=self.progress.total + event.total)
            case DocumentRead():
                self._advance(done=event.done, total=event.total, pages=self.progress.pages + event.pages)
            case DocumentFailed():
                self._advance(done=event.done, total=event.total, failed=self.progress.failed + 1)
            case ExportProgress() | ConvertProgress():
                self._advance(done=event.done, total=event.total)
            case RunStarted() | RunProgress() | ModelRestarted() | Warned():
                self._take_of_run(event)
            case CommandFinished() if event.id == self._id:
                self._end()
                self.finished.emit(event.exit_code)
            case CommandFailed() if event.id == self._id:
                self.refusal = event if event.need else None
                self._end()
                self.failed.emit(event.message, "" if self.refusal else event.advice)

    def _take_of_run(self, event: RunStarted | RunProgress | ModelRestarted | Warned) -> None:
        match event:
            case RunStarted():
                self.run_id = event.run_id
            case RunProgress():
                self.run = event
                self.changed.emit()
            case ModelRestarted():
                self.noted.emit(f"The model {event.model} was started again: {event.reason} ({event.settings})")
            case Warned():
                self.noted.emit(event.message)

    def _advance(self, **known: int) -> None:
        """Take parts of the progress that have changed."""
        now = replace(self.progress, **known)
        spent = time.monotonic() - self._began - self._paused_seconds
        left = spent / now.done * (now.total - now.done) if now.done else None
        self.progress = replace(now, left_seconds=left)
        self.changed.emit()
