"""JSON lines, one object per row with its values, its id and where each value was found; and JSON, a list of these."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from storage.codec import dump_json
from storage.export.atomic import replacing
from storage.export.cells import plain_json
from storage.export.table import ResultRow, ResultTable, free_name


def write_jsonl(table: ResultTable, target: str | os.PathLike[str]) -> None:
    """Write one object per row: the columns in order, `_row` (its id) and `_evidence` (citations by column).

    The last two have more underscores where a column has their name, as in the rows of an earlier export.
    NaN and the infinities, which JSON lacks, become the texts NaN, Infinity, -Infinity.
    The file appears whole or not at all; raises ExportError or DiskFull.
    """
    with replacing(target) as path, path.open("w", encoding="utf-8", newline="\n") as file:
        for row in table.rows:
            file.write(dump_json(_row_object(table, row), spaced=True) + "\n")


def write_json(table: ResultTable, target: str | os.PathLike[str]) -> None:
    """Write a list of one object per row, as `write_jsonl` does; the file appears whole or not at all."""
    write_list((_row_object(table, row) for row in table.rows), target)


def write_list(objects: Iterable[Any], target: str | os.PathLike[str]) -> None:
    """Write a list of JSON values, one a line; the file appears whole or not at all. Raises ExportError or DiskFull."""
    with replacing(target) as path, path.open("w", encoding="utf-8", newline="\n") as file:
        file.write("[")
        for number, value in enumerate(objects):
            file.write((",\n" if number else "\n") + dump_json(plain_json(value), spaced=True))
        file.write("\n]\n")


def _row_object(table: ResultTable, row: ResultRow) -> dict[str, Any]:
    """Make the object of one row. A column that was never looked for is absent from `_evidence`."""
    values = {column: plain_json(row.values.get(column)) for column in table.columns}
    evidence = {
        column: [plain_json({"path": one.path, **asdict(one)}) for one in row.citations[column]]
        for column in table.columns
        if row.citations.get(column)
    }
    return {**values, free_name("_row", table.columns): row.id, free_name("_evidence", table.columns): evidence}
