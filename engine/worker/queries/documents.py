"""The table of documents, the sections of one, their tags and stars, and the files that could not be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from engine.custody.recording import put_back_documents, remove_documents
from engine.documents.outline import Section, outline_of
from engine.errors import UsageError
from engine.executor.case_documents import load_document
from engine.rows import DocumentId
from engine.worker.contract import documents as contract
from engine.worker.contract.documents import DocumentsPage, FailuresPage, NewToQuestion, Removal
from engine.worker.queries.registry import query
from engine.worker.queue_file import question_names
from storage.case import Case
from storage.listing import ALL_DOCUMENTS, DocumentFilter, Facets, SortColumn

MOST_ROWS = 500
"""Rows in one answer, so that none is long on its way."""

Line = TypeVar("Line")


@dataclass(frozen=True, slots=True)
class Span:
    """The lines of a table from `first` to `last`, inclusive; the first one is 0."""

    first: int
    last: int

    def of(self, lines: Sequence[Line]) -> Sequence[Line]:
        """Return these of all lines of the table."""
        return lines[self.first : self.last + 1]


@query(contract.PAGE)
def page(
    case: Case,
    *,
    offset: int = 0,
    limit: int = 100,
    sort: SortColumn = "name",
    descending: bool = False,
    only: DocumentFilter = ALL_DOCUMENTS,
) -> DocumentsPage:
    """Return some rows of the table, sorted and filtered."""
    check_page(offset, limit)
    rows = case.listing.list_documents(offset=offset, limit=limit, sort=sort, descending=descending, wanted=only)
    return DocumentsPage(case.listing.count_documents(only), tuple(rows))


@query(contract.IDS)
def ids(
    case: Case,
    *,
    spans: tuple[Span, ...] | None = None,
    sort: SortColumn = "name",
    descending: bool = False,
    only: DocumentFilter = ALL_DOCUMENTS,
) -> tuple[str, ...]:
    """Return the ids of some rows of the table, sorted and filtered; of all where no `spans` are given."""
    listed = case.listing.list_ids(sort=sort, descending=descending, wanted=only)
    return tuple(listed if spans is None else (id for span in spans for id in span.of(listed)))


@query(contract.FACETS)
def facets(case: Case, *, only: DocumentFilter = ALL_DOCUMENTS) -> Facets:
    """Count documents by type, tag and year."""
    return case.listing.facets(only)


@query(contract.NEW, lane="slow")
def new_to_question(case: Case, *, run: str = "") -> NewToQuestion | None:
    """List what is new to the question of a finished run, else of the last one; None where there is none."""
    from engine.results.same_question import runs_of_question  # noqa: PLC0415 - reads pipelines, all others do not

    finished = {stored.id: stored for stored in case.runs.all() if stored.status == "finished"}
    if not finished:
        return None
    chosen = run if run in finished else list(finished)[-1]
    asked_in = tuple(stored.id for stored in runs_of_question(case.runs, chosen))
    name = question_names(case.path).get(chosen, f"Run {chosen}")
    new = case.listing.documents_that_fit(DocumentFilter(asked_in=asked_in, new=True))
    return NewToQuestion(chosen, name, asked_in, tuple(sorted(new)))


@query(contract.TAGS)
def tags(case: Case) -> list[str]:
    """List the tags in use."""
    return case.labels.tags()


@query(contract.OUTLINE, lane="slow")
def outline(case: Case, *, document: str) -> tuple[Section, ...]:
    """Return the sections of a document with their first and last lines and pages, in order."""
    return outline_of(load_document(case, DocumentId(document)).seen())


@query(contract.FAILURES)
def failures(case: Case, *, offset: int = 0, limit: int = 100) -> FailuresPage:
    """Return some of the files that could not be read, by path, with the reason and what to do."""
    check_page(offset, limit)
    failures = tuple(case.documents.failures(offset=offset, limit=limit))
    return FailuresPage(case.listing.count_failures(), failures)


@query("documents.star", lane="edit")
def star(case: Case, *, documents: tuple[str, ...], on: bool = True) -> list[str]:
    """Give documents a star or take it away; return those that were asked for."""
    case.labels.star(documents, on=on)
    return list(documents)


@query("documents.remove", lane="edit")
def remove(case: Case, *, documents: tuple[str, ...], on: bool = True) -> list[str]:
    """Take documents out of the case or put them back, with what stands only inside of them; return those changed."""
    return remove_documents(case, documents) if on else put_back_documents(case, documents)


@query(contract.REMOVAL)
def removal(case: Case, *, documents: tuple[str, ...]) -> Removal:
    """Count what goes with some documents, and which rows of results will go on showing them."""
    whole = case.labels.with_contents(documents)
    rows, reviewed = case.labels.count_result_rows_of(whole), case.labels.count_result_rows_of(whole, reviewed=True)
    return Removal(len(whole), rows, reviewed)


@query("documents.tag", lane="edit")
def tag(case: Case, *, documents: tuple[str, ...], tag: str, on: bool = True) -> list[str]:
    """Tag documents or take the tag off; return those that were asked for."""
    if on:
        case.labels.tag(documents, tag)
    else:
        case.labels.untag(documents, tag)
    return list(documents)


def check_page(offset: int, limit: int) -> None:
    """Raise UsageError unless rows can be asked for like this."""
    if offset < 0 or not 1 <= limit <= MOST_ROWS:
        raise UsageError(
            f"rows from {offset}, {limit} of them", advice=f"offset is 0 or more, limit from 1 to {MOST_ROWS}."
        )
