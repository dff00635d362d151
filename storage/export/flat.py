"""Typed values in tables without depth: a column for each part, `fee.value`, `fee.currency`, ..., `fee.original`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from storage.export.table import Citation, ResultRow, ResultTable

ORIGINAL = "original"
MARKS = (ORIGINAL, "problem")
"""The keys by which a typed value is told from other objects."""


def flat(table: ResultTable) -> ResultTable:
    """Put the parts of typed values into columns of their own, where a column holds nothing else but text.

    A text that a person typed in place of no value stands in the column of the original texts.
    Its citations go with the part they are about, mostly `original`; a column named like a part already keeps the
    value whole. Formats that hold objects (JSON) need none of this.
    """
    parts = {column: names for column in table.columns if (names := _parts(table, column))}
    if not parts:
        return table
    columns = [part for column in table.columns for part in parts.get(column, (column,))]
    rows = tuple(_flat_row(row, parts) for row in table.rows)
    cited = {column for row in rows for column in row.citations}
    split = {part for names in parts.values() for part in names}
    from_records = {f"{column}.{ORIGINAL}" for column in parts if column not in table.plain} | cited
    plain = (table.plain - set(parts)) | (split - from_records)
    return replace(table, columns=tuple(columns), rows=rows, plain=frozenset(plain))


def _parts(table: ResultTable, column: str) -> tuple[str, ...]:
    """Name the columns of a column of typed values, in order of first sight; none for any other column."""
    values = [value for row in table.rows if (value := row.values.get(column)) is not None]
    objects = [value for value in values if not isinstance(value, str)]
    if not objects or not all(isinstance(v, Mapping) and all(mark in v for mark in MARKS) for v in objects):
        return ()
    keys = dict.fromkeys(key for value in objects for key in value if key not in MARKS)
    names = tuple(f"{column}.{key}" for key in (*keys, *MARKS))
    return () if set(names) & set(table.columns) else names


def _flat_row(row: ResultRow, parts: Mapping[str, tuple[str, ...]]) -> ResultRow:
    values: dict[str, Any] = {}
    citations: dict[str, tuple[Citation, ...]] = {}
    for column, value in row.values.items():
        if column in parts:
            inside = {ORIGINAL: value} if isinstance(value, str) else value or {}
            values |= {name: inside.get(name.removeprefix(f"{column}.")) for name in parts[column]}
        else:
            values[column] = value
    for column, cited in row.citations.items():
        if column not in parts:
            citations[column] = cited
            continue
        for citation in cited:
            name = _part_of(citation.path, parts[column], f"{column}.{ORIGINAL}")
            citations[name] = (*citations.get(name, ()), citation)
    return ResultRow(row.id, values, citations)


def _part_of(path: str, names: Iterable[str], otherwise: str) -> str:
    """Return the column that a citation's path leads into."""
    return next((name for name in names if path == name or path.startswith((f"{name}.", f"{name}["))), otherwise)
