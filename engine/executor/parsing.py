"""Parsing functions of a dataset: the file that a row names, read into fields of the row."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from engine.documents.document import Document
from engine.documents.leftovers import scratch_folder
from engine.documents.parsers import installed_parsers
from engine.documents.pool import ParserPool
from engine.errors import DocumentError, UsageError
from engine.executor.case_documents import load_document
from engine.executor.datasets import DatasetReader, ReadDataset
from engine.executor.events import RowFailed
from engine.executor.sources import WAS_REMOVED, ingest_files
from engine.operators.accounting import all_or_none
from engine.plan.dataset import Dataset, Parsing, ParsingTool
from engine.plan.frozen import thaw
from engine.rows import DocumentId, Row, Span
from models.paths import expanded
from storage.ledger import DocumentRecord, FateRecord

_NO_PATH = re.compile(r"[\0\ud800-\udfff]")
_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+://")


@dataclass(frozen=True)
class _Parsed:
    """Fields that parsing adds to a row, and the lines they stand for, where they come from a document."""

    values: Mapping[str, Any]
    document: Document | None = None
    span: Span | None = None


_Result = list[_Parsed] | str | DocumentError
"""The result of a function for one row: fields, the reason why the row is left out, or an error."""


class ParsingFunctions:
    """Applies the parsing functions of datasets, one after another, each to all rows."""

    def __init__(self, reader: DatasetReader, tools: Sequence[ParsingTool], *, trusts_code: bool) -> None:
        self._reader = reader
        self._tools = {tool.name: tool for tool in tools}
        self._trusts_code = trusts_code

    async def apply(self, dataset: Dataset, found: ReadDataset) -> None:
        """Replace the rows of `found` by what the dataset's functions make of them; a row they cannot read fails."""
        for parsing in dataset.parsing:
            self._check(dataset, parsing)
            rows, found.rows = found.rows, []
            results: Sequence[_Result]
            if parsing.reads_documents:
                results = await self._documents(dataset, parsing, rows, found)
            else:
                results = await self._calls(parsing, rows)
            for row, result in zip(rows, results, strict=True):
                if isinstance(result, DocumentError):
                    self._fail(dataset, row, result, found)
                elif isinstance(result, str):
                    found.turned_down.append((row, FateRecord(row.id, "rejected", result)))
                elif not result:
                    reason = f"the parsing function {parsing.function} made no row of it"
                    found.turned_down.append((row, FateRecord(row.id, "rejected", reason)))
                else:
                    found.rows += _rows(dataset, row, result)

    def _check(self, dataset: Dataset, parsing: Parsing) -> None:
        """Raise UsageError for a function that is not here, or may not run."""
        if parsing.reads_documents or parsing.function in installed_parsers():
            return
        if parsing.function not in self._tools:
            raise UsageError(
                f"dataset {dataset.name!r}: there is no parsing function {parsing.function!r}",
                advice="`redwell check` lists those there are.",
            )
        if not self._trusts_code:
            raise UsageError(
                f"dataset {dataset.name!r}: {parsing.function} is the pipeline's own Python and runs only if allowed",
                advice="Read it, and if you trust it, run with --trust-code.",
            )

    def _fail(self, dataset: Dataset, row: Row, error: DocumentError, reading: ReadDataset) -> None:
        text = f"dataset {dataset.name!r}, row {row.id}: {error}"
        reading.turned_down.append((row, FateRecord(row.id, "failed", error=text, advice=error.advice)))
        self._reader.emit(RowFailed(dataset.name, row.id, text, error.advice))

    # -- files, read by the engine's own parsers -----------------------------------------------------------------

    async def _documents(
        self, dataset: Dataset, parsing: Parsing, rows: Sequence[Row], reading: ReadDataset
    ) -> list[_Result]:
        """Read the files that rows name into the case; return what each row gets of its file, or why nothing."""
        named = [self._file(parsing, row, dataset) for row in rows]
        files = sorted({file for file in named if isinstance(file, Path)})
        options = self._reader.options
        if parsing.function_kwargs.get("ocr_enabled") is False:
            options = replace(options, ocr="never")
        ingested = await ingest_files(
            files,
            self._reader.case,
            self._reader.emit,
            root=self._reader.directory,
            dataset=dataset.name,
            options=options,
            workers=self._reader.workers,
        )
        records = {record.path: record for record in ingested.fates}
        removed = self._reader.removed_documents()
        # A file that cannot be read fails the rows that name it; as a file it would be counted twice.
        reading.files += [record for record in ingested.fates if record.fate != "failed"]
        return [
            file
            if isinstance(file, DocumentError)
            else await self._read(dataset, parsing, file, records.get(str(file)), removed)
            for file in named
        ]

    def _file(self, parsing: Parsing, row: Row, dataset: Dataset) -> Path | DocumentError:
        """Find the file a row names: a relative path starts at the pipeline's folder, else at the data file's."""
        value = row.values.get(parsing.source_field)
        if not isinstance(value, str) or not value.strip() or _NO_PATH.search(value):
            fields = ", ".join(row.values) or "none"
            what = "is no path" if parsing.source_field in row.values else "is not there"
            return DocumentError(
                f"the field {parsing.source_field!r} {what}; the fields there are: {fields}",
                reason="unreadable",
                advice="Let input_key name the field that holds the path of a file.",
            )
        if _URL.match(value):
            return DocumentError(
                f"{value} is an address on the network, and nothing leaves this machine",
                reason="unsupported",
                advice="Save the file, and let the row name its path.",
            )
        folders = [self._reader.directory, dataset.location(self._reader.directory).parent]
        places = [folder / expanded(value) for folder in folders]
        inside = [place for place in places if self._reader.borders.allow(place)]
        if not inside:
            return DocumentError(
                f"{places[0]} lies outside the folder of the pipeline",
                reason="outside",
                advice=f"If you want it read, add --allow-path {places[0].parent}",
            )
        file = next((place for place in inside if _is_file(place)), None)
        return file or DocumentError(
            f"there is no file {places[0]}", reason="unreadable", advice="Correct the path in this row."
        )

    async def _read(
        self, dataset: Dataset, parsing: Parsing, file: Path, record: DocumentRecord | None, removed: Collection[str]
    ) -> _Result:
        if record is None or record.fate == "failed" or record.document_id is None:
            reason = record.reason if record else "unsupported"
            message = record.message if record else "an archive has no text of its own"
            return DocumentError(
                f"{file.name}: {message}", reason=reason, advice=record.advice if record else "Unpack it first."
            )
        if record.document_id in removed:
            return f"{WAS_REMOVED}: {file.name}"
        document = load_document(self._reader.case, DocumentId(record.document_id))
        if parsing.function == "xlsx_to_string":
            return await self._sheets(parsing, file, document)
        shown = document if dataset.include_hidden else document.seen()
        return [_Parsed({parsing.target_field: text}, document, span) for text, span in _texts(parsing, shown)]

    async def _sheets(self, parsing: Parsing, file: Path, document: Document) -> list[_Parsed] | DocumentError:
        """Write a workbook as DocETL does: column by column, or row by row with `orientation: row`."""
        from engine.documents.workbook import texts_of_rows  # noqa: PLC0415 - openpyxl

        kwargs = parsing.function_kwargs
        sheets: dict[str, list[dict[str, Any]]] = {}
        try:
            async with self._reader.pairs_by_child(file) as pairs:
                for sheet, row in pairs:
                    sheets.setdefault(sheet, []).append(row)
        except DocumentError as error:
            return error
        by_column = kwargs.get("orientation", "col") == "col"
        texts = [
            texts_of_rows(rows, by_column=by_column, columns=kwargs.get("col_order") or ()) for rows in sheets.values()
        ]
        if not kwargs.get("doc_per_sheet"):
            texts = ["\n\n".join(texts)]
        return [_Parsed({parsing.target_field: text}, document) for text in texts]

    # -- functions of packages and of the pipeline ---------------------------------------------------------------

    async def _calls(self, parsing: Parsing, rows: Sequence[Row]) -> list[list[_Parsed] | DocumentError]:
        keys = {"input_key": parsing.input_key, "output_key": parsing.output_key}
        arguments = {k: v for k, v in keys.items() if v is not None} | thaw(parsing.function_kwargs)
        tool = self._tools.get(parsing.function)
        code = tool.function_code if tool and parsing.function not in installed_parsers() else None
        with scratch_folder() as scratch:
            async with ParserPool(self._reader.workers, self._reader.options) as pool:

                async def one(row: Row) -> list[_Parsed] | DocumentError:
                    folder = Path(tempfile.mkdtemp(dir=scratch))
                    try:
                        parsed = await pool.call(
                            parsing.function,
                            thaw(row.values),
                            arguments,
                            code=code,
                            folder=self._reader.directory,
                            scratch=folder,
                            may_read=self._reader.borders.allow,
                        )
                    except DocumentError as error:
                        return error
                    return [_Parsed(values) for values in parsed]

                return await all_or_none([one(row) for row in rows])


