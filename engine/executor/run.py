"""Run a pipeline over its datasets into a case: the one executor behind the command line, the worker and tests."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from typing import Any, TypeVar

from engine.code.pool import CodePool
from engine.custody.recording import record_data_file, record_results, record_run_end, record_run_start
from engine.disk import sha256_of
from engine.errors import PipelineError, RedwellError
from engine.evidence.cells import CellEvidence
from engine.executor.asking import CachedAsk, NewAsk
from engine.executor.datasets import DatasetReader, ReadDataset
from engine.executor.events import Emit, Event, FilesFound, RunFinished, RunStarted, Warned
from engine.executor.model_pool import ModelPool, OpenEmbedder, OpenModel
from engine.executor.parsing import ParsingFunctions
from engine.executor.results import EvidenceFinder, refuse_columns, result_columns
from engine.executor.retrieval import Retrieval
from engine.executor.settings import RunSettings
from engine.executor.sources import source_reader
from engine.executor.stages import Account, StageRunner
from engine.executor.tools import RunResources, WatchOutcome, watch_nothing
from engine.executor.translation import as_redwell_error
from engine.language.checks import Sides, SourceFields, check, fields_joined
from engine.language.problems import Problem
from engine.language.trust import refuse_untrusted
from engine.language.writer import to_yaml
from engine.loader import Loaded
from engine.operators.accounting import all_or_none
from engine.operators.base import Retrieved
from engine.plan.node import Node
from engine.plan.plan import Dataset
from engine.plan.rewrites import rewritten
from engine.plan.sources import kind_of_source
from engine.plan.work import Workflow, WorkStep, as_written
from engine.rows import DocumentId, Row, RowId, Span
from models.protocol import ModelBackend
from storage.case import Case
from storage.errors import StorageError
from storage.evidence import EvidenceRecord
from storage.ledger import DecisionRecord, FateRecord
from storage.rows import RowRecord
from storage.runs import RunStatus

# Rows, fates, decisions and evidence as the case keeps them.


def row_records(rows: Iterable[Row]) -> list[RowRecord]:
    """Return one record per row, same order."""
    return [
        RowRecord(
            id=row.id,
            values=row.values,
            parents=row.parents,
            document_id=row.document_id,
            first_line=row.span.first if row.span else None,
            last_line=row.span.last if row.span else None,
        )
        for row in rows
    ]


def row_of(record: RowRecord) -> Row:
    """Return the row that a record was made of."""
    span = Span(record.first_line, record.last_line) if record.first_line and record.last_line else None
    document = DocumentId(record.document_id) if record.document_id else None
    return Row(RowId(record.id), record.values, tuple(map(RowId, record.parents)), document, span)


def fate_records(account: Account) -> list[FateRecord]:
    """Return one fate per input row, in the order in which rows reached the operator; a failure outranks the rest."""
    rejected = {item.row.id: FateRecord(item.row.id, "rejected", item.reason) for item in account.rejected}
    failed = {
        item.row.id: FateRecord(item.row.id, "failed", error=item.error, advice=item.advice, raw_reply=item.raw_reply)
        for item in account.failed
    }
    ids = dict.fromkeys(row.id for row in account.rows_in)
    return [failed.get(id) or rejected.get(id) or FateRecord(id, "output") for id in ids]


def evidence_records(row_id: RowId, cell: CellEvidence) -> list[EvidenceRecord]:
    """Return a record per place of a cell's value, or the statement that it was not located."""
    if not cell.located:
        return [EvidenceRecord.not_located(row_id, cell.column, cell.path)]
    return [
        EvidenceRecord(
            row_id=row_id,
            column=cell.column,
            path=cell.path,
            document_id=place.document_id,
            page=place.page,
            first_line=place.first_line,
            last_line=place.last_line,
            method=place.method,
            score=place.score,
        )
        for place in cell.located
    ]


Result = TypeVar("Result")

