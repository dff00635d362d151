"""The worker: takes commands from a stream of lines, runs one job at a time, tells everything as events."""

from __future__ import annotations

import asyncio
import contextlib
import io
import itertools
import os
import shutil
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Awaitable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO

from engine.errors import UsageError
from engine.executor.events import Event
from engine.executor.reading_rates import remember_readings
from engine.executor.run import RunOptions, run_pipeline
from engine.executor.sources import ingest
from engine.optimizer.build import NewAgents
from engine.optimizer.local_agents import agents_over
from engine.worker.answering import Answering
from engine.worker.build_command import build_job
from engine.worker.builds import BuildJob, make_ready_build, run_build
from engine.worker.conversions import convert, convert_job, unlock
from engine.worker.exit_codes import INTERRUPTED, USER_ERRORS, exit_code_of
from engine.worker.exports import ExportJob, ExportStopped, Written, write_outs
from engine.worker.gate import Gate, GatedBackend
from engine.worker.jobs import NewModels, RunJob, check_outs, make_ready, write_results
from engine.worker.live import LiveRun, family_memory
from engine.worker.live_build import LiveBuild
from engine.worker.protocol import (
    COMMANDS,
    BadCommand,
    Command,
    CommandAccepted,
    CommandFailed,
    CommandFinished,
    ExportProgress,
    ResultsWritten,
    WorkerReady,
    export_job,
    parse_options,
    read_command,
    run_job,
    trial_job,
    workers_of,
)
from engine.worker.trials import TrialJob, try_pipeline
from storage.case import Case

new_agents: NewAgents = agents_over
"""Makes who proposes and judges in a build; tests put scripted ones here."""

TELL_SECONDS = 0.1
"""An export tells how far it is at most so often."""

PROGRESS_SECONDS = 0.5
"""How often the progress of a run is told."""

