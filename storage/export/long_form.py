"""The long form of a table: one row for each place of evidence, for those who count or check places."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

from storage.export.table import NOT_LOCATED, Citation, ResultRow, ResultTable, inner_value

Form = Literal["wide", "long"]
"""`wide`: one row for each result. `long`: one row for each place that a value was found at."""

_PLACE = (
    *("row", "row_id", "column", "inside", "value", "file"),
    *("page", "first_line", "last_line", "quote", "method", "score"),
)


def long_form(table: ResultTable) -> ResultTable:
    """Turn a table into one with a row for each citation; a value that was not looked for has one without a place.

    Columns that come from no record (what reviewers said) are repeated in each row of theirs.
    """
    beside = tuple(column for column in table.columns if column in table.plain)
    columns = (*_PLACE, *(column if column not in _PLACE else f"{column}_" for column in beside))
    rows = [
        ResultRow(row.id, dict(zip(columns, (*place, *map(row.values.get, beside)), strict=True)))
        for number, row in enumerate(table.rows, 1)
        for place in _places(number, row, table.cited)
    ]
    return replace(table, columns=columns, rows=tuple(rows), plain=frozenset(columns))


def _places(number: int, row: ResultRow, columns: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
    for column in columns:
        value = row.values.get(column)
        for citation in row.citations.get(column, ()) or (Citation(None),):
            file = NOT_LOCATED if citation.file is None and citation.method else citation.file
            yield (
                *(number, row.id, column, citation.path, inner_value(value, column, citation.path), file),
                *(citation.page, citation.first_line, citation.last_line),
                *(citation.quote, citation.method, citation.score),
            )