HEAD_START_SECONDS = 0.3
"""A dataset that tells nothing of files gets so long before a model is loaded: it may fail at once."""

EVIDENCE_ROWS = 1000
"""Rows of results whose evidence is saved at once."""


@dataclass(frozen=True)
class RunOptions:
    """How one run is done: what the user chose, and what only a caller in code may set.

    `columns`: the columns of the results table, empty for the usual ones.
    `rewrite`: run the plan after its exact rewrites (engine.plan.rewrites), which give the same results with less work.
    `rows` fills datasets of type memory, before the rows that the plan gives them; `first` takes so many documents or
    rows of each dataset, and no more. `kept` are rows by dataset that stand for reading it. `watch` sees what
    operators make of rows, while they do.
    """

    settings: RunSettings = field(default=RunSettings())
    columns: tuple[str, ...] = ()
    rewrite: bool = True
    rows: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    first: int | None = None
    kept: Mapping[str, Sequence[Row]] = field(default_factory=dict)
    watch: WatchOutcome = watch_nothing


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended. `exit_code`: 0 every row is output or rejected, 1 some files or rows failed."""

    run_id: str
    columns: tuple[str, ...]
    rows: int
    failed_items: int
    exit_code: int


async def run_pipeline(
    loaded: Loaded,
    case: Case,
    *,
    open_model: OpenModel,
    open_embedder: OpenEmbedder,
    emit: Emit,
    options: RunOptions | None = None,
    new_ask: NewAsk = CachedAsk,
) -> RunResult:
    """Run a checked plan to its end and keep everything in the case.

    Replies of earlier runs are used where nothing they depend on has changed, so running again after a kill
    resumes. Raises a RedwellError that says what stops the whole run; single files and rows that fail do not.
    `new_ask` builds the model client; override it to observe calls.
    """
    options = options or RunOptions()
    refuse_problems(loaded)
    refuse_untrusted(loaded.plan, loaded.positions, trust_code=options.settings.trust_code)
    return await _Run(loaded, case, open_model, open_embedder, emit, options, new_ask).run()


def refuse_problems(loaded: Loaded, source_fields: SourceFields | None = None) -> None:
    """Raise PipelineError for the first error that a static check finds, naming how many there are."""
    refuse(check(loaded.plan, source_fields=source_fields, positions=loaded.positions))


def refuse(problems: Iterable[Problem]) -> None:
    """Raise PipelineError for the first of these that is an error, naming how many there are."""
    errors = [p for p in problems if p.severity == "error"]
    if errors:
        more = f" (and {len(errors) - 1} more; see `redwell check`)" if len(errors) > 1 else ""
        raise PipelineError(f"{errors[0]}{more}", advice=errors[0].advice)


class _Run:
    """One run in progress."""

    def __init__(
        self,
        loaded: Loaded,
        case: Case,
        open_model: OpenModel,
        open_embedder: OpenEmbedder,
        emit: Emit,
        options: RunOptions,
        new_ask: NewAsk,
    ) -> None:
        self._loaded = loaded
        self._plan = loaded.plan
        self._case = case
        self._watcher = emit
        self._options = options
        self._new_ask = new_ask
        self._run_id = ""
        self._failed_items = 0
        self._begun = time.perf_counter()
        self._begun_reading = asyncio.Event()
        written = as_written(self._plan)
        self._names = tuple(node.name for node in written.nodes())
        self._workflow = rewritten(self._plan) if options.rewrite else written
        self._rows: dict[RowId, Row] = {}
        self._source_fields: dict[str, None] = {}
        self._code = CodePool()
        self._pool = ModelPool(open_model, open_embedder, self._emit, override=options.settings.model)

    async def run(self) -> RunResult:
        """Read the datasets, run the steps, locate the evidence, keep the results."""
        try:
            self._start()
            result = await self._work()
            await self._close()
            self._finish("finished")
        except asyncio.CancelledError:
            await self._stop("cancelled", None)
            raise
        except Exception as error:
            failure = as_redwell_error(error)
            await self._stop("failed", failure)
            if failure is error:
                raise
            raise failure from error
        self._emit(self._finished("finished", result=result))
        return result

    async def _stop(self, status: RunStatus, error: Exception | None) -> None:
        """End a run that did not finish: release the models, mark the run, tell whoever watches."""
        try:
            await self._close()
        finally:
            # It may be the case that failed; the next writer then finds the run still open and marks it.
            with contextlib.suppress(StorageError):
                self._finish(status)
            self._emit(self._finished(status, error=error))

    def _finish(self, status: RunStatus) -> None:
        with self._case.transaction():
            self._case.runs.finish(self._run_id, status)
            record_run_end(self._case, self._run_id, status, self._pool.weights())

    async def _close(self) -> None:
        """Release what the run holds: processes for code, and models."""
        try:
            await self._code.close()
        finally:
            await self._pool.close()

    def _start(self) -> None:
        earlier = self._case.runs.latest(self._plan.digest)
        resumed = earlier is not None and earlier.status != "finished"
        model, settings = self._options.settings.model or self._plan.default_model, self._kept_settings()
        with self._case.transaction():
            custody = self._case.custody
            custody.begin()
            self._run_id = self._case.runs.start(
                pipeline_yaml=to_yaml(self._plan),
                pipeline_digest=self._plan.digest,
                model_name=model,
                settings=settings,
            )
            record_run_start(
                custody, self._run_id, pipeline=self._plan.digest, model=model, settings=settings, resumed=resumed
            )
        self._emit(
            RunStarted(
                run_id=self._run_id, case=str(self._case.path), model=model, operators=self._names, resumed=resumed
            )
        )
        for warning in self._loaded.warnings:
            self._emit(Warned(str(warning)))

    def _kept_settings(self) -> dict[str, Any]:
        hosts = self._options.settings.allow_hosts
        allowed = {"allow_hosts": list(hosts)} if hosts else {}
        hidden = {"include_hidden": True} if self._plan.includes_hidden else {}
        return {"columns": list(self._options.columns), **allowed, **hidden}

    async def _work(self) -> RunResult:
        outputs = await _beside(self._load_early, self._begun_reading, self._read_all())
        fields = {name: _fields(rows) for name, rows in outputs.items()}
        refuse_problems(self._loaded, fields)
        refuse_columns(self._plan, self._options.columns, source_fields=fields)
        retrieval = Retrieval(self._plan, self._case, self._emit)
        known = {name: names for name, names in fields.items() if names}
        resources = self._resources(retrieval, fields_joined(self._plan, source_fields=known))
        runner = StageRunner(resources, self._backend_of, self._emit, KeepInOrder(self._names, self._keep))
        try:
            for name, rows in outputs.items():
                retrieval.add(name, rows)
            rows = await run_steps(self._workflow, outputs, runner, finished=retrieval.add)
        finally:
            await retrieval.close()
        return await self._deliver(rows, resources.passages)

    def _load_early(self) -> asyncio.Task[ModelBackend] | None:
        """Let the default model load while files are being read; None where no operator asks it."""
        nodes = self._workflow.nodes()
        if any(node.traits().calls_model and not node.model for node in nodes):
            return self._pool.prefetch(self._plan.default_model)
        return None

    def _resources(self, retrieval: Retrieval, joined_fields: Mapping[str, Sides]) -> RunResources:
        return RunResources(
            case=self._case,
            asking=self._new_ask(self._case.replies, self._run_id, self._emit),
            pool=self._pool,
            settings=self._plan.settings,
            retrieval=retrieval,
            system_prompt=self._plan.system_prompt.text,
            trusts_code=self._options.settings.trust_code,
            includes_hidden=self._plan.includes_hidden,
            code=self._code,
            joined_fields=joined_fields,
            watch=self._options.watch,
        )

    async def _backend_of(self, node: Node) -> ModelBackend | None:
        traits = node.traits()
        if not (traits.calls_model or traits.counts_tokens):
            return None
        for name in node.other_models:
            await self._pool.model(name)
        return await self._pool.model(node.model or self._plan.default_model)

    # -- datasets ------------------------------------------------------------------------------------------------

    async def _read_all(self) -> dict[str, Sequence[Row]]:
        """Read the datasets that a step needs; return their rows by name."""
        used = {name for step in self._plan.steps for name in self._plan.sources_of(step)}
        return {d.name: await self._read(d) for d in self._plan.datasets if d.name in used}

    async def _read(self, dataset: Dataset) -> Sequence[Row]:
        if dataset.name in self._options.kept:
            again = ReadDataset(list(self._options.kept[dataset.name]))
            self._keep_source(dataset.name, again)
            return again.rows
        reader = DatasetReader(
            case=self._case,
            emit=self._emit,
            options=self._options.settings.parse,
            workers=self._options.settings.workers,
            directory=self._loaded.directory,
            tables=self._options.rows,
            first=self._options.first,
            borders=self._loaded.borders,
        )
        reading = await reader.read(dataset)
        if kind_of_source(dataset, self._loaded.directory) == "file":
            file = dataset.location(self._loaded.directory)
            sha256 = await asyncio.to_thread(sha256_of, file)
            record_data_file(self._case.custody, self._run_id, dataset.name, file, sha256)
        functions = ParsingFunctions(reader, self._plan.parsing_tools, trusts_code=self._options.settings.trust_code)
        await functions.apply(dataset, reading)
        self._failed_items += reading.failed
        self._case.ledger.save_run_documents(self._run_id, reading.files)
        self._keep_source(dataset.name, reading)
        return reading.rows

    def _keep_source(self, name: str, reading: ReadDataset) -> None:
        """Keep a dataset's rows, and the fate of those that were left out."""
        every = [*reading.rows, *(row for row, _ in reading.turned_down)]
        self._source_fields.update(dict.fromkeys(key for row in every for key in row.values))
        fates = [FateRecord(row.id, "output") for row in reading.rows] + [fate for _, fate in reading.turned_down]
        with self._case.transaction():
            self._save_rows(name, reading.rows)
            self._case.ledger.save_fates(self._run_id, name, fates, rows_in=len(every))

    # -- operators -----------------------------------------------------------------------------------------------

    def _keep(self, account: Account) -> None:
        """Store what an operator did: its rows, the fate of each row it was given, its decisions."""
        name = account.node.name
        self._failed_items += len(account.failed)
        decisions = [DecisionRecord(*astuple(decision)) for decision in account.decisions]
        with self._case.transaction():
            self._save_rows(name, account.rows_out)
            self._case.ledger.save_fates(self._run_id, name, fate_records(account), rows_in=len(account.rows_in))
            self._case.ledger.save_decisions(self._run_id, name, decisions)

    def _save_rows(self, operator: str, rows: Sequence[Row]) -> None:
        self._rows.update((row.id, row) for row in rows)
        self._case.rows.save(self._run_id, operator, row_records(rows))

    # -- results -------------------------------------------------------------------------------------------------

    async def _deliver(self, rows: Sequence[Row], passages: Mapping[str, Sequence[Retrieved]]) -> RunResult:
        columns = result_columns(
            self._plan,
            rows,
            self._options.columns,
            source_fields=list(self._source_fields),
            directory=self._loaded.directory,
        )
        read = source_reader(self._case.documents, hidden=self._plan.includes_hidden)
        finder = EvidenceFinder(self._rows, read, passages)
        for first in range(0, len(rows), EVIDENCE_ROWS):
            found: list[list[EvidenceRecord]] = []
            for row in rows[first : first + EVIDENCE_ROWS]:  # before the transaction: during one nobody else can write
                found.append([r for cell in finder.evidence(row, columns) for r in evidence_records(row.id, cell)])
                await asyncio.sleep(0)  # the run may be cancelled meanwhile
            with self._case.transaction(relaxed=True):  # what a kill leaves belongs to no results
                for records in found:
                    self._case.evidence.save(self._run_id, records)
        with self._case.transaction():
            self._case.runs.save_results(self._run_id, columns, [row.id for row in rows])
            record_results(self._case, self._run_id)
        return RunResult(self._run_id, tuple(columns), len(rows), self._failed_items, 1 if self._failed_items else 0)

    def _emit(self, event: Event) -> None:
        if isinstance(event, FilesFound):
            self._begun_reading.set()
        self._watcher(event)

    def _finished(
        self, status: RunStatus, *, result: RunResult | None = None, error: Exception | None = None
    ) -> RunFinished:
        stopped = error.exit_code if isinstance(error, RedwellError) else RedwellError.exit_code
        return RunFinished(
            run_id=self._run_id,
            status=status,
            rows=result.rows if result else 0,
            failed_items=self._failed_items,
            exit_code=result.exit_code if result else stopped,
            seconds=time.perf_counter() - self._begun,
            message=f"{error}" if error else "",
            advice=error.advice if isinstance(error, RedwellError) else "",
        )


