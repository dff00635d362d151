"""The worker: takes commands from a stream of lines, runs one job at a time, tells everything as events."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import sys
import threading
import traceback
from collections.abc import Awaitable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from engine.errors import UsageError
from engine.executor.events import Event
from engine.executor.run import RunOptions, run_pipeline
from engine.executor.sources import ingest
from engine.worker.exit_codes import INTERRUPTED, USER_ERRORS, exit_code_of
from engine.worker.gate import Gate, GatedBackend
from engine.worker.jobs import NewModels, RunJob, make_ready, write_results
from engine.worker.protocol import (
    COMMANDS,
    BadCommand,
    Command,
    CommandAccepted,
    CommandFailed,
    CommandFinished,
    ResultsWritten,
    WorkerReady,
    parse_options,
    read_command,
    run_job,
    workers_of,
)
from storage.case import Case

LONGEST_LINE = 1 << 20
"""Characters of one command; a longer line is answered by an error."""


@dataclass(frozen=True, slots=True)
class _Job:
    command: Command
    task: asyncio.Task[int]
    gate: Gate


class Session:
    """One worker, from its first command to the end of its input."""

    def __init__(self, new_models: NewModels, output: TextIO) -> None:
        self._new_models = new_models
        self._output = output
        self._job: _Job | None = None
        self._watching: set[asyncio.Task[None]] = set()

    async def serve(self, lines: asyncio.Queue[str | None]) -> None:
        """Carry out commands until None comes; then cancel what is going on and end."""
        self.emit(WorkerReady(COMMANDS))
        try:
            while (line := await lines.get()) is not None:
                if line.strip():
                    self.take(line)
        finally:
            await self._stop()

    def emit(self, event: Event) -> None:
        """Write one event as one line."""
        self._output.write(event.to_json() + "\n")
        self._output.flush()

    def take(self, line: str) -> None:
        """Carry out one command, or say why not."""
        try:
            self._obey(read_command(line))
        except BadCommand as error:
            self.emit(CommandFailed(error.id, error.command, str(error), error.advice, error.exit_code))

    def _obey(self, command: Command) -> None:
        try:
            if command.name in ("run", "ingest"):
                self._start(command)
                return
            job = self._current(command)
        except UsageError as error:
            raise BadCommand(str(error), advice=error.advice, id=command.id, command=command.name) from error
        self.emit(CommandAccepted(command.id, command.name))
        match command.name:
            case "pause":
                job.gate.close()
            case "resume":
                job.gate.open()
            case "cancel":
                job.task.cancel()

    def _current(self, command: Command) -> _Job:
        if self._job is None:
            raise UsageError(f"there is nothing to {command.name}", advice="Start a run first.")
        return self._job

    def _start(self, command: Command) -> None:
        if self._job is not None:
            raise UsageError(
                f"a {self._job.command.name} is going on", advice="Cancel it first, or wait for CommandFinished."
            )
        gate = Gate()
        work = self._run(run_job(command.given), gate) if command.name == "run" else self._ingest(command)
        self.emit(CommandAccepted(command.id, command.name))
        task = asyncio.ensure_future(work)
        self._job = _Job(command, task, gate)
        watching = asyncio.create_task(self._watch(command, task))
        self._watching.add(watching)
        watching.add_done_callback(self._watching.discard)

    async def _stop(self) -> None:
        if self._job is not None:
            self._job.task.cancel()
        await asyncio.gather(*self._watching)

    async def _watch(self, command: Command, task: Awaitable[int]) -> None:
        """Wait for a job and tell how it ended. A defect of ours fails the job, not the worker."""
        end: Event
        try:
            end = CommandFinished(command.id, command.name, await task)
        except asyncio.CancelledError:
            end = CommandFinished(command.id, command.name, INTERRUPTED)
        except USER_ERRORS as error:
            end = CommandFailed(command.id, command.name, str(error), error.advice, exit_code_of(error))
        except Exception as error:  # noqa: BLE001 - the outermost guard: the trace goes to stderr, the window lives
            traceback.print_exc()
            message = f"a defect of Redwell stopped the {command.name}: {type(error).__name__}: {error}"
            end = CommandFailed(command.id, command.name, message, "Please report it; the trace is in the log.", 1)
        self._job = None
        self.emit(end)

    async def _run(self, job: RunJob, gate: Gate) -> int:
        models = self._new_models()
        ready = make_ready(job, models)
        with Case(job.case) as case:
            result = await run_pipeline(
                ready.loaded,
                case,
                open_model=lambda name: GatedBackend(models.open_model(name), gate),
                open_embedder=models.open_embedder,
                emit=self.emit,
                options=ready.options,
            )
            _, written = write_results(ready, case, result.run_id)
        for file in written:
            self.emit(ResultsWritten(str(file.path), file.rows, file.notes))
        return result.exit_code

    def _ingest(self, command: Command) -> Awaitable[int]:
        """Check the options of an ingest now, so that a mistake is answered at once."""
        given = command.given
        options, workers = parse_options(given), workers_of(given) or RunOptions().workers

        async def work() -> int:
            with Case(Path(given["case"]).expanduser()) as case:
                folder = Path(given["folder"]).expanduser().resolve()
                found = await ingest(folder, case, self.emit, dataset=folder.name, options=options, workers=workers)
            return 1 if found.failed else 0

        return work()


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
