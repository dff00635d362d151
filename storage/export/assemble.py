"""Make the table of a run from its case: results, evidence with the quoted lines, reviews, ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence

from storage.case import Case
from storage.documents import Documents
from storage.errors import ExportError
from storage.evidence import EvidenceRecord
from storage.export.reviews import ReviewOptions, reviews_of, with_reviews
from storage.export.table import Citation, ResultRow, ResultTable

Told = Callable[[int, int], None]
"""Hears how many rows of how many are done; it may raise to stop the work."""


def result_table(
    case: Case,
    run_id: str,
    *,
    columns: Sequence[str] | None = None,
    reviews: ReviewOptions = ReviewOptions(),  # noqa: B008 - frozen
    only: Collection[str] | None = None,
    told: Told = lambda done, total: None,
) -> ResultTable:
    """Read the results of a run, with `columns` in place of those it saved if given; raises ExportError, NotInCase.

    `only`: the ids of the rows to take, all if None.
    """
    results = case.runs.results(run_id)
    if results is None:
        raise ExportError(
            f"run {run_id} of {case.path} has delivered no results yet",
            advice="Run the question again (it goes on where it stopped), then export.",
        )
    chosen = tuple(results.columns if columns is None else columns)
    files = file_names(case.documents)
    wanted = [row_id for row_id in results.row_ids if only is None or row_id in only]
    # A network may be made of columns of the results that are not those of the table.
    read = frozenset((*chosen, *results.columns))
    rows = []
    for done, row_id in enumerate(wanted):
        told(done, len(wanted))
        citations = _citations(case, run_id, row_id, chosen, files)
        rows.append(ResultRow(row_id, case.rows.get(run_id, row_id, only=read).values, citations))
    table = ResultTable(chosen, tuple(rows), case.ledger.sums(run_id), about=_about(case, run_id))
    return table if reviews == ReviewOptions() else with_reviews(table, reviews_of(case, run_id), reviews)


def _about(case: Case, run_id: str) -> tuple[tuple[str, str], ...]:
    run = case.runs.get(run_id)
    finished = run.finished_at or "not finished"
    return (
        ("Case", case.path.name),
        ("Run", run_id),
        ("Model", run.model_name or "only those that the question names"),
        ("Started (UTC)", run.started_at[:16].replace("T", " ")),
        ("Finished (UTC)", finished[:16].replace("T", " ")),
        ("Question", run.pipeline_yaml),
    )


def _citations(
    case: Case, run_id: str, row_id: str, columns: Sequence[str], files: Mapping[str, str]
) -> dict[str, tuple[Citation, ...]]:
    citations: dict[str, tuple[Citation, ...]] = {}
    for record in case.evidence.of_row(run_id, row_id):
        if record.column in columns:
            citations[record.column] = (*citations.get(record.column, ()), citation_of(case.documents, record, files))
    return citations


def citation_of(documents: Documents, record: EvidenceRecord, files: Mapping[str, str]) -> Citation:
    """Turn a record of evidence into a citation that quotes its lines, joined by line breaks."""
    if record.document_id is None or record.first_line is None or record.last_line is None:
        return Citation(None, method=record.method, path=record.path, score=record.score)
    lines = documents.lines(record.document_id, record.first_line, record.last_line)
    return Citation(
        files[record.document_id],
        record.page,
        record.first_line,
        record.last_line,
        "\n".join(line.text for line in lines),
        record.method,
        record.path,
        record.score,
    )


def file_names(documents: Documents) -> dict[str, str]:
    """Name each document, by id: its file name, or its path where several documents share the name."""
    entries = documents.entries()
    counts = Counter(entry.filename for entry in entries)
    names = {}
    for entry in entries:
        paths = documents.paths(entry.id) if counts[entry.filename] > 1 else []
        names[entry.id] = paths[0].path if paths else entry.filename
    return names
