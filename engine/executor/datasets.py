"""Datasets into rows: folders and cases document by document, data files and tables item by item."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from engine.custody.recording import record_source, record_unreadable
from engine.documents.answers import read_rows
from engine.documents.document import Document
from engine.documents.leftovers import scratch_folder
from engine.documents.options import ParseOptions
from engine.documents.pool import ParserPool
from engine.documents.tables import READ_IN_CHILD, table_rows
from engine.documents.walk import walk
from engine.errors import DocumentError, UsageError
from engine.executor.case_documents import load_document, save_document
from engine.executor.events import Emit
from engine.executor.memory_rows import checked_rows
from engine.executor.sources import NO_TEXT, WAS_REMOVED, document_row, ingest, ingest_files
from engine.executor.translation import open_case
from engine.plan.borders import Borders
from engine.plan.dataset import Dataset
from engine.plan.sources import fits, kind_of_source
from engine.rows import DocumentId, Row
from storage.case import Case
from storage.documents import DocumentEntry, DocumentPath, Documents, FailedFile
from storage.ledger import DocumentRecord, FateRecord
from storage.listing import DocumentFilter


@dataclass
class ReadDataset:
    """What a dataset gave: its rows, the rows that were left out with their fate, and the fate of each file."""

    rows: list[Row] = field(default_factory=list)
    turned_down: list[tuple[Row, FateRecord]] = field(default_factory=list)
    files: list[DocumentRecord] = field(default_factory=list)

    @property
    def failed(self) -> int:
        """Count the files and rows that failed."""
        rows = sum(fate.fate == "failed" for _, fate in self.turned_down)
        return rows + sum(record.fate == "failed" for record in self.files)


@dataclass(frozen=True)
class DatasetReader:
    """Reads the datasets of one run. `directory` is where relative paths start; `tables` are rows handed over.

    `choose` picks files of a folder, where not all are wanted. What is read lies inside the `borders`.
    """

    case: Case
    emit: Emit
    options: ParseOptions
    workers: int
    directory: Path
    tables: Mapping[str, Sequence[Mapping[str, Any]]]
    first: int | None = None
    choose: Callable[[Sequence[Path]], Sequence[Path]] | None = None
    borders: Borders = field(default=Borders())

    async def read(self, dataset: Dataset) -> ReadDataset:
        """Read a dataset before its parsing functions; raises UsageError where it gives no rows at all.

        With `first`, so many of its documents or rows are read, and no more. Raises OutsideBorders.
        """
        if dataset.path:
            self.borders.check_read(dataset.location(self.directory), f"the dataset {dataset.name!r}")
        match kind_of_source(dataset, self.directory):
            case "folder":
                return await self._folder(dataset)
            case "case":
                return self._stored(dataset)
            case "memory":
                return ReadDataset(self._table(dataset)[: self.first])
            case "file":
                return ReadDataset(await self._rows(dataset))

    async def _folder(self, dataset: Dataset) -> ReadDataset:
        location = dataset.location(self.directory)
        shared: dict[str, Any] = {"dataset": dataset.name, "options": self.options, "workers": self.workers}
        if self.choose is not None and location.is_dir():
            chosen_files = self.choose(walk([location], follow_links=self.options.follow_links).files)
            ingested = await ingest_files(chosen_files, self.case, self.emit, root=location, **shared)
        else:
            ingested = await ingest(location, self.case, self.emit, first=self.first, **shared)
        chosen = islice(ingested.documents.items(), self.first)
        documents = ((load_document(self.case, id), path) for id, path in chosen)
        return _documents(dataset, documents, ingested.fates, self.removed_documents())

    def removed_documents(self) -> set[str]:
        """Return the documents that were removed from the run's own case."""
        return self.case.listing.documents_that_fit(DocumentFilter(removed=True))

    def _table(self, dataset: Dataset) -> list[Row]:
        rows = [*self.tables.get(dataset.name, ()), *dataset.data]
        if not rows and dataset.name not in self.tables:
            raise UsageError(
                f"dataset {dataset.name!r} is of type memory, and nobody handed over its rows",
                advice="Write them under data:, give --input FILE.jsonl, or hand them over in Python.",
            )
        return [Row.source(dataset.name, str(n), row) for n, row in enumerate(checked_rows(rows))]

    # -- data files ----------------------------------------------------------------------------------------------

    async def _rows(self, dataset: Dataset) -> list[Row]:
        file = dataset.location(self.directory)
        rows: list[Row] = []
        sheets: dict[str, None] = {}
        try:
            async with self._pairs(file, dataset.sheet or None) as pairs:
                for sheet, values in pairs:
                    sheets[sheet] = None
                    if len(sheets) > 1:
                        raise _which_sheet(dataset, file, pairs, sheets)
                    if len(rows) == self.first:
                        break
                    rows.append(Row.source(dataset.name, str(len(rows)), values))
        except DocumentError as error:
            # Not the failure of one file among many: without its rows there is nothing to run on.
            raise UsageError(f"dataset {dataset.name!r}: {error}", advice=error.advice) from error
        return rows

    @asynccontextmanager
    async def _pairs(self, file: Path, sheet: str | None) -> AsyncIterator[Iterator[tuple[str, dict[str, Any]]]]:
        """Lend the (sheet, row) pairs of a data file, read in a child process where its format asks for that."""
        if not file.is_file():
            raise DocumentError(
                f"{file} cannot be opened: there is no such file", reason="unreadable", advice="Correct the path."
            )
        if file.suffix.lower() not in READ_IN_CHILD:
            yield table_rows(file, self.options)
            return
        async with self.pairs_by_child(file, sheet) as pairs:
            yield pairs

    @asynccontextmanager
    async def pairs_by_child(
        self, file: Path, sheet: str | None = None
    ) -> AsyncIterator[Iterator[tuple[str, dict[str, Any]]]]:
        """Lend the (sheet, row) pairs that a child process reads from a data file; raises DocumentError."""
        with scratch_folder() as scratch:
            async with ParserPool(1, self.options) as pool:
                written = await pool.rows(file, sheet=sheet, scratch=scratch)
            with closing(read_rows(written)) as pairs:
                yield pairs

    # -- cases ---------------------------------------------------------------------------------------------------

    def _stored(self, dataset: Dataset) -> ReadDataset:
        """Take documents that a case holds; those of another case are copied into this one with their lines."""
        location = dataset.location(self.directory)
        if not dataset.path or location.resolve() == self.case.path:
            return self._from_case(dataset, self.case)
        with open_case(location, read_only=True) as other:
            return self._from_case(dataset, other)

    def _from_case(self, dataset: Dataset, source: Case) -> ReadDataset:
        paths = {entry.id: _path_of(source.documents, entry) for entry in wanted_documents(source, dataset)}
        chosen = dict(islice(((id, path) for id, path in paths.items() if fits(path, dataset.glob)), self.first))
        failures = [f for f in source.documents.failures() if not dataset.is_selection and fits(f.path, dataset.glob)]
        if not chosen and not failures and self.first != 0:
            raise UsageError(
                f"dataset {dataset.name!r}: the case {source.path} holds no documents{_wanted_text(dataset)}",
                advice="Tag or star documents, or choose all of them."
                if dataset.is_selection
                else "Read files into it: `redwell ingest FOLDER --case FILE`.",
            )
        failed = [DocumentRecord(f.path, "failed", f.sha256, f.reason, f.message, f.advice) for f in failures]
        fates = [*_read_records(chosen, {record.path for record in failed}), *failed]
        if source is not self.case:
            self._record_failures(failures, source.path)
        elif not source.read_only:
            self._seal(chosen)
        documents = [(self._own(source, DocumentId(id), path), path) for id, path in chosen.items()]
        return _documents(dataset, documents, fates, self.removed_documents())

    def _record_failures(self, failures: Sequence[FailedFile], other: Path) -> None:
        """Record the files that could not be read into another case, as its documents are recorded (`_own`)."""
        if failures:
            with self.case.transaction(relaxed=True):
                for file in failures:
                    record_unreadable(self.case.custody, Path(file.path).name, other, file.sha256, file.reason)

    def _seal(self, ids: Iterable[str]) -> None:
        """Record documents that the case held before its custody log began, and the files that hold them."""
        is_sealed = self.case.seals.is_document_sealed
        waiting = [id for id in ids if not is_sealed(id)]
        found: dict[str, DocumentPath] = {}
        for id in waiting:  # grows by the files that hold these
            if id in found:
                continue
            paths = self.case.documents.paths(id)
            found[id] = paths[0] if paths else DocumentPath(self.case.documents.get(id).entry.filename, None)
            if (parent := found[id].parent_id) is not None and not is_sealed(parent):
                waiting.append(parent)
        if not found:
            return
        root = _common_folder([Path(place.path) for place in found.values() if place.parent_id is None])
        with self.case.transaction(relaxed=True):
            self.case.custody.begin()
            for id, place in found.items():
                path = Path(place.path)
                folder = root if root is not None and path.is_relative_to(root) else path.parent
                inside = None if place.parent_id is None else DocumentId(place.parent_id)
                record_source(self.case, path.relative_to(folder).as_posix(), folder, DocumentId(id), inside)

    def _own(self, source: Case, id: DocumentId, path: str) -> Document:
        """Return a document of another case as the run's own case holds it, where evidence and pages come from, too."""
        if not self.case.documents.has(id):
            with self.case.transaction(relaxed=True):
                self.case.custody.begin()
                save_document(self.case, load_document(source, id))
                self.case.documents.add_path(id, path)
                record_source(self.case, Path(path).name, source.path, id, None)
        return load_document(self.case, id)


