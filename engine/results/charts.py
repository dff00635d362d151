"""What charts show: counts by value, counts over time, and a matrix of documents and values; for any columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from engine.results.shown import Bar, Bars, Matrix, OverTime, Period, Unit
from engine.results.table import ResultView, Selection
from engine.results.values import date_of, items, leaves
from engine.values.cells import dated_parts

MOST_PERIODS = 240
"""Periods in one chart; with more, months become years."""


def count_values(view: ResultView, wanted: Selection, column: str, unit: Unit, most: int) -> Bars:
    """Count rows, or the documents they come from, by what a column names; rows where none comes from a document."""
    view.check_column(column)
    numbers = view.select(wanted)
    if numbers and not any(view.rows[number].documents for number in numbers):
        unit = "rows"
    seen: dict[str, set[str]] = {}
    for value, sources, number in _named(view, wanted, column):
        seen.setdefault(value, set()).update(sources if unit == "documents" else (str(number),))
    counts = Counter({value: len(members) for value, members in seen.items()})
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0].casefold()))
    bars = tuple(Bar(value, count) for value, count in ordered[:most])
    return Bars(column, unit, bars, len(ordered) - len(bars))


def count_over_time(view: ResultView, wanted: Selection, column: str, period: Period) -> OverTime:
    """Count the dates that a column names by year or month, those of one row once for each period."""
    view.check_column(column)
    cells = (view.cell(number, column) for number in view.select(wanted))
    rows = [{date for leaf in leaves(cell, dated_parts) if (date := date_of(leaf)) is not None} for cell in cells]
    by_month = [{year * 12 + month - 1 for year, month, _ in dates if month} for dates in rows]
    months = set().union(*by_month)
    if period == "year" or not months or max(months) - min(months) >= MOST_PERIODS:
        return _by_year(column, [{year for year, _, _ in dates} for dates in rows])
    counts = Counter(month for named in by_month for month in named)
    bars = tuple(Bar(f"{m // 12}-{m % 12 + 1:02}", counts[m]) for m in range(min(months), max(months) + 1))
    return OverTime(column, "month", bars, sum(not named for named in by_month))


def _by_year(column: str, rows: Sequence[set[int]]) -> OverTime:
    """Count the years of rows; the earliest beyond MOST_PERIODS make an endless axis of one wrong date: left out."""
    counts = Counter(year for named in rows for year in named)
    axis = range(min(counts), max(counts) + 1)[-MOST_PERIODS:] if counts else range(0)
    bars = tuple(Bar(f"{year}", counts[year]) for year in axis)
    undated = sum(not named for named in rows)
    return OverTime(column, "year", bars, undated, sum(named.isdisjoint(axis) for named in rows) - undated)


def count_by_document(
    view: ResultView, wanted: Selection, column: str, most_values: int, most_documents: int
) -> Matrix:
    """Count the rows by document and by what a column names; documents are given by their ids."""
    view.check_column(column)
    cells: Counter[tuple[str, str]] = Counter()
    for value, sources, _ in _named(view, wanted, column):
        cells.update((document, value) for document in sources)
    by_value: Counter[str] = Counter()
    by_document: Counter[str] = Counter()
    for document, value in cells:
        by_value[value] += 1
        by_document[document] += 1
    values = sorted(by_value, key=lambda value: (-by_value[value], value.casefold()))
    documents = sorted(by_document, key=lambda document: (-by_document[document], document))
    shown_values, shown_documents = tuple(values[:most_values]), tuple(documents[:most_documents])
    counts = tuple(tuple(cells[document, value] for value in shown_values) for document in shown_documents)
    return Matrix(
        column=column,
        documents=shown_documents,
        values=shown_values,
        counts=counts,
        other_values=len(values) - len(shown_values),
        other_documents=len(documents) - len(shown_documents),
    )


def _named(view: ResultView, wanted: Selection, column: str) -> Iterator[tuple[str, tuple[str, ...], int]]:
    for number in view.select(wanted):
        for value in dict.fromkeys(items(view.cell(number, column))):
            yield value, view.rows[number].documents, number
