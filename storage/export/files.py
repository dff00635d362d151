"""Export by file name: the suffix names the format."""

from __future__ import annotations

import os
from pathlib import Path

from storage.errors import ExportError
from storage.export.csv import CsvOptions, write_csv
from storage.export.flat import flat
from storage.export.json import write_json, write_jsonl
from storage.export.table import ResultTable

SUFFIXES = (".csv", ".xlsx", ".jsonl", ".json", ".parquet", ".sqlite", ".db")


def write_table(
    table: ResultTable,
    target: str | os.PathLike[str],
    *,
    csv_options: CsvOptions = CsvOptions(),  # noqa: B008
    sqlite_table: str = "",
) -> tuple[str, ...]:
    """Write the table in the format that the suffix of `target` names; return notes a person should see.

    Typed values become a column for each part, but in JSON.

    `sqlite_table` names the table of a database.

    Raises ExportError for an unknown suffix, a table that does not fit, or a file that cannot be written.
    """
    # Formats that need a library of their own load it only here.
    match check_suffix(target):
        case ".csv":
            write_csv(flat(table), target, csv_options)
        case ".jsonl":
            write_jsonl(table, target)
        case ".json":
            write_json(table, target)
        case ".parquet":
            from storage.export.parquet import write_parquet  # noqa: PLC0415

            return write_parquet(flat(table), target)
        case ".sqlite" | ".db":
            from storage.export.sqlite import write_sqlite  # noqa: PLC0415

            return write_sqlite(flat(table), target, sqlite_table)
        case _:
            from storage.export.xlsx import write_xlsx  # noqa: PLC0415

            return write_xlsx(flat(table), target, csv_options.lists)
    return table.notes


def check_suffix(target: str | os.PathLike[str], others: tuple[str, ...] = ()) -> str:
    """Return the suffix in small letters; raise ExportError if it names no format. Call it before a long run.

    `others` are suffixes of what the caller writes itself: the advice names them, too.
    """
    suffix = Path(target).suffix.lower()
    if suffix not in SUFFIXES:
        raise ExportError(
            f"{target}: the suffix {suffix or '(none)'} names no export format",
            advice=f"Use one of {', '.join((*SUFFIXES, *others))}.",
        )
    return suffix