def _fields(rows: Sequence[Row]) -> list[str] | None:
    """Return the fields that any of the rows has; None without rows."""
    return list(dict.fromkeys(key for row in rows for key in row.values)) or None


async def _beside(
    load: Callable[[], asyncio.Task[ModelBackend] | None], begun: asyncio.Event, work: Coroutine[Any, Any, Result]
) -> Result:
    """Work while the model loads. A model that cannot be loaded ends the work at once, not after hours of reading.

    It is loaded when the work has `begun` or takes long: where there is nothing to read, no model is needed.
    """
    task = asyncio.create_task(work)
    waiting = asyncio.create_task(begun.wait())
    try:
        await asyncio.wait([task, waiting], timeout=HEAD_START_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        loading = None if task.done() else load()
        await asyncio.wait([task, loading] if loading else [task], return_when=asyncio.FIRST_COMPLETED)
        if loading and loading.done():
            loading.result()
        return await task
    finally:
        waiting.cancel()
        task.cancel()
        await asyncio.wait([task, waiting])


class KeepInOrder:
    """Hands accounts on in the order of the plan, whichever operator finishes first."""

    def __init__(self, operators: Sequence[str], keep: Callable[[Account], None]) -> None:
        self._waiting = deque(operators)
        self._finished: dict[str, Account] = {}
        self._keep = keep

    def __call__(self, account: Account) -> None:
        """Take the account of an operator that has finished."""
        self._finished[account.node.name] = account
        while self._waiting and self._waiting[0] in self._finished:
            self._keep(self._finished.pop(self._waiting.popleft()))


Finished = Callable[[str, Sequence[Row]], None]
"""Told of each step that has run, with its rows."""


async def run_steps(
    workflow: Workflow, datasets: Mapping[str, Sequence[Row]], runner: StageRunner, *, finished: Finished
) -> Sequence[Row]:
    """Run all steps, one after another unless they overlap; return the rows of the last.

    The first error ends all and is raised as it is.
    """
    loop = asyncio.get_running_loop()
    steps = [step.name for step in workflow.steps]
    ready: dict[str, asyncio.Future[Sequence[Row]]] = {name: loop.create_future() for name in (*datasets, *steps)}
    for name, rows in datasets.items():
        ready[name].set_result(rows)

    async def one(place: int, step: WorkStep) -> Sequence[Row]:
        if place and not workflow.overlaps:
            await ready[steps[place - 1]]
        inputs = [await ready[name] for name in step.inputs]
        rows = await runner.run(step.works, inputs)
        ready[step.name].set_result(rows)
        finished(step.name, rows)
        return rows

    return (await all_or_none([one(place, step) for place, step in enumerate(workflow.steps)]))[-1]
