"""CSV after RFC 4180: UTF-8, lines ended by CR LF, a citation column for each value column, no formula runs."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from typing import Any

from storage.export.atomic import replacing
from storage.export.cells import Lists, cell_text, is_number, safe_text
from storage.export.table import ResultTable, citation_text


@dataclass(frozen=True, slots=True)
class CsvOptions:
    """How to write CSV. `bom` helps Excel to see UTF-8."""

    bom: bool = False
    lists: Lists = "json"


def write_csv(table: ResultTable, target: str | os.PathLike[str], options: CsvOptions = CsvOptions()) -> None:  # noqa: B008
    """Write the table to `target`, which appears whole or not at all; raises ExportError or DiskFull."""
    with (
        replacing(target) as path,
        path.open("w", encoding="utf-8-sig" if options.bom else "utf-8", newline="") as file,
    ):
        writer = csv.writer(file, lineterminator="\r\n")
        writer.writerow([safe_text(name) for name in (*table.columns, *table.source_columns)])
        for row in table.rows:
            values = [_value(row.values.get(column), options.lists) for column in table.columns]
            citations = [safe_text(citation_text(row.citations.get(column, ()))) for column in table.cited]
            writer.writerow([*values, *citations])


def _value(value: Any, lists: Lists) -> str:
    text = cell_text(value, lists)
    return text if is_number(value) else safe_text(text)
