"""What a worker does for a command that takes a while; imported with the first of them, so that it starts at once."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TypeVar

from engine.custody.manifest import with_manifests
from engine.custody.recording import record_conversion
from engine.documents.leftovers import scratch_folder
from engine.documents.options import ParseOptions
from engine.errors import UsageError
from engine.executor.events import Emit, Event
from engine.executor.reading_rates import remember_readings
from engine.executor.run import run_pipeline
from engine.executor.settings import RunSettings
from engine.executor.sources import ingest
from engine.optimizer.build_options import MINUTES, BuildOptions
from engine.optimizer.frontier import read_policy
from engine.optimizer.sampling import USUAL_ROWS
from engine.worker.answering import Answering
from engine.worker.builds import BuildJob, make_ready_build, run_build
from engine.worker.commands import (
    BuildCommand,
    ConvertCommand,
    ExportCommand,
    IngestCommand,
    JobOrder,
    RunCommand,
    TryCommand,
)
from engine.worker.contract.events import CaseNoted, ConvertProgress, ExportProgress, ResultsWritten
from engine.worker.crossings import recorded
from engine.worker.exit_codes import INTERRUPTED
from engine.worker.exports import ExportStopped, OutputOptions, Written, write_outs
from engine.worker.gate import Gate, GatedBackend
from engine.worker.jobs import NewModels, RunJob, check_outs, default_case, make_ready, write_results
from engine.worker.live import LiveRun, family_memory
from engine.worker.live_build import LiveBuild
from engine.worker.trials import try_pipeline
from storage import passphrases
from storage.case import Case
from storage.conversion import (
    ConversionStopped,
    Phase,
    Tell,
    decrypt_case,
    encrypt_case,
    plain_copies_beside,
    rekey_case,
)
from storage.export.reviews import ReviewOptions

Result = TypeVar("Result")

TELL_SECONDS = 0.1
"""An export tells how far it is at most so often."""

PROGRESS_SECONDS = 0.5
"""How often the progress of a run is told."""

MEMORY_EVERY = 4
"""Memory is looked at with one telling in so many."""


class Work:
    """The work of one worker: `live` is the run that goes on, or the last; `build` the build that goes on."""

    def __init__(self, new_models: NewModels, emit: Emit, answers: Callable[[], Answering]) -> None:
        self._new_models = new_models
        self._emit = emit
        self._answers = answers
        self.live: LiveRun | None = None
        self.build: LiveBuild | None = None
        self._trial = ExitStack()

    def ordered(self, order: JobOrder, gate: Gate) -> Awaitable[int]:
        """Check a command, and return the work that it orders; raises UsageError."""
        match order:
            case RunCommand():
                return self._run(run_job(order), gate)
            case IngestCommand():
                return self._ingest(order, gate)
            case TryCommand():
                return self._try(order, order.settings, gate)
            case BuildCommand():
                return self._build(build_job(order), gate)
            case ConvertCommand():
                return self._convert(order)
            case ExportCommand():
                return self._export(order, export_options(order))

    def close(self) -> None:
        """Remove what the last trial left."""
        self._trial.close()

    async def _try(self, order: TryCommand, settings: RunSettings, gate: Gate) -> int:
        """Try a pipeline; the last trial is kept until the next one, for who looks at it."""
        with ExitStack() as stack:
            kept = stack.enter_context(scratch_folder()) / "trial.redwell"
            stack.callback(passphrases.forget, kept)
            tried = await try_pipeline(
                order, settings, kept, self._new_models, self._emit, lambda backend: GatedBackend(backend, gate)
            )
            before, self._trial = self._trial, stack.pop_all()
        before.close()
        self._emit(tried)
        return 0

    async def _build(self, job: BuildJob, gate: Gate) -> int:
        """Build; cancelled, it writes the best plan so far, and ends as stopped."""
        models = self._new_models()
        ready = make_ready_build(job, models)

        def watch(live: LiveBuild) -> None:
            self.build = live

        try:
            with Case(job.case) as case:
                result = await run_build(
                    ready,
                    case,
                    models,
                    self._emit,
                    gated=lambda backend: GatedBackend(backend, gate),
                    watch=watch,
                )
        finally:
            self.build = None
        return INTERRUPTED if result.status == "stopped" else 0

    async def _export(self, order: ExportCommand, output: OutputOptions) -> int:
        """Write files in a thread, which ends at its next step when the job is cancelled; returns 130 then.

        Cancelled when all files are there already, it is done.
        """
        loop, stopped = asyncio.get_running_loop(), threading.Event()
        told_at = 0.0

        def tell(done: int, total: int, what: str) -> None:
            nonlocal told_at
            if stopped.is_set():
                raise ExportStopped
            if time.monotonic() - told_at >= TELL_SECONDS:
                told_at = time.monotonic()
                loop.call_soon_threadsafe(self._emit, ExportProgress(done, total, what))

        def write() -> list[Written]:
            check_outs(order.out, case=order.case)
            with (
                Case(order.case, read_only=True) as case,
                recorded(case, with_manifests(order.out), overwrite=order.overwrite),
            ):
                return write_outs(case, order.run, order.out, output, tell)[1]

        try:
            written = await _in_thread(write, stopped)
        except ExportStopped:
            return INTERRUPTED
        for file in written:
            self._emit(ResultsWritten(str(file.path), file.rows, file.notes))
        return 0

    async def _run(self, job: RunJob, gate: Gate) -> int:
        models = self._new_models()
        ready = make_ready(job, models)
        live = self.live = LiveRun(gate.clock)

        def emit(event: Event) -> None:
            live.take(event)
            self._emit(event)

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
                self._emit(live.progress())
            _, written = write_results(ready, case, result.run_id)
        for file in written:
            self._emit(ResultsWritten(str(file.path), file.rows, file.notes))
        return result.exit_code

    async def _tell_progress(self, live: LiveRun) -> None:
        for turn in itertools.count():
            if turn % MEMORY_EVERY == 0:
                live.memory_bytes = await asyncio.to_thread(family_memory)
            self._emit(live.progress())
            await asyncio.sleep(PROGRESS_SECONDS)

    def _ingest(self, order: IngestCommand, gate: Gate) -> Awaitable[int]:
        """Check the options of an ingest now, so that a mistake is answered at once."""
        options, workers, folder = order.parse, order.files_at_once, order.folder.resolve()

        async def work() -> int:
            with Case(order.case) as case:
                ingested = await ingest(
                    folder,
                    case,
                    self._emit,
                    dataset=folder.name,
                    options=options,
                    workers=workers,
                    again=order.again,
                    passed=gate.passed,
                )
            remember_readings(ingested.readings)
            return 1 if ingested.failed else 0

        return work()

    def _convert(self, order: ConvertCommand) -> Awaitable[int]:
        """Check a `convert` command, and return its work; raises UsageError."""
        if not order.passphrase and not order.new_passphrase:
            raise UsageError("convert: no passphrase is given", advice="Give `passphrase`, `new_passphrase` or both.")
        return self._converting(order)

    async def _converting(self, order: ConvertCommand) -> int:
        """Convert while no question is answered; returns 0, or 130 where it was cancelled: the case is as it was then.

        The last trial goes, for it holds text of the case as the case was kept before: in plain text, or under the old
        passphrase. Raises StorageError, or UsageError while a question is being answered that takes long.
        """
        loop, stopped = asyncio.get_running_loop(), threading.Event()

        def tell(phase: Phase, done: int, total: int) -> None:
            if stopped.is_set():
                raise ConversionStopped
            loop.call_soon_threadsafe(self._emit, ConvertProgress(phase, done, total))

        async with self._answers().at_rest():
            try:
                problem = await _in_thread(partial(_converted, order, tell), stopped)
            except ConversionStopped:
                return INTERRUPTED
            self._trial.close()
        if problem:
            self._emit(CaseNoted(problem))
        return 0


async def _in_thread(work: Callable[[], Result], stopped: threading.Event) -> Result:
    """Run work in a thread to its end; on cancellation set `stopped`, on which the work raises its own error."""
    working = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        stopped.set()
        return await working


def _converted(order: ConvertCommand, tell: Tell) -> str:
    """Convert a case; return why its custody log does not tell of it, and which copies beside it are plain."""
    if not order.passphrase:
        encrypt_case(order.case, order.new_passphrase, tell)
        problem = record_conversion(order.case, "encrypt")
        return "\n".join(filter(None, (problem, plain_copies_beside(order.case))))
    if not order.new_passphrase:
        decrypt_case(order.case, order.passphrase, tell)
        return record_conversion(order.case, "decrypt")
    rekey_case(order.case, order.passphrase, order.new_passphrase, tell)
    return record_conversion(order.case, "rekey")


# -- what a command orders, as the job that is done -------------------------------------------------------------------


def run_job(order: RunCommand) -> RunJob:
    """Make the job of a `run` command; raises UsageError."""
    return RunJob(
        pipeline=order.pipeline,
        case=order.case or default_case(order.pipeline),
        inputs=order.input,
        outs=order.out,
        settings=order.settings,
        output=OutputOptions(order.columns, order.bom, order.lists),
    )


def build_job(order: BuildCommand) -> BuildJob:
    """Make the job of a `build` command; raises UsageError. A cancelled build keeps the best plan so far."""
    options = BuildOptions(
        settings=order.settings,
        minutes=MINUTES if order.minutes is None else order.minutes,
        rows=USUAL_ROWS if order.sample is None else order.sample,
        seed=order.seed,
        policy=read_policy(order.policy),
        agent_model=order.agent_model,
    )
    case = order.case or default_case(order.pipeline)
    return BuildJob(order.pipeline, case, order.out, order.input, order.report, options)


def export_options(order: ExportCommand) -> OutputOptions:
    """Return how an `export` command writes results. Whether its files can be written is seen later."""
    return OutputOptions(
        columns=order.columns,
        bom=order.bom,
        lists=order.lists,
        form=order.form,
        reviews=ReviewOptions(order.reviews, order.drop_rejected),
        rows=None if order.rows is None else frozenset(order.rows),
        parse=ParseOptions(password=order.password),
        despite_changes=order.despite_changes,
    )