def wanted_documents(case: Case, dataset: Dataset) -> list[DocumentEntry]:
    """List the documents of a case that a dataset chooses by mark or by name, in the order of reading.

    Those that were removed are left out. Raises UsageError for a document that is named and not there.
    """
    wanted = DocumentFilter(tags=dataset.tags, starred=dataset.starred, words=dataset.words)
    here = case.listing.documents_that_fit(DocumentFilter())
    entries = [entry for entry in case.documents.entries() if entry.id in here]
    named = set(dataset.documents)
    missing = named - {entry.id for entry in entries}
    if missing:
        raise UsageError(
            f"dataset {dataset.name!r}: the case {case.path} has no document {min(missing)}",
            advice="Name documents by their whole SHA-256, as the table of documents shows it. Put back one that was "
            "removed.",
        )
    if dataset.tags or dataset.starred or dataset.words:
        marked = case.listing.documents_that_fit(wanted)
        entries = [entry for entry in entries if entry.id in marked]
    return [entry for entry in entries if not named or entry.id in named]


def _read_records(paths: Mapping[str, str], taken: set[str]) -> list[DocumentRecord]:
    """Account for the documents of a case, each at a path of its own: the ledger of a run has one file at a path.

    Where a file has changed, its documents were read at the same path: the last one has it, unless it is `taken`.
    """
    records = []
    for id, path in reversed(list(paths.items())):
        records.append(DocumentRecord(f"SHA-256 {id[:12]} at {path}" if path in taken else path, "parsed", id))
        taken.add(path)
    return records[::-1]


