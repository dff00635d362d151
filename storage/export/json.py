"""JSON: one list of the objects that JSONL has a line of, for programs that read a whole file."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from storage.codec import dump_json
from storage.export.atomic import replacing
from storage.export.cells import plain_json
from storage.export.jsonl import check_columns, row_object
from storage.export.table import ResultTable


def write_json(table: ResultTable, target: str | os.PathLike[str]) -> None:
    """Write a list of one object per row, as `write_jsonl` does; the file appears whole or not at all."""
    check_columns(table)
    write_list((row_object(table, row) for row in table.rows), target)


def write_list(objects: Iterable[Any], target: str | os.PathLike[str]) -> None:
    """Write a list of JSON values, one a line; the file appears whole or not at all. Raises ExportError or DiskFull."""
    with replacing(target) as path, path.open("w", encoding="utf-8", newline="\n") as file:
        file.write("[")
        for number, value in enumerate(objects):
            file.write((",\n" if number else "\n") + dump_json(plain_json(value), spaced=True))
        file.write("\n]\n")
