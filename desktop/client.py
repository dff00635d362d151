"""The worker as the window sees it: commands and questions go out, events and answers come in, nothing waits."""

from __future__ import annotations

import json
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import shiboken6
from PySide6.QtCore import QObject, QProcess, QProcessEnvironment, QTimer, Signal

from engine.worker.contract import LONGEST_LINE, Query
from engine.worker.contract.events import CommandFailed, WorkerReady, read_event

WORKER: Sequence[str] = (sys.executable, "-P", "-c", "from engine.cli.serving import run; run()", "worker")
"""`redwell worker`, in the environment that the window runs in."""

RESTART_MILLISECONDS = (0, 500, 2000, 5000)
"""How long the window waits before it starts a worker again that ended by itself, the last one for ever after."""

STARTING_MILLISECONDS = 1000
"""How long `flush` waits at most for the system to start the worker; that takes a few of them."""

CLOSING_MILLISECONDS = 3000
"""How long the end of the worker is waited for; it makes the changes first that have no answer yet."""

TURN_SECONDS = 0.01
"""How long lines are taken in one turn of the event loop, so that a burst of them does not hold up the window."""

_TOO_MUCH = ("That is too much at once.", "Choose fewer documents.")
"""Said of what does not fit into one line to the worker."""

Failed = Callable[[str, str], None]
Answer = TypeVar("Answer")


class Ask(Protocol):
    """Asks a question about a case (desktop.workspace.Workspace.ask); returns its id."""

    def __call__(
        self, query: Query[Answer], then: Callable[[Answer], object], failed: Failed | None = None, **given: Any
    ) -> str:
        """Ask; `then` gets the answer."""


@dataclass(frozen=True, slots=True)
class _Question:
    line: dict[str, Any]
    decode: Callable[[Any], Any]
    then: Callable[[Any], object]
    failed: Failed
    is_edit: bool