def _is_file(place: Path) -> bool:
    """Say whether there is a file; what cannot be a path, such as a whole sentence, is none."""
    try:
        return place.is_file()
    except (OSError, ValueError):
        return False


def _texts(parsing: Parsing, document: Document) -> list[tuple[str, Span | None]]:
    """Return the text of a document, or of each of its pages, with its lines."""
    kwargs = parsing.function_kwargs
    spans = [Span(1, len(document.lines))] if document.lines else []
    if kwargs.get("doc_per_page") or kwargs.get("doc_per_slide"):
        spans = [page.lines for page in document.pages if page.lines is not None]
    numbered = kwargs.get("include_line_numbers")
    texts: list[tuple[str, Span | None]] = []
    for span in spans:
        lines = document.lines[span.first - 1 : span.last]
        texts.append(("\n".join(f"{n.number}: {n.text}" if numbered else n.text for n in lines), span))
    return texts or [("", None)]


def _rows(dataset: Dataset, row: Row, parts: Sequence[_Parsed]) -> list[Row]:
    """Make the rows of what came of one row; a row stands for the first document that was read for it."""
    made = []
    for index, part in enumerate(parts):
        key = row.id if len(parts) == 1 else f"{row.id}.{index}"
        fresh = Row.source(dataset.name, key, {**row.values, **part.values})
        if row.document_id is not None or part.document is None:
            made.append(replace(fresh, document_id=row.document_id, span=row.span))
        else:
            made.append(replace(fresh, document_id=part.document.id, span=part.span))
    return made