def _wanted_text(dataset: Dataset) -> str:
    parts = [f"fit {', '.join(dataset.glob)}"] if dataset.glob else []
    parts += [f"have the tag {' or '.join(dataset.tags)}"] if dataset.tags else []
    parts += ["have a star"] if dataset.starred else []
    parts += [f"have a line with {dataset.words!r}"] if dataset.words else []
    return f" that {' and '.join(parts)}" if parts else ""


def _documents(
    dataset: Dataset, documents: Iterable[tuple[Document, str]], fates: list[DocumentRecord], removed: Collection[str]
) -> ReadDataset:
    """Make rows of documents; those without text, or that are removed from the case, are rejected with the reason."""
    reading = ReadDataset(files=fates)
    for document, path in documents:
        row = document_row(dataset, document, path)
        if document.id in removed:
            reading.turned_down.append((row, FateRecord(row.id, "rejected", f"{WAS_REMOVED}: {path}")))
        elif row.values["text"].strip():
            reading.rows.append(row)
        else:
            reading.turned_down.append((row, FateRecord(row.id, "rejected", f"{NO_TEXT}: {path}")))
    return reading


def _common_folder(files: Sequence[Path]) -> Path | None:
    """Return the folder below which all files lie; None where there is none."""
    try:
        return Path(os.path.commonpath([file.parent for file in files]))
    except ValueError:  # none at all, or on several drives
        return None


def _path_of(documents: Documents, entry: DocumentEntry) -> str:
    paths = documents.paths(entry.id)
    return paths[0].path if paths else entry.filename


def _which_sheet(
    dataset: Dataset, file: Path, rest: Iterator[tuple[str, Any]], known: Mapping[str, None]
) -> UsageError:
    sheets = dict.fromkeys([*known, *(sheet for sheet, _ in rest)])
    return UsageError(
        f"dataset {dataset.name!r}: {file.name} has rows in several sheets: {', '.join(sheets)}",
        advice=f"Say which to read, for example sheet: {next(iter(sheets))}.",
    )