class WorkerClient(QObject):
    """Speaks with one worker process, and starts another one when it ends by itself.

    Questions that were waiting are asked again then; edits and jobs are not, for they may have been done in part.
    A command that is given while there is no worker waits for the next one.
    """

    told = Signal(object)
    """Every event that answers no question of ours (engine.worker.contract.events)."""
    ready = Signal()
    """A worker listens."""
    lost = Signal(str)
    """The worker ended by itself; the text says how. Another one is being started."""
    problem = Signal(str, str)
    """A question or command failed and nobody else takes it: what, and what to do."""

    def __init__(self, parent: QObject | None = None, command: Sequence[str] = WORKER) -> None:
        super().__init__(parent)
        self._command = tuple(command)
        self.commands: tuple[str, ...] = ()
        """What the worker can do; empty until one has said."""
        self.environment: dict[str, str] = {}
        """Variables that the worker gets besides those of the window; they count from its next start on."""
        self._passphrases: dict[str, str] = {}  # by case; a worker is told them before anything else
        self._process: QProcess | None = None
        self._questions: dict[str, _Question] = {}
        self._commands: list[dict[str, Any]] = []  # given while there was no worker
        self._leaving: list[QProcess] = []
        self._count = 0
        self._losses = 0
        self._is_closing = False
        self._lines: deque[bytes] = deque()
        self._rest = b""
        self._taking = QTimer(self, interval=0, singleShot=True)
        self._taking.timeout.connect(self._take_lines)
        self._restarting = QTimer(self, singleShot=True)
        self._restarting.timeout.connect(self.start)

    @property
    def process_id(self) -> int:
        """Return the worker's process id, 0 while there is none."""
        return self._process.processId() if self._process is not None else 0

    @property
    def waiting(self) -> int:
        """Count the questions that have no answer yet."""
        return len(self._questions)

    @property
    def is_changing(self) -> bool:
        """Say whether a change has no answer yet."""
        return any(question.is_edit for question in self._questions.values())

    def start(self) -> None:
        """Start the worker unless it runs."""
        if self._process is not None or self._is_closing:
            return
        process = QProcess(self)
        environment = QProcessEnvironment.systemEnvironment()
        environment.insert("PYTHONUNBUFFERED", "1")
        for name, value in self.environment.items():
            environment.insert(name, value)
        process.setProcessEnvironment(environment)
        process.setStandardErrorFile(QProcess.nullDevice())  # a trace may hold words of documents
        process.readyReadStandardOutput.connect(self._read)
        process.finished.connect(self._ended)
        process.errorOccurred.connect(self._not_started)
        self._process = process
        process.start(self._command[0], list(self._command[1:]))
        for case, passphrase in self._passphrases.items():
            self._write(_unlocking(case, passphrase))
        for question in self._questions.values():
            self._write(question.line)
        commands, self._commands = self._commands, []
        for line in commands:
            self._write(line)

    def ask(
        self,
        query: Query[Answer] | str,
        then: Callable[[Answer], object],
        failed: Failed | None = None,
        *,
        is_edit: bool = False,
        **given: Any,
    ) -> str:
        """Ask a question; `then` gets its answer, or `failed` the message and the advice. Return its id.

        A query of the contract is answered by its dataclass, another by its name with JSON. Without `failed`, a failure
        comes as the signal `problem`.
        """
        self._count += 1
        id = f"q{self._count}"
        name, decode = (query, _as_it_is) if isinstance(query, str) else (query.name, query.decode)
        line = {"command": "ask", "id": id, "query": name, **given}
        self._questions[id] = _Question(line, decode, then, failed or self.problem.emit, is_edit)
        if _is_too_long(line):
            self._refuse(line)
        else:
            self._write(line)
        return id

    def forget(self, id: str) -> None:
        """Give up a question; its answer does not come. An id that has been answered is no error."""
        if self._questions.pop(id, None) is not None:
            self._write({"command": "forget", "id": id})

    def command(self, name: str, **given: Any) -> str:
        """Give a command that is no question (`run`, `ingest`, `pause`, ...); its events carry the id returned."""
        self._count += 1
        id = f"c{self._count}"
        line = {"command": name, "id": id, **given}
        if _is_too_long(line):
            self._refuse(line)
        elif self._process is None:
            self._commands.append(line)
        else:
            self._write(line)
        return id

    def unlock(self, case: str, passphrase: str) -> None:
        """Have this worker, and those after it, open an encrypted case (an absolute path) with a passphrase.

        It is kept in memory here and goes through the worker's standard input; an empty one is forgotten.
        """
        self._passphrases.pop(case, None)
        if passphrase:
            self._passphrases[case] = passphrase
        self._write(_unlocking(case, passphrase))

    def restart(self) -> None:
        """End the worker and start another one, so that it takes on its environment anew; questions are asked again."""
        self._leaving = [process for process in self._leaving if process.state() != QProcess.ProcessState.NotRunning]
        self._dismiss()
        self._lines, self._rest = deque(), b""
        self._fail_edits()
        self.start()

    def close(self) -> None:
        """End the worker: it gets the end of its input, some time, and is killed then."""
        self._is_closing = True
        self._restarting.stop()
        self._taking.stop()
        self._questions.clear()
        self._commands.clear()
        self._dismiss()
        for leaving in self._leaving:
            running = leaving.state() != QProcess.ProcessState.NotRunning
            if running and not leaving.waitForFinished(CLOSING_MILLISECONDS):
                leaving.kill()
                leaving.waitForFinished(CLOSING_MILLISECONDS)
            leaving.deleteLater()
        self._leaving.clear()

    def flush(self) -> None:
        """Have the worker get what was asked before the event loop runs, where it does not run for some time yet."""
        if self._process is not None and self._process.waitForStarted(STARTING_MILLISECONDS):
            self._process.waitForBytesWritten(STARTING_MILLISECONDS)

    def _dismiss(self) -> None:
        """Give the worker the end of its input, and hear no more of it."""
        process, self._process = self._process, None
        if process is not None:
            process.blockSignals(True)
            process.closeWriteChannel()
            self._leaving.append(process)

    def _write(self, line: dict[str, Any]) -> None:
        if self._process is not None:
            self._process.write(_encoded(line))

    def _refuse(self, line: dict[str, Any]) -> None:
        """Fail what the worker would not read, as it fails a command; not before who gives it knows its id."""
        failed = CommandFailed(line["id"], line["command"], *_TOO_MUCH, exit_code=2)
        QTimer.singleShot(0, self, lambda: self._fail(failed))

    def _read(self) -> None:
        if self._process is None:
            return
        *lines, self._rest = (self._rest + bytes(self._process.readAllStandardOutput().data())).split(b"\n")
        self._lines += lines
        if self._lines and not self._taking.isActive():
            self._taking.start()

    def _take_lines(self) -> None:
        until = time.monotonic() + TURN_SECONDS
        try:
            while self._lines and time.monotonic() < until:
                if line := self._lines.popleft().strip():
                    self._take(json.loads(line))
        finally:
            if self._lines:
                self._taking.start()

    def _take(self, line: dict[str, Any]) -> None:
        if line["event"] == "Answered":
            question = self._questions.pop(line["id"], None)
            if question is not None and not _is_gone(question.then):
                question.then(question.decode(line["result"]))
            return
        match event := read_event(line):
            case CommandFailed():
                self._fail(event)
            case WorkerReady():
                self._losses = 0
                self.commands = event.commands
                self.ready.emit()
            case _:
                self.told.emit(event)

    def _fail(self, event: CommandFailed) -> None:
        """Tell who asked; of a question that was given up, and of a command, tell all."""
        question = self._questions.pop(event.id, None)
        if question is None:
            self.told.emit(event)
            return
        failed = self.problem.emit if _is_gone(question.failed) else question.failed
        failed(event.message, event.advice)

    def _not_started(self, error: QProcess.ProcessError) -> None:
        if error == QProcess.ProcessError.FailedToStart:
            self._ended(0, QProcess.ExitStatus.CrashExit)

    def _ended(self, code: int, status: QProcess.ExitStatus) -> None:
        process, self._process = self._process, None
        if process is None or self._is_closing:
            return
        process.deleteLater()
        self._rest = b""
        how = "was stopped by the system" if status == QProcess.ExitStatus.CrashExit else f"ended with code {code}"
        self._fail_edits()
        self._restarting.start(RESTART_MILLISECONDS[min(self._losses, len(RESTART_MILLISECONDS) - 1)])
        self._losses += 1
        self.lost.emit(how)

    def _fail_edits(self) -> None:
        """Say of changes that are on their way that they may be lost: they are not made twice."""
        for id in [id for id, question in self._questions.items() if question.is_edit]:
            self._questions.pop(id).failed(
                "The change may not have been kept: Redwell's background program stopped.",
                "See whether it is there; if not, make it again.",
            )


def _is_gone(receiver: Callable[..., object]) -> bool:
    """Tell whether a method belongs to a dialog or another object of Qt that was deleted."""
    owner = getattr(receiver, "__self__", None)
    return isinstance(owner, QObject) and not shiboken6.isValid(owner)


def _encoded(line: dict[str, Any]) -> bytes:
    return json.dumps(line, ensure_ascii=True).encode() + b"\n"


def _is_too_long(line: dict[str, Any]) -> bool:
    return len(_encoded(line)) > LONGEST_LINE


def _as_it_is(answer: Any) -> Any:
    return answer


def _unlocking(case: str, passphrase: str) -> dict[str, Any]:
    return {"command": "unlock", "case": case, "passphrase": passphrase}
