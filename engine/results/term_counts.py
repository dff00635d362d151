"""How many lines of each document hold each term of a list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from engine.errors import UsageError
from engine.results.shown import CountedDocument, TermCounts, TermSum
from storage.case import Case
from storage.export.assemble import file_names
from storage.export.table import ResultRow, ResultTable, free_name
from storage.listing import DocumentFilter
from storage.search_words import match_expression

MOST_TERMS = 500


def terms_in(lines: Iterable[str]) -> tuple[str, ...]:
    """Read a list with one term per line, each once, letters' case aside.

    A line is searched for as it stands: `use of force` is a phrase, `offic*` the beginning of a word. With double
    quotes in it, it is read as a search. Raises UsageError for no terms, too many, and one without a word.
    """
    by_case: dict[str, str] = {}
    for line in lines:
        if term := " ".join(line.split()):
            by_case.setdefault(term.casefold(), term)
    terms = tuple(by_case.values())
    if not 1 <= len(terms) <= MOST_TERMS:
        raise UsageError(f"the list has {len(terms):,} terms", advice=f"Give 1 to {MOST_TERMS}, one per line.")
    if wordless := [term for term in terms if not match_expression(query_of(term))]:
        raise UsageError(f"the term {wordless[0]!r} has no word", advice="Remove that line.")
    return terms


def query_of(term: str) -> str:
    """Write a term as a search (storage.search_words).

    >>> query_of("use of force")
    '"use of force"'
    >>> query_of("offic*")
    '"offic"*'
    """
    if '"' in term:
        return term
    return f'"{term.removesuffix("*")}"{"*" if term.endswith("*") else ""}'


def count_terms(case: Case, lines: Iterable[str], within: DocumentFilter | None = None) -> TermCounts:
    """Count the lines that hold each term, in all documents or in those that fit; raises as `terms_in` does."""
    terms = terms_in(lines)
    names = file_names(case.documents)
    counts_of = [case.search.count_lines(query_of(term), within) for term in terms]
    totals: Counter[str] = sum((Counter(counts) for counts in counts_of), Counter())
    documents = sorted(totals, key=lambda id: (-totals[id], names[id], id))
    return TermCounts(
        tuple(
            TermSum(term, query_of(term), sum(counts.values()), len(counts))
            for term, counts in zip(terms, counts_of, strict=True)
        ),
        tuple(CountedDocument(id, names[id], tuple(counts.get(id, 0) for counts in counts_of)) for id in documents),
    )


def term_table(counted: TermCounts) -> ResultTable:
    """Make a table of it to be written: the documents, a column for each term."""
    terms = [each.term for each in counted.terms]
    columns = (free_name("document", [term.casefold() for term in terms]), *terms)
    rows = (ResultRow(row.document, dict(zip(columns, (row.name, *row.counts), strict=True))) for row in counted.rows)
    return ResultTable(columns, tuple(rows), plain=frozenset(columns))
