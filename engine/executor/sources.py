"""Files into the case as documents, and documents into rows."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from engine.custody.recording import record_container, record_source, record_unreadable
from engine.documents.document import Document, Line
from engine.documents.events import Duplicate, FileEvent, FileFailed, Found, IngestEvent, Known, Parsed, Unpacked
from engine.documents.ingest import ingest_folder
from engine.documents.options import ParseOptions
from engine.documents.walk import walk
from engine.errors import UsageError
from engine.evidence.text_index import TextIndex
from engine.executor.case_documents import load_document, ocr_pages_of, save_document
from engine.executor.events import DocumentFailed, DocumentRead, Emit, FilesFound
from engine.executor.gone_files import forget_gone_failures
from engine.executor.reading_rates import Reading
from engine.plan.plan import Dataset
from engine.rows import DocumentId, Row
from storage.case import Case
from storage.documents import Documents
from storage.ledger import DocumentRecord
from storage.topic import now

Passed = Callable[[], Awaitable[None]]
"""Waited for between files: who lets it wait pauses the reading."""

NO_TEXT = "no text was found in this document"
WAS_REMOVED = "the document was removed from the case"
"""Why a document is rejected before the first operator; its path follows."""


@dataclass
class Ingested:
    """What a folder gave: its documents in order of path, each once, and the fate of every file."""

    documents: dict[DocumentId, str] = field(default_factory=dict)
    """Document -> the first path it was found at, relative to the folder."""
    fates: list[DocumentRecord] = field(default_factory=list)
    readings: dict[str, Reading] = field(default_factory=dict)
    """What was read and timed, by kind (engine.executor.reading_rates keeps it)."""

    @property
    def failed(self) -> int:
        """Count the files that could not be read."""
        return sum(record.fate == "failed" for record in self.fates)


async def ingest(  # noqa: PLR0913 - what a person may choose
    folder: Path,
    case: Case,
    emit: Emit,
    *,
    dataset: str,
    options: ParseOptions,
    workers: int,
    first: int | None = None,
    again: bool = False,
    passed: Passed | None = None,
) -> Ingested:
    """Read a folder (or one file) into the case; files that are in it already are not parsed again.

    `first`: take so many files in the order of their paths, and no more. `again`: read also what is in the case, in
    place of what was read before. `passed` is waited for between files.
    Raises UsageError when there is nothing at `folder`, or no file in it.
    """
    if not folder.exists():
        raise UsageError(f"dataset {dataset!r}: there is nothing at {folder}", advice="Give an existing folder.")
    root = folder if folder.is_dir() else folder.parent
    paths = [folder] if first is None else first_files(folder, first, follow_links=options.follow_links)
    result = await ingest_files(
        paths, case, emit, root=root, dataset=dataset, options=options, workers=workers, again=again, passed=passed
    )
    if not result.fates and first != 0:
        raise UsageError(
            f"dataset {dataset!r}: there are no files in {folder}", advice="Give a folder that holds documents."
        )
    return result


async def ingest_files(  # noqa: PLR0913 - what ingest takes, and the files by themselves
    paths: Sequence[Path],
    case: Case,
    emit: Emit,
    *,
    root: Path,
    dataset: str,
    options: ParseOptions,
    workers: int,
    again: bool = False,
    passed: Passed | None = None,
) -> Ingested:
    """Read files and folders into the case; paths are told relative to `root`.

    `again`: read also what is in the case, in place of what was read before. `passed` is waited for between files.
    """
    ingestion = _Ingestion(root, case, emit, dataset)
    case.custody.begin()
    events = ingest_folder(
        paths,
        known=(lambda document: False) if again else case.documents.has,
        options=options,
        workers=workers,
        known_children=lambda document: _children(case.documents, document),
    )
    async with aclosing(events) as stream:  # type: ignore[type-var]
        async for event in stream:
            ingestion.take(event)
            if passed is not None:
                await passed()
    for folder in filter(Path.is_dir, paths):
        forget_gone_failures(case.documents, folder, ingestion.began)
    return ingestion.result


def first_files(folder: Path, count: int, *, follow_links: bool = False) -> list[Path]:
    """Return the first so many files below a folder, in the order in which they are read; no links that lead outside.

    With `follow_links`, also what those lead to.
    """
    entries = walk([folder], follow_links=follow_links).in_order()
    kept = (path for path, error in entries if error is None or error.reason != "outside")
    return list(islice(kept, count))


def _children(documents: Documents, document: DocumentId) -> Sequence[dict[str, Any]]:
    metadata = documents.get(document).body["metadata"]
    children: Sequence[dict[str, Any]] = metadata.get("children", ())
    return children


class _Ingestion:
    """One pass over a folder: each event goes to the case, to whoever watches, and into the result."""

    def __init__(self, root: Path, case: Case, emit: Emit, dataset: str) -> None:
        self.result = Ingested()
        self._root = root
        self._case = case
        self._emit = emit
        self._dataset = dataset
        self.began = now()
        self._found = 0
        self._done = 0
        self._counted: list[str] = []
        """Paths of the files of the folder that are done with; files in an archive, until it is told, too."""
        self._waiting: dict[DocumentId, list[tuple[DocumentId, str]]] = {}

    def take(self, event: IngestEvent) -> None:
        """Record one event."""
        match event:
            case Found(files=files):
                self._found = files
                self._emit(FilesFound(self._dataset, files))
            case FileFailed():
                self._count(event)
                self._failed(event)
            case Parsed(document=document):
                self._count(event)
                with self._case.transaction(relaxed=True):
                    save_document(self._case, document, event.seconds)
                    self._keep_path(document.id, event)
                self._time(document, event.seconds)
                pages = len(document.pages), ocr_pages_of(document)
                self._read(event, document.id, "parsed", pages, event.seconds)
            case Known(id=known) | Duplicate(id=known):
                self._count(event)
                self._keep_path(known, event)
                status = "known" if isinstance(event, Known) else "duplicate"
                self._read(event, known, status, self._pages_of(known), 0.0)
            case Unpacked():
                self._unpacked(event)

    def _time(self, document: Document, seconds: float) -> None:
        timed = Reading(1, len(document.pages), document.size_bytes, seconds)
        self.result.readings[document.kind] = self.result.readings.get(document.kind, Reading()) + timed

    def _count(self, event: FileEvent) -> None:
        """Count a file. Those that lie in the folder were found there; others come on top, before what holds them."""
        self._done += 1
        if event.parent_id is None:
            self._counted.append(event.path)

    def _unpacked(self, event: Unpacked) -> None:
        """Count the files in an archive as found in it: until now, they were taken for files of the folder.

        What could not be read of it before, and now is or is no more in it, is no failure any more.
        """
        with self._case.transaction(relaxed=True):
            record_container(self._case.custody, self._relative(event.path), self._root, event.id)
            self._case.documents.forget_failures(event.path, self.began)
        if event.parent_id is None:
            while self._counted and self._counted[-1].startswith(f"{event.path}/"):
                self._counted.pop()
            self._counted.append(event.path)

    @property
    def _total(self) -> int:
        """Return how many files there are, as far as is known."""
        return self._done + max(self._found - len(self._counted), 0)

    def _pages_of(self, id: DocumentId) -> tuple[int, int]:
        """Count the pages of a document of the case, and those of them whose text came from OCR."""
        listed = self._case.listing.listed_document(id)
        if listed.ocr_pages is None:  # an earlier version of Redwell read it, and did not count them
            return listed.pages, ocr_pages_of(load_document(self._case, id))
        return listed.pages, listed.ocr_pages

    def _read(self, event: FileEvent, id: DocumentId, status: str, pages: tuple[int, int], seconds: float) -> None:
        path = self._relative(event.path)
        first = id not in self.result.documents
        self.result.documents.setdefault(id, path)
        self.result.fates.append(DocumentRecord(event.path, "parsed" if first else "duplicate", id))
        self._emit(
            DocumentRead(
                dataset=self._dataset,
                path=path,
                document_id=id,
                status=status,
                pages=pages[0],
                ocr_pages=pages[1],
                seconds=seconds,
                done=self._done,
                total=self._total,
            )
        )

    def _keep_path(self, id: DocumentId, event: FileEvent) -> None:
        """Keep where a document was found, and record it where that is new.

        Files inside a file come before it, so their paths wait for it.
        """
        with self._case.transaction(relaxed=True):
            if self._is_new(id, event):
                record_source(self._case, self._relative(event.path), self._root, id, event.parent_id)
            self._add_path(id, event)

    def _is_new(self, id: DocumentId, event: FileEvent) -> bool:
        if isinstance(event, Parsed) or not self._case.seals.is_document_sealed(id):
            return True
        return all(known.path != event.path for known in self._case.documents.paths(id))

    def _add_path(self, id: DocumentId, event: FileEvent) -> None:
        if event.parent_id is not None and not self._case.documents.has(event.parent_id):
            self._waiting.setdefault(event.parent_id, []).append((id, event.path))
            return
        self._case.documents.add_path(id, event.path, event.parent_id)
        for child, path in self._waiting.pop(id, []):
            self._case.documents.add_path(child, path, id)

    def _failed(self, event: FileFailed) -> None:
        with self._case.transaction(relaxed=True):
            self._case.documents.save_failure(event.path, event.sha256, event.reason, event.message, event.advice)
            record_unreadable(self._case.custody, self._relative(event.path), self._root, event.sha256, event.reason)
        self.result.fates.append(
            DocumentRecord(event.path, "failed", event.sha256, event.reason, event.message, event.advice)
        )
        self._emit(
            DocumentFailed(
                dataset=self._dataset,
                path=self._relative(event.path),
                reason=event.reason,
                message=event.message,
                advice=event.advice,
                done=self._done,
                total=self._total,
            )
        )

    def _relative(self, path: str) -> str:
        return Path(os.path.relpath(path, self._root)).as_posix()


def source_reader(documents: Documents, *, hidden: bool = False) -> Callable[[DocumentId], TextIndex]:
    """Return what reads the lines of a document from the case and indexes them, when evidence is looked for in it.

    `hidden`: models were shown the text of hidden lines, so values may come from there.
    """
    names = {entry.id: entry.filename for entry in documents.entries()}

    def read(id: DocumentId) -> TextIndex:
        lines = tuple(Line(n.number, n.page, n.text if hidden else n.seen) for n in documents.lines(id))
        return TextIndex(id, lines, names=(names[id],))

    return read


def document_row(dataset: Dataset, document: Document, path: str) -> Row:
    """Make the row of a document: the fields of engine.plan.sources.DOCUMENT_FIELDS."""
    values = {
        "filename": document.filename,
        "path": path,
        "text": document.whole_text if dataset.include_hidden else document.text,
        "pages": len(document.pages),
        "kind": document.kind,
    }
    return Row.source(dataset.name, document.id, values, document.id)
