"""Words in the records of a case."""

from __future__ import annotations

from dataclasses import replace

from engine.errors import UsageError
from engine.results.saved_searches import remove_search, save_search, saved_searches
from engine.results.shown import SavedSearch, TermCounts
from engine.results.term_counts import count_terms, term_table
from engine.worker.contract import search as contract
from engine.worker.contract.search import FoundLine, FoundLines
from engine.worker.queries.documents import check_page
from engine.worker.queries.registry import query
from models.paths import expanded
from storage.case import Case
from storage.export.files import write_table
from storage.listing import ALL_DOCUMENTS, DocumentFilter
from storage.search import HIT_END, HIT_START


@query(contract.LINES)
def lines(  # noqa: PLR0913 - what a search box and its filters say
    case: Case,
    *,
    words: str,
    offset: int = 0,
    limit: int = 50,
    prefix: bool = True,
    only: DocumentFilter = ALL_DOCUMENTS,
) -> FoundLines:
    """Find lines that hold all words (storage.search says how they are written); `prefix`: the last may go on."""
    check_page(offset, limit)
    within = _within(only)
    hits = case.search.find(words, limit + 1, prefix=prefix, offset=offset, within=within)
    is_fuzzy = not hits and not case.search.find(words, 1, prefix=prefix, within=within)
    if is_fuzzy:
        hits = case.search.find(words, limit + 1, prefix=prefix, offset=offset, within=within, fuzzy=True)
    names = {id: case.listing.listed_document(id).name for id in {hit.document_id for hit in hits}}
    rows = [
        FoundLine(hit.document_id, names[hit.document_id], hit.page, hit.line, pieces(hit.snippet))
        for hit in hits[:limit]
    ]
    return FoundLines(len(hits) > limit, tuple(rows), is_fuzzy and bool(rows))


@query(contract.WITHIN)
def within(case: Case, *, document: str, words: str) -> list[tuple[int, int]]:
    """Find the lines of one document that hold `words` as written, letters' case aside: pairs of page and line."""
    wanted = words.casefold().strip()
    if not wanted:
        raise UsageError("search.within: there are no words", advice="Write what to look for.")
    lines = case.documents.lines(document)
    return [(line.page, line.number) for line in lines if wanted in line.text.casefold()]


def pieces(snippet: str) -> tuple[tuple[str, bool], ...]:
    """Split a snippet at its hits (storage.search.HIT_START, HIT_END)."""
    parts: list[tuple[str, bool]] = []
    for index, part in enumerate(snippet.split(HIT_START)):
        hit, end, rest = part.partition(HIT_END)
        is_hit = bool(index and end)
        parts += [(hit, True), (rest, False)] if is_hit else [(part, False)]
    return tuple((text, is_hit) for text, is_hit in parts if text)


@query(contract.TERMS, lane="slow")
def terms(case: Case, *, terms: tuple[str, ...], only: DocumentFilter = ALL_DOCUMENTS) -> TermCounts:
    """Count the lines that hold each term, by document."""
    return count_terms(case, terms, _within(only))


@query(contract.SAVE_TERMS, lane="slow")
def save_terms(case: Case, *, terms: tuple[str, ...], file: str, only: DocumentFilter = ALL_DOCUMENTS) -> int:
    """Write the table of documents and counts, in the format that the suffix names; return its rows."""
    counted = count_terms(case, terms, _within(only))
    write_table(term_table(counted), expanded(file))
    return len(counted.rows)


@query(contract.SAVED)
def saved(case: Case) -> tuple[SavedSearch, ...]:
    """List the saved searches by name."""
    return saved_searches(case.cache)


@query(contract.SAVE, lane="edit")
def save(case: Case, *, name: str, words: str = "", only: DocumentFilter = ALL_DOCUMENTS) -> SavedSearch:
    """Keep a search in the case under a name, in place of one of the same name."""
    return save_search(case, SavedSearch(name, words, only))


@query(contract.FORGET, lane="edit")
def forget(case: Case, *, name: str) -> str:
    """Remove a saved search; return its name."""
    remove_search(case, name)
    return name


def _within(only: DocumentFilter) -> DocumentFilter | None:
    return None if replace(only, asked_in=()) == ALL_DOCUMENTS else only
