"""The worker: takes commands from a stream of lines, runs one job at a time, tells everything as events."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import sys
import threading
from collections.abc import Awaitable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from engine.errors import UsageError
from engine.executor.events import Event
from engine.worker.answering import Answering, failure_of
from engine.worker.commands import (
    COMMANDS,
    AskCommand,
    CancelCommand,
    ForgetCommand,
    JobOrder,
    PauseCommand,
    ResumeCommand,
    UnlockCommand,
)
from engine.worker.contract import LONGEST_LINE
from engine.worker.contract.events import CaseNoted, CommandAccepted, CommandFinished, WorkerReady
from engine.worker.exit_codes import INTERRUPTED
from engine.worker.gate import Gate
from engine.worker.protocol import BadCommand, Command, read_command
from storage import passphrases, upgrade_notice

if TYPE_CHECKING:
    from engine.worker.jobs import NewModels
    from engine.worker.work import Work


@dataclass(slots=True)
class _Job:
    command: Command
    task: asyncio.Task[int]
    gate: Gate
    is_cancelled: bool = False

    def cancel(self) -> None:
        """Cancel the work, once: a second time would cut short how it ends, such as the best plan being written."""
        if not self.is_cancelled:
            self.is_cancelled = True
            self.task.cancel()


class Session:
    """One worker, from its first command to the end of its input."""

    def __init__(self, new_models: NewModels, output: TextIO) -> None:
        self._new_models = new_models
        self._output = output
        self._job: _Job | None = None
        self._watching: set[asyncio.Task[None]] = set()
        self._answering: Answering | None = None
        self._work: Work | None = None

    async def serve(self, lines: asyncio.Queue[str | None]) -> None:
        """Carry out commands until None comes; then cancel what is going on and end."""
        loop = asyncio.get_running_loop()

        def tell(upgraded: upgrade_notice.Upgraded) -> None:  # called in whichever thread opened the case
            loop.call_soon_threadsafe(self.emit, _note_of(upgraded))

        upgrade_notice.tell_with(tell)
        self.emit(WorkerReady(tuple(COMMANDS)))
        try:
            while (line := await lines.get()) is not None:
                if line.strip():
                    self.take(line)
        finally:
            await self._stop()
            upgrade_notice.tell_with(None)

    def emit(self, event: Event) -> None:
        """Write one event as one line."""
        self._write(event.to_json())

    def _write(self, line: str) -> None:
        self._output.write(line + "\n")
        self._output.flush()

    def take(self, line: str) -> None:
        """Carry out one command, or say why not. A defect of ours fails the command, not the worker."""
        id, name, what = "", "", "a command"
        try:
            command = read_command(line)
            id, name, what = command.id, command.name, f"the {command.name}"
            self._obey(command)
        except BadCommand as error:
            self.emit(failure_of(error.id, error.command, error, what=what))
        except Exception as error:  # noqa: BLE001 - the outermost guard: the trace goes to stderr, the window lives
            self.emit(failure_of(id, name, error, what=what))

    def _obey(self, command: Command) -> None:
        match command.order:
            case AskCommand(query, given):  # its answer is the only reply to it
                self._answers().ask(command.id, query, given)
                return
            case ForgetCommand():
                self._answers().forget(command.id)
                return
            case PauseCommand():
                self._current(command).gate.close()
            case ResumeCommand():
                self._current(command).gate.open()
            case CancelCommand():
                self._current(command).cancel()
            case UnlockCommand() as order:
                _unlock(order)
            case order:
                self._start(command, order)
        self.emit(CommandAccepted(command.id, command.name))

    def _answers(self) -> Answering:
        if self._answering is None:
            self._answering = Answering(
                self._write,
                self._new_models,
                lambda: self._work.live if self._work else None,
                lambda: self._work.build if self._work else None,
            )
        return self._answering

    def _current(self, command: Command) -> _Job:
        if self._job is None:
            raise UsageError(f"there is nothing to {command.name}", advice="Start a run first.")
        return self._job

    def _start(self, command: Command, order: JobOrder) -> None:
        if self._job is not None:
            raise UsageError(
                f"a {self._job.command.name} is going on", advice="Cancel it first, or wait for CommandFinished."
            )
        gate = Gate()
        work = self._working().ordered(order, gate)
        task = asyncio.ensure_future(work)
        self._job = _Job(command, task, gate)
        watching = asyncio.create_task(self._watch(command, task))
        self._watching.add(watching)
        watching.add_done_callback(self._watching.discard)

    def _working(self) -> Work:
        """Return what does the work; it is read with the first job, for it takes longer than all else here."""
        if self._work is None:
            from engine.worker.work import Work  # noqa: PLC0415

            self._work = Work(self._new_models, self.emit, self._answers)
        return self._work

    async def _stop(self) -> None:
        if self._job is not None:
            self._job.cancel()
        await asyncio.gather(*self._watching)
        if self._answering is not None:
            await self._answering.close()
        if self._work is not None:
            self._work.close()

    async def _watch(self, command: Command, task: Awaitable[int]) -> None:
        """Wait for a job and tell how it ended. A defect of ours fails the job, not the worker."""
        end: Event
        try:
            end = CommandFinished(command.id, command.name, await task)
        except asyncio.CancelledError:
            end = CommandFinished(command.id, command.name, INTERRUPTED)
        except Exception as error:  # noqa: BLE001 - the outermost guard: the trace goes to stderr, the window lives
            end = failure_of(command.id, command.name, error, what=f"the {command.name}")
        self._job = None
        self.emit(end)


def _note_of(upgraded: upgrade_notice.Upgraded) -> CaseNoted:
    return CaseNoted(
        f"{upgraded.case.name} is of an earlier version of Redwell and was upgraded.",
        f"A copy of it as it was is at {upgraded.backup}. It holds everything that the case held: delete it when you "
        "no longer need it.",
    )


def _unlock(order: UnlockCommand) -> None:
    """Carry out an `unlock` command: remember the passphrase of a case, or forget it where it is empty."""
    if order.passphrase:
        passphrases.remember(order.case, order.passphrase)
    else:
        passphrases.forget(order.case)


def serve(new_models: NewModels) -> int:
    """Serve stdin until it ends; stdout carries events and nothing else. Return the exit code."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", errors="replace")
    with _own_stdout() as output:
        asyncio.run(_serve(Session(new_models, output)))
    return 0


async def _serve(session: Session) -> None:
    lines: asyncio.Queue[str | None] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    threading.Thread(target=_read_lines, args=(sys.stdin, loop, lines), name="commands", daemon=True).start()
    await session.serve(lines)


def _read_lines(source: TextIO, loop: asyncio.AbstractEventLoop, lines: asyncio.Queue[str | None]) -> None:
    """Pass on each line of stdin, then None. Runs in a thread, for not every system can wait for a pipe in the loop."""

    def pass_on(line: str | None) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended: nobody waits for commands
            loop.call_soon_threadsafe(lines.put_nowait, line)

    while line := source.readline(LONGEST_LINE):
        pass_on(line)
        while len(line) == LONGEST_LINE and not line.endswith("\n"):  # the rest of a line that is too long
            line = source.readline(LONGEST_LINE)
    pass_on(None)


@contextlib.contextmanager
def _own_stdout() -> Iterator[TextIO]:
    """Take stdout for events alone; whatever else prints, a library too, goes to stderr."""
    sys.stdout.flush()
    descriptor = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    with open(descriptor, "w", encoding="utf-8", newline="\n") as output:  # noqa: PTH123 - a descriptor
        yield output
