"""Run a pipeline made in Python, also where an event loop is running already (a notebook)."""

from __future__ import annotations

import asyncio
import atexit
import os
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from engine.cli.local_models import LocalModels
from engine.cli.watching import choose_watch
from engine.custody.manifest import with_manifests
from engine.documents.leftovers import scratch_folder
from engine.executor.results import refuse_columns
from engine.executor.run import RunOptions, refuse, run_pipeline
from engine.executor.run_state import CallState
from engine.executor.translation import open_case
from engine.language.checks import check
from engine.language.trust import refuse_untrusted
from engine.loader import Loaded
from engine.plan.frozen import thaw
from engine.worker.crossings import recorded
from engine.worker.exports import OutputOptions, Written, write_outs
from engine.worker.jobs import NewModels, check_outs
from engine.worker.model_choice import settled
from storage.case import Case
from storage.export.table import ResultTable

Done = TypeVar("Done")

new_models: NewModels = LocalModels
"""Makes the models of a run; tests put scripted ones here."""

_LOCK = threading.Lock()
_FOLDERS: dict[int, Path] = {}


def session_case() -> Path:
    """Return the case that all runs of this process share that name none; it is removed when the process ends.

    Only this user can read its folder. One that a killed process left behind is removed by the next.
    """
    with _LOCK:
        if os.getpid() not in _FOLDERS:
            stack = ExitStack()
            _FOLDERS[os.getpid()] = stack.enter_context(scratch_folder())
            atexit.register(stack.close)
        return _FOLDERS[os.getpid()] / "session.redwell"


@dataclass(frozen=True)
class RunReport:
    """What a run came to.

    `rows` are the results with all their fields; `columns` those that a table shows; `table` is None where there are
    neither rows nor fields. `failed` names each row and file
    that failed, with its error; `rejected` counts the rows that were left out. All of it, with every reason, is in
    the ledger of `case`: `redwell ledger CASE --run RUN_ID`. `calls` were made to a model, `from_cache` were answered
    from the case.
    """

    run_id: str
    case: Path
    columns: tuple[str, ...]
    rows: list[dict[str, Any]] = field(repr=False)
    table: ResultTable | None = field(repr=False)
    failed: tuple[str, ...]
    rejected: int
    calls: int
    from_cache: int
    written: tuple[Written, ...] = ()


def run_loaded(loaded: Loaded, file: Path, options: RunOptions, outs: Sequence[Path], *, progress: bool) -> RunReport:
    """Run to the end in the case at `file`, and write `outs`; `progress` is drawn.

    Raises a RedwellError that says what stops it. Ctrl-C stops in order, and replies are kept.
    """
    check_outs(outs, case=file, loaded=loaded)
    refuse_columns(loaded.plan, options.columns)
    models, settings = new_models(), options.settings
    models.apply(settings)
    findings = check(loaded.plan, positions=loaded.positions)
    refuse(findings)
    refuse_untrusted(loaded.plan, loaded.positions, trust_code=settings.trust_code)
    problems = [problem for problem in findings if problem.severity == "warning"]
    ready = settled(replace(loaded, warnings=(*loaded.warnings, *problems)), settings.model, models)

    async def work() -> RunReport:
        # A case belongs to the thread that opened it: it is opened where the loop runs.
        with open_case(file) as case, choose_watch(quiet=not progress, json_events=False) as watch:
            result = await run_pipeline(
                ready,
                case,
                open_model=models.open_model,
                open_embedder=models.open_embedder,
                emit=watch.take,
                options=options,
            )
            return _report(case, result.run_id, outs, options.columns, watch.state.calls)

    return run_here(work)


def _report(case: Case, run_id: str, outs: Sequence[Path], chosen: tuple[str, ...], calls: CallState) -> RunReport:
    results = case.runs.results(run_id)
    ids = results.row_ids if results else ()
    columns = results.columns if results else ()
    output = OutputOptions(chosen)
    with recorded(case, with_manifests(outs), overwrite=True):
        table, written = write_outs(case, run_id, outs, output) if columns or outs else (None, [])
    files = [f"{d.path}: {d.message}" for d in case.ledger.run_documents(run_id, "failed")]
    rows = [fate.record.error for fate in case.ledger.fates(run_id, fate="failed")]
    return RunReport(
        run_id=run_id,
        case=case.path,
        columns=table.columns if table else (),
        rows=[thaw(case.rows.get(run_id, id).values) for id in ids],
        table=table,
        failed=(*files, *rows),
        rejected=len(case.ledger.fates(run_id, fate="rejected")),
        calls=calls.made,
        from_cache=calls.from_cache,
        written=tuple(written),
    )


def run_here(work: Callable[[], Coroutine[Any, Any, Done]]) -> Done:
    """Run a coroutine to its end, in a thread of its own where this one runs an event loop already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work())
    return _aside(work)


def _aside(work: Callable[[], Coroutine[Any, Any, Done]]) -> Done:
    """Run in another thread; Ctrl-C in the waiting one cancels the work, and is raised when it has ended."""
    begun: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Done]]] = []

    async def begin() -> Done:
        task = asyncio.ensure_future(work())
        begun.append((asyncio.get_running_loop(), task))
        return await task

    with ThreadPoolExecutor(1, thread_name_prefix="redwell run") as pool:
        future = pool.submit(lambda: asyncio.run(begin()))
        try:
            with _plain_interrupts():
                return future.result()
        except KeyboardInterrupt:
            for loop, task in begun:
                with suppress(RuntimeError):  # the loop has just ended by itself
                    loop.call_soon_threadsafe(task.cancel)
            raise


@contextmanager
def _plain_interrupts() -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt in this thread; asyncio.run would keep it until its loop goes on."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
