"""Read data files of any format as rows. The formats that need a library of their own are read in a child process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine.documents.kinds import refuse_other_content
from engine.documents.options import ParseOptions
from engine.documents.records import read_rows

READ_IN_CHILD = frozenset({".xlsx", ".xlsm", ".parquet"})
"""Suffixes of formats whose readers a hostile file could crash."""


def table_rows(path: Path, options: ParseOptions, sheet: str | None = None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (sheet, row) for each row of a data file, by its suffix; the sheet is "" but for workbooks.

    `sheet` names the one sheet of a workbook to read; None reads all that are visible. Raises DocumentError.
    """
    refuse_other_content(path)
    # Each reader is imported only when it is needed: a CSV file loads no spreadsheet library.
    match path.suffix.lower():
        case ".xlsx" | ".xlsm":
            from engine.documents.workbook import workbook_rows  # noqa: PLC0415

            yield from workbook_rows(path, options, sheet)
        case ".parquet":
            from engine.documents.parquet import parquet_rows  # noqa: PLC0415

            yield from (("", row) for row in parquet_rows(path))
        case _:
            yield from (("", row) for row in read_rows(path, strict=True))
