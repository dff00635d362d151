"""Parquet, with a citation column for each value column. The only module that imports arro3 to write."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from typing import Any

from arro3.core import Array, DataType, Table
from arro3.io import write_parquet as write_table

from storage.codec import is_utf8
from storage.export.atomic import replacing
from storage.export.cells import escape_characters, json_text
from storage.export.table import ResultTable, citation_text

_LARGEST = 2**63
_EXACT = 2**53


def write_parquet(table: ResultTable, target: str | os.PathLike[str]) -> tuple[str, ...]:
    """Write the table; return notes. The file appears whole or not at all; raises ExportError or DiskFull.

    A column is of numbers, booleans or text if all its values are; lists and objects are JSON text, and so is
    every value of a column whose values are of several kinds, which is noted.
    """
    columns: dict[str, Any] = {}
    notes = list(table.notes)
    for name in table.columns:
        values = [row.values.get(name) for row in table.rows]
        columns[_text(name)], is_mixed = _column(values)
        if is_mixed:
            notes.append(f"column {name}: its values are of several kinds, so they were written as JSON text")
    for name, source in zip(table.cited, table.source_columns, strict=True):
        texts = [_text(citation_text(row.citations.get(name, ()))) for row in table.rows]
        columns[_text(source)] = Array(texts, DataType.utf8())
    buffer = io.BytesIO()
    write_table(Table.from_pydict(columns), buffer)
    with replacing(target) as path:
        path.write_bytes(buffer.getbuffer())
    return tuple(notes)


def _column(values: Sequence[Any]) -> tuple[Array, bool]:
    """Make a column of the narrowest type that holds all values; say whether they are of several kinds."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return Array(values, DataType.bool()), False
    if kinds == {int} and all(-_LARGEST <= v < _LARGEST for v in values if v is not None):
        return Array(values, DataType.int64()), False
    if kinds in ({float}, {int, float}) and all(abs(v) <= _EXACT for v in values if isinstance(v, int)):
        return Array([None if v is None else float(v) for v in values], DataType.float64()), False
    if kinds <= {str}:
        return Array([None if v is None else _text(v) for v in values], DataType.utf8()), False
    texts = [None if v is None else _text(json_text(v)) for v in values]
    return Array(texts, DataType.utf8()), not kinds <= {list, tuple, dict}


def _text(text: str) -> str:
    return text if is_utf8(text) else escape_characters(text)
