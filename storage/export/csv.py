"""CSV after RFC 4180: UTF-8, lines ended by CR LF, a citation column for each value column, no formula runs."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from storage.errors import ExportError
from storage.export.atomic import replacing
from storage.export.cells import Lists, cell_text, is_number, original_text, safe_text
from storage.export.table import ResultRow, ResultTable, citation_text

Citations = Literal["after", "beside", "none"]


@dataclass(frozen=True, slots=True)
class CsvOptions:
    """How to write CSV. `bom` helps Excel to see UTF-8.

    `citations` puts the citation columns after all value columns, beside each its own, or leaves them out.
    `guard_inside` also disarms formulas behind `;`, tabs and line breaks in a cell (see storage.export.cells).
    """

    bom: bool = False
    lists: Lists = "json"
    citations: Citations = "after"
    guard_inside: bool = True
    delimiter: str = ","

    def __post_init__(self) -> None:
        if self.delimiter not in (",", ";", "\t", "|"):
            raise ExportError(f"a CSV delimiter is one of , ; tab |, not {self.delimiter!r}")


def write_csv(table: ResultTable, target: str | os.PathLike[str], options: CsvOptions = CsvOptions()) -> None:  # noqa: B008
    """Write the table to `target`, which appears whole or not at all; raises ExportError or DiskFull."""
    with (
        replacing(target) as path,
        path.open("w", encoding="utf-8-sig" if options.bom else "utf-8", newline="") as file,
    ):
        _write(table, file, options)


def csv_text(table: ResultTable, options: CsvOptions = CsvOptions()) -> str:  # noqa: B008
    """Return what `write_csv` writes, without the byte order mark."""
    buffer = io.StringIO(newline="")
    _write(table, buffer, options)
    return buffer.getvalue()


def _write(table: ResultTable, file: Any, options: CsvOptions) -> None:
    writer = csv.writer(file, delimiter=options.delimiter, lineterminator="\r\n")
    heads = {column: _safe(column, options) for column in table.columns}
    sources = dict(zip(table.cited, (_safe(name, options) for name in table.source_columns), strict=True))
    writer.writerow(_arranged(heads, sources, options))
    for row in table.rows:
        values = {column: _value(row.values.get(column), options) for column in table.columns}
        writer.writerow(_arranged(values, _citations(row, table.cited, options), options))


def _citations(row: ResultRow, columns: tuple[str, ...], options: CsvOptions) -> dict[str, str]:
    return {column: _safe(citation_text(row.citations.get(column, ())), options) for column in columns}


def _arranged(values: dict[str, str], citations: dict[str, str], options: CsvOptions) -> list[str]:
    """Put the cells of a row, both by column, in their order."""
    if options.citations == "none":
        return list(values.values())
    if options.citations == "after":
        return [*values.values(), *citations.values()]
    return [cell for column, value in values.items() for cell in (value, citations.get(column)) if cell is not None]


def _value(value: Any, options: CsvOptions) -> str:
    text = cell_text(value, options.lists)
    return text if is_number(value) else _safe(text, options)


def _safe(text: str, options: CsvOptions) -> str:
    return safe_text(text, inside=options.guard_inside)


def read_csv(source: str | os.PathLike[str], options: CsvOptions = CsvOptions()) -> Iterator[list[str]]:  # noqa: B008
    """Yield the header and then each row of a file that `write_csv` wrote, as the texts they were before.

    CSV holds text only, so a number comes back as its text, and null as the empty text.
    """
    csv.field_size_limit(2**31 - 1)
    with Path(source).open(encoding="utf-8-sig", newline="") as file:
        for row in csv.reader(file, delimiter=options.delimiter):
            yield [original_text(cell, inside=options.guard_inside) for cell in row]
