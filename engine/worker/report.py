"""A report in PDF: rows with their evidence, as pictures of pages with the lines marked, and the ledger at the end."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.documents.leftovers import scratch_folder
from engine.documents.options import ParseOptions
from engine.documents.render import WITH_PAGES, Child, no_pages
from engine.documents.report import ReportField, ReportLine, ReportPlace, ReportSection, ReportSpec, make_report
from engine.errors import DocumentError, UsageError
from engine.results.values import shown
from engine.worker.page_images import PageImage, draw, loading, marked_pages, source_file
from storage.case import Case
from storage.evidence import EvidenceRecord
from storage.export.assemble import file_names
from storage.export.atomic import replacing
from storage.export.table import NOT_LOCATED, ResultRow, ResultTable, citation_text
from storage.ledger import Ledger
from storage.runs import StoredRun

REPORT_SUFFIX = ".pdf"
MOST_PAGES = 1000
"""Pictures in one report: more make a file that no program opens gladly."""

PICTURE_DPI = 110
CONTEXT_LINES = 2

Told = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class _Evidence:
    """A row and the pages that its evidence lies on."""

    row: ResultRow
    records: tuple[EvidenceRecord, ...]
    pages: tuple[PageImage, ...]


def write_report(
    case: Case, run_id: str, table: ResultTable, out: Path, options: ParseOptions, told: Told
) -> tuple[str, ...]:
    """Write the rows of a table with the pages of their evidence; return notes. `told` hears of pages drawn.

    A page that cannot be drawn, of a file that has gone or has no pages, is replaced by its lines as they were read.
    Raises UsageError for more than MOST_PAGES pages, DocumentError, ExportError or DiskFull.
    """
    gathered = _gather(case, run_id, table, told)
    total = sum(len(evidence.pages) for evidence in gathered)
    _refuse_too_many(total, table)
    files = file_names(case.documents)
    with scratch_folder() as scratch, replacing(out) as path:
        drawing = _Drawing(case, files, scratch, options, told, total)
        drawing.draw_all([page for evidence in gathered for page in evidence.pages])
        sections = tuple(
            ReportSection(
                f"Row {number}: {_title(evidence.row, table)}",
                tuple(_fields(evidence.row, table)),
                tuple(drawing.places(evidence)),
            )
            for number, evidence in enumerate(gathered, 1)
        )
        run = case.runs.get(run_id)
        spec = ReportSpec(
            title=f"Results of {case.path.stem}",
            subtitle=_subtitle(run, len(table.rows)),
            sections=sections,
            sums=_sums(table.ledger),
            notes=(*table.notes, *drawing.notes),
        )
        make_report(spec, path, options)
    return (*table.notes, *drawing.notes)


def _gather(case: Case, run_id: str, table: ResultTable, told: Told) -> list[_Evidence]:
    """Find the pages of each row; raises UsageError for too many, before a document is read where that is seen."""
    records: list[tuple[EvidenceRecord, ...]] = []
    for row in table.rows:
        told(0, 0)
        found = case.evidence.of_row(run_id, row.id)
        records.append(tuple(record for record in found if record.column in row.citations))  # none of what is corrected
    total = sum(len(_first_pages(of_row)) for of_row in records)
    _refuse_too_many(total, table)
    load = loading(case)
    gathered = []
    for row, of_row in zip(table.rows, records, strict=True):
        told(0, total)
        gathered.append(_Evidence(row, of_row, tuple(marked_pages(case, of_row, load))))
    return gathered


def _first_pages(records: Sequence[EvidenceRecord]) -> set[tuple[str, int]]:
    """Return the pages on which places begin: there are at least so many pictures."""
    return {(record.document_id, record.page or 1) for record in records if record.document_id is not None}


def _refuse_too_many(pages: int, table: ResultTable) -> None:
    if pages > MOST_PAGES:
        raise UsageError(
            f"a report of {len(table.rows):,} rows would have {pages:,} pages of evidence; it can have {MOST_PAGES:,}",
            advice="Select fewer rows for the report, or write a table.",
        )


class _Drawing:
    """Draws the pages of evidence, those of a file in one child process.

    A child may read its file alone, and what it writes lies apart: a hostile file sees and changes no other's pages.
    """

    def __init__(  # noqa: PLR0913 - what drawing needs
        self, case: Case, files: Mapping[str, str], scratch: Path, options: ParseOptions, told: Told, total: int
    ) -> None:
        self._case, self._files, self._scratch = case, files, scratch
        self._options, self._told, self._total = options, told, total
        self._kinds = {entry.id: entry.kind for entry in case.documents.entries()}
        self._drawn: dict[PageImage, str | DocumentError] = {}
        self.notes: list[str] = []

    def draw_all(self, pages: Sequence[PageImage]) -> None:
        """Draw all pages, file by file."""
        of_document: dict[str, list[PageImage]] = {}
        for page in dict.fromkeys(pages):
            of_document.setdefault(page.document_id, []).append(page)
        for document, its_pages in of_document.items():
            try:
                file, _ = source_file(self._case.documents, document)
                if self._kinds[document] not in WITH_PAGES:
                    raise no_pages(self._kinds[document])
            except DocumentError as error:
                self._drawn |= dict.fromkeys(its_pages, error)
                continue
            folder = Path(tempfile.mkdtemp(prefix="child-", dir=self._scratch))
            with Child(self._options, folder, [file.absolute()]) as child:
                for page in its_pages:
                    self._told(len(self._drawn), self._total)
                    self._drawn[page] = self._draw(page, child)

    def _draw(self, page: PageImage, child: Child) -> str | DocumentError:
        picture = self._scratch / f"{len(self._drawn)}.png"
        try:
            draw(self._case.documents, page, picture, self._options, dpi=PICTURE_DPI, child=child)
        except DocumentError as error:
            return error
        return str(picture)

    def places(self, evidence: _Evidence) -> Iterator[ReportPlace]:
        """Yield the pages of a row, each as a picture or as lines."""
        for page in evidence.pages:
            yield self._place(evidence, page)

    def _place(self, evidence: _Evidence, page: PageImage) -> ReportPlace:
        here = [record for record in evidence.records if record.document_id == page.document_id]
        file = self._files[page.document_id]
        caption = f"{file}, page {page.page}: {', '.join(page.columns)}"
        drawn = self._drawn[page]
        if isinstance(drawn, str):
            return ReportPlace(caption, drawn, ())
        if drawn.reason != "no_page_image":
            note = f"{file}, page {page.page}, was not drawn: {drawn}"
            self.notes += [note] if note not in self.notes else []
        return ReportPlace(caption, "", tuple(self._lines(here, page)))

    def _lines(self, records: Sequence[EvidenceRecord], page: PageImage) -> Iterator[ReportLine]:
        marked: set[int] = set()
        shown: set[int] = set()
        for record in records:
            if record.first_line is not None and record.last_line is not None:
                marked |= set(range(record.first_line, record.last_line + 1))
                shown |= set(range(max(record.first_line - CONTEXT_LINES, 1), record.last_line + CONTEXT_LINES + 1))
        if not shown:
            return
        for line in self._case.documents.lines(page.document_id, min(shown), max(shown)):
            if line.number in shown and line.page == page.page:
                yield ReportLine(line.number, line.text, line.number in marked)


def _subtitle(run: StoredRun, rows: int) -> str:
    model = f"model {run.model_name}" if run.model_name else "only models that its question names"
    return f"Run {run.id} of {run.started_at[:10]} (UTC), {model}; {rows:,} {'row' if rows == 1 else 'rows'}"


def _title(row: ResultRow, table: ResultTable) -> str:
    first = next((column for column in table.cited if column != "filename"), table.columns[0])
    return shown(row.values.get(first))[:120] or "(empty)"


def _fields(row: ResultRow, table: ResultTable) -> Iterator[ReportField]:
    for column in table.columns:
        held = row.values.get(column)
        value = held if isinstance(held, str) else shown(held)
        citations = citation_text(row.citations.get(column, ()))
        if value or citations:
            yield ReportField(column, value, citations, is_missing=NOT_LOCATED in citations.split("; "))


def _sums(ledger: Ledger | None) -> tuple[tuple[str, ...], ...]:
    if ledger is None:
        return ()
    documents = ledger.documents
    return (
        ("step", "in", "output", "rejected", "failed", "rows out", "adds up"),
        ("files found", str(documents.found), "", "", str(documents.failed), "", _yes(documents.adds_up)),
        ("files read", str(documents.parsed), "", "", "", "", ""),
        ("duplicates of another file", str(documents.duplicates), "", "", "", "", ""),
        *(
            (o.operator, *(str(n) for n in (o.rows_in, o.output, o.rejected, o.failed, o.rows_out)), _yes(o.adds_up))
            for o in ledger.operators
        ),
    )


def _yes(holds: bool) -> str:
    return "yes" if holds else "NO"