MEMORY_EVERY = 4
"""Memory is looked at with one telling in so many."""

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
        self._answering: Answering | None = None
        self._live: LiveRun | None = None
        self._build_going: LiveBuild | None = None
        self._trial: Path | None = None

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
        self._write(event.to_json())

    def _write(self, line: str) -> None:
        self._output.write(line + "\n")
        self._output.flush()

    def take(self, line: str) -> None:
        """Carry out one command, or say why not."""
        try:
            self._obey(read_command(line))
        except BadCommand as error:
            self.emit(CommandFailed(error.id, error.command, str(error), error.advice, error.exit_code))

    def _obey(self, command: Command) -> None:
        try:
            if command.name in ("ask", "forget"):
                self._converse(command)
                return
            if command.name in ("run", "ingest", "try", "export", "build", "convert"):
                self._start(command)
                return
            if command.name == "unlock":
                unlock(command.given)
                self.emit(CommandAccepted(command.id, command.name))
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

    def _converse(self, command: Command) -> None:
        """Pass a question on; its answer comes when it comes, and is the only reply to it."""
        answering = self._answers()
        if command.name == "forget":
            answering.forget(command.id)
            return
        given = {key: value for key, value in command.given.items() if key != "query"}
        answering.ask(command.id, command.given["query"], given)

    def _answers(self) -> Answering:
        if self._answering is None:
            self._answering = Answering(self._write, self._new_models, lambda: self._live, lambda: self._build_going)
        return self._answering

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
        work = self._work(command, gate)
        self.emit(CommandAccepted(command.id, command.name))
        task = asyncio.ensure_future(work)
        self._job = _Job(command, task, gate)
        watching = asyncio.create_task(self._watch(command, task))
        self._watching.add(watching)
        watching.add_done_callback(self._watching.discard)

    def _work(self, command: Command, gate: Gate) -> Awaitable[int]:
        """Check a command, and return the work that it orders."""
        match command.name:
            case "run":
                return self._run(run_job(command.given), gate)
            case "ingest":
                return self._ingest(command, gate)
            case "try":
                return self._try(trial_job(command.given), gate)
            case "build":
                return self._build(build_job(command.given), gate)
            case "convert":
                return convert(convert_job(command.given), self._answers())
            case _:
                return self._export(export_job(command.given))

    async def _try(self, job: TrialJob, gate: Gate) -> int:
        """Try a pipeline; the last trial is kept until the next one, for who looks at it."""
        scratch = Path(tempfile.mkdtemp(prefix="redwell-trial-"))
        try:
            tried = await try_pipeline(
                job, scratch, self._new_models, self.emit, lambda backend: GatedBackend(backend, gate)
            )
        except BaseException:
            shutil.rmtree(scratch, ignore_errors=True)
            raise
        before, self._trial = self._trial, scratch
        if before is not None:
            shutil.rmtree(before, ignore_errors=True)
        self.emit(tried)
        return 0

    async def _build(self, job: BuildJob, gate: Gate) -> int:
        """Build; cancelled, it writes the best plan so far, and ends as stopped."""
        models = self._new_models()
        ready = make_ready_build(job, models)

        def watch(live: LiveBuild) -> None:
            self._build_going = live

        try:
            with Case(job.case) as case:
                result = await run_build(
                    ready,
                    case,
                    models,
                    self.emit,
                    gated=lambda backend: GatedBackend(backend, gate),
                    new_agents=new_agents,
                    watch=watch,
                )
        finally:
            self._build_going = None
        return INTERRUPTED if result.status == "stopped" else 0

    async def _export(self, job: ExportJob) -> int:
        """Write files in a thread, which ends at its next step when the job is cancelled."""
        loop, stopped = asyncio.get_running_loop(), threading.Event()
        told_at = 0.0

        def tell(done: int, total: int, what: str) -> None:
            nonlocal told_at
            if stopped.is_set():
                raise ExportStopped
            if time.monotonic() - told_at >= TELL_SECONDS:
                told_at = time.monotonic()
                loop.call_soon_threadsafe(self.emit, ExportProgress(done, total, what))

        def write() -> list[Written]:
            check_outs(job.outs, case=job.case)
            with Case(job.case, read_only=True) as case:
                return write_outs(case, job.run, job.outs, job.output, tell)[1]

        writing = asyncio.ensure_future(asyncio.to_thread(write))
        try:
            written = await asyncio.shield(writing)
        except asyncio.CancelledError:
            stopped.set()
            with contextlib.suppress(ExportStopped):
                await writing
            raise
        for file in written:
            self.emit(ResultsWritten(str(file.path), file.rows, file.notes))
        return 0

    async def _stop(self) -> None:
        if self._job is not None:
            self._job.task.cancel()
        await asyncio.gather(*self._watching)
        if self._answering is not None:
            await self._answering.close()
        if self._trial is not None:
            shutil.rmtree(self._trial, ignore_errors=True)

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
        live = self._live = LiveRun()

        def emit(event: Event) -> None:
            live.take(event)
            self.emit(event)

        with Case(job.case) as case:
            telling = asyncio.create_task(self._tell_progress(live))
            try:
                result = await run_pipeline(
                    ready.loaded,
                    case,
                    open_model=lambda name: GatedBackend(models.open_model(name), gate),
                    open_embedder=models.open_embedder,
                    emit=emit,
                    options=replace(ready.options, watch=live.watch),
                )
            finally:
                telling.cancel()
                self.emit(live.progress())
            _, written = write_results(ready, case, result.run_id)
        for file in written:
            self.emit(ResultsWritten(str(file.path), file.rows, file.notes))
        return result.exit_code

    async def _tell_progress(self, live: LiveRun) -> None:
        for turn in itertools.count():
            if turn % MEMORY_EVERY == 0:
                live.memory_bytes = await asyncio.to_thread(family_memory)
            self.emit(live.progress())
            await asyncio.sleep(PROGRESS_SECONDS)

    def _ingest(self, command: Command, gate: Gate) -> Awaitable[int]:
        """Check the options of an ingest now, so that a mistake is answered at once."""
        given = command.given
        options, workers = parse_options(given), workers_of(given) or RunOptions().workers
        folder = Path(given["folder"]).expanduser().resolve()
        settings: dict[str, Any] = {"options": options, "workers": workers, "passed": gate.passed}

        settings["again"] = given.get("again", False)

        async def work() -> int:
            with Case(Path(given["case"]).expanduser()) as case:
                found = await ingest(folder, case, self.emit, dataset=folder.name, **settings)
            remember_readings(found.readings)
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
