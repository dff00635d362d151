"""Run a pipeline over its datasets into a case: the one executor behind the command line, the worker and tests."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from engine.documents.document import Document
from engine.documents.options import ParseOptions
from engine.errors import CaseError, EnvironmentMissing, PipelineError, RedwellError, UsageError
from engine.evidence.cells import CellEvidence
from engine.executor.accounts import Account
from engine.executor.asking import CachedAsk
from engine.executor.events import Emit, Event, ModelCall, OperatorProgress, RunFinished, RunStarted, Warned
from engine.executor.model_pool import ModelPool, OpenEmbedder, OpenModel
from engine.executor.results import EvidenceFinder, result_columns
from engine.executor.sources import NO_TEXT, Ingested, data_rows, document_row, ingest, load_document
from engine.executor.stages import StageRunner
from engine.executor.tools import Lent
from engine.language.checks import check
from engine.language.loader import Loaded
from engine.language.writer import to_yaml
from engine.plan.node import Node
from engine.plan.plan import Dataset
from engine.rows import DocumentId, Row, RowId
from models.errors import ModelError
from models.protocol import ModelBackend
from storage.case import Case
from storage.errors import StorageError
from storage.evidence import EvidenceRecord
from storage.ledger import DecisionRecord, FateRecord
from storage.rows import RowRecord
from storage.runs import RunStatus

TRANSIENT_EVENTS = (OperatorProgress, ModelCall)
"""Events that are only worth seeing live; replies are kept in the cache, progress in the ledger."""


@dataclass(frozen=True)
class RunOptions:
    """What a caller may choose for one run. `model` replaces the models that the pipeline names.

    `columns`: the columns of the results table, empty for the usual ones. `workers` parse files at once.
    """

    model: str = ""
    columns: tuple[str, ...] = ()
    parse: ParseOptions = field(default_factory=ParseOptions)
    workers: int = max(1, (os.cpu_count() or 2) // 2)


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
) -> RunResult:
    """Run a checked plan to its end and keep everything in the case.

    Replies of earlier runs are used where nothing they depend on has changed, so running again after a kill
    resumes. Raises a RedwellError that says what stops the whole run; single files and rows that fail do not.
    """
    options = options or RunOptions()
    refuse_problems(loaded)
    run = _Run(loaded, case, open_model, open_embedder, emit, options)
    try:
        return await run.run()
    except StorageError as error:
        kind = EnvironmentMissing if error.is_environment else CaseError
        raise kind(str(error), advice=error.advice) from error
    except ModelError as error:
        raise EnvironmentMissing(str(error), advice=error.advice) from error


def refuse_problems(loaded: Loaded) -> None:
    """Raise PipelineError for the first error that a static check finds, naming how many there are."""
    problems = [p for p in check(loaded.plan, positions=loaded.positions) if p.severity == "error"]
    if problems:
        more = f" (and {len(problems) - 1} more; see `redwell check`)" if len(problems) > 1 else ""
        raise PipelineError(f"{problems[0]}{more}")


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
    ) -> None:
        self._loaded = loaded
        self._plan = loaded.plan
        self._case = case
        self._watcher = emit
        self._options = options
        self._run_id = ""
        self._failed_items = 0
        self._rows: dict[RowId, Row] = {}
        self._documents: dict[DocumentId, Document] = {}
        self._pool = ModelPool(open_model, open_embedder, self._emit, override=options.model)

    async def run(self) -> RunResult:
        """Read the datasets, run the steps, locate the evidence, keep the results."""
        start = time.perf_counter()
        self._start()
        status: RunStatus = "failed"
        result: RunResult | None = None
        stopped: RedwellError | None = None
        try:
            result = await self._work()
            status = "finished"
        except asyncio.CancelledError:
            status = "cancelled"
            raise
        except RedwellError as error:
            stopped = error
            raise
        finally:
            await self._pool.close()
            self._case.finish_run(self._run_id, status)
            self._emit(_finished(self._run_id, status, result, stopped, time.perf_counter() - start))
        return result

    def _start(self) -> None:
        earlier = self._case.latest_run(self._plan.digest)
        self._run_id = self._case.start_run(
            pipeline_yaml=to_yaml(self._plan),
            pipeline_digest=self._plan.digest,
            model_name=self._options.model or self._plan.default_model,
            model_digest="",
            settings={"columns": list(self._options.columns)},
        )
        self._emit(
            RunStarted(
                run_id=self._run_id,
                case=str(self._case.path),
                model=self._options.model or self._plan.default_model,
                operators=tuple(node.name for step in self._plan.steps for node in self._plan.nodes(step)),
                resumed=earlier is not None and earlier.status != "finished",
            )
        )
        for warning in self._loaded.warnings:
            self._emit(Warned(str(warning)))

    async def _work(self) -> RunResult:
        self._load_early()
        outputs: dict[str, Sequence[Row]] = {}
        for dataset in self._plan.datasets:
            if any(step.input == dataset.name for step in self._plan.steps):
                outputs[dataset.name] = await self._read(dataset)
        runner = StageRunner(self._lent(), self._backend_of, self._emit, self._keep)
        for step in self._plan.steps:
            outputs[step.name] = await runner.run(list(self._plan.nodes(step)), outputs[step.input])
        return self._deliver(outputs[self._plan.steps[-1].name])

    def _load_early(self) -> None:
        """Let the default model load while files are being read."""
        nodes = [node for step in self._plan.steps for node in self._plan.nodes(step)]
        if any(node.traits().calls_model and not getattr(node, "model", None) for node in nodes):
            self._pool.prefetch(self._plan.default_model)

    def _lent(self) -> Lent:
        prompt = self._plan.system_prompt
        return Lent(
            case=self._case,
            asking=CachedAsk(self._case, self._run_id, self._emit),
            pool=self._pool,
            settings=self._plan.settings,
            system_prompt="\n".join(text for text in (prompt.persona, prompt.dataset_description) if text),
        )

    async def _backend_of(self, node: Node) -> ModelBackend | None:
        traits = node.traits()
        if not (traits.calls_model or traits.counts_tokens):
            return None
        return await self._pool.model(getattr(node, "model", None) or self._plan.default_model)

    # -- datasets ------------------------------------------------------------------------------------------------

    async def _read(self, dataset: Dataset) -> Sequence[Row]:
        location = dataset.location(self._loaded.directory)
        if dataset.type == "memory":
            raise UsageError(
                f"dataset {dataset.name!r} is of type memory, which only Python code can fill",
                advice="Give the rows with --input FILE.jsonl, or write type: folder or file.",
            )
        if dataset.type == "file":
            rows = list(data_rows(dataset, location))
            self._keep_source(dataset.name, rows, [])
            return rows
        return await self._read_folder(dataset, location)

    async def _read_folder(self, dataset: Dataset, location: Path) -> Sequence[Row]:
        found = await ingest(
            location,
            self._case,
            self._emit,
            dataset=dataset.name,
            options=self._options.parse,
            workers=self._options.workers,
        )
        self._failed_items += found.failed
        self._case.save_run_documents(self._run_id, found.fates)
        rows: list[Row] = []
        empty: list[Row] = []
        for row in self._document_rows(dataset, found):
            (rows if row.values["text"].strip() else empty).append(row)
        self._keep_source(dataset.name, rows, empty)
        return rows

    def _document_rows(self, dataset: Dataset, found: Ingested) -> list[Row]:
        rows = []
        for id, path in found.documents.items():
            self._documents[id] = load_document(self._case, id)
            rows.append(document_row(dataset, self._documents[id], path))
        return rows

    def _keep_source(self, name: str, rows: Sequence[Row], empty: Sequence[Row]) -> None:
        """Keep a dataset's rows; documents without text are rejected there, with the reason."""
        with self._case.transaction():
            self._save_rows(name, rows)
            fates = [FateRecord(row.id, "output") for row in rows]
            fates += [FateRecord(row.id, "rejected", NO_TEXT) for row in empty]
            self._case.save_fates(self._run_id, name, fates, rows_in=len(rows) + len(empty))

    # -- operators -----------------------------------------------------------------------------------------------

    def _keep(self, account: Account) -> None:
        """Store what an operator did: its rows, the fate of each row it was given, its decisions."""
        name = account.node.name
        self._failed_items += len(account.failed)
        with self._case.transaction():
            self._save_rows(name, account.rows_out)
            self._case.save_fates(self._run_id, name, _fates(account), rows_in=len(account.rows_in))
            self._case.save_decisions(
                self._run_id,
                name,
                (DecisionRecord(d.subject, d.left, d.right, d.verdict, d.by, d.detail) for d in account.decisions),
            )

    def _save_rows(self, operator: str, rows: Sequence[Row]) -> None:
        self._rows.update((row.id, row) for row in rows)
        self._case.save_rows(
            self._run_id,
            operator,
            [
                RowRecord(
                    id=row.id,
                    values=row.values,
                    parents=row.parents,
                    document_id=row.document_id,
                    first_line=row.span.first if row.span else None,
                    last_line=row.span.last if row.span else None,
                )
                for row in rows
            ],
        )

    # -- results -------------------------------------------------------------------------------------------------

    def _deliver(self, rows: Sequence[Row]) -> RunResult:
        columns = result_columns(self._plan, rows, self._options.columns)
        finder = EvidenceFinder(self._rows, self._documents)
        with self._case.transaction():
            for row in rows:
                records = [r for cell in finder.evidence(row, columns) for r in _evidence(row.id, cell)]
                self._case.save_evidence(self._run_id, records)
            self._case.save_results(self._run_id, columns, [row.id for row in rows])
        return RunResult(self._run_id, tuple(columns), len(rows), self._failed_items, 1 if self._failed_items else 0)

    def _emit(self, event: Event) -> None:
        if self._run_id and not isinstance(event, TRANSIENT_EVENTS):
            body: Mapping[str, object] = json.loads(event.to_json())
            self._case.append_event(self._run_id, dict(body))
        self._watcher(event)


def _fates(account: Account) -> list[FateRecord]:
    rejected = {item.row.id: FateRecord(item.row.id, "rejected", item.reason) for item in account.rejected}
    failed = {
        item.row.id: FateRecord(item.row.id, "failed", error=item.error, advice=item.advice, raw_reply=item.raw_reply)
        for item in account.failed
    }
    ids = dict.fromkeys(row.id for row in account.rows_in)
    return [failed.get(id) or rejected.get(id) or FateRecord(id, "output") for id in ids]


def _evidence(row_id: RowId, cell: CellEvidence) -> list[EvidenceRecord]:
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


def _finished(
    run_id: str, status: str, result: RunResult | None, stopped: RedwellError | None, seconds: float
) -> RunFinished:
    return RunFinished(
        run_id=run_id,
        status=status,
        rows=result.rows if result else 0,
        failed_items=result.failed_items if result else 0,
        exit_code=result.exit_code if result else (stopped.exit_code if stopped else 2),
        seconds=seconds,
        message=str(stopped) if stopped else "",
        advice=stopped.advice if stopped else "",
    )
