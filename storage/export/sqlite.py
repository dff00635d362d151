"""A table of an SQLite database, and beside it one of the evidence; other tables of the database are left alone."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from storage.codec import is_utf8
from storage.errors import DiskFull, ExportError
from storage.export.atomic import replacing
from storage.export.cells import escape_characters, is_number, json_text
from storage.export.table import ResultTable, citation_text
from storage.migrations import APPLICATION_ID

DEFAULT_TABLE = "results"
ROW_COLUMN = "_row"
_LARGEST = 2**63
_EVIDENCE = ("row", "column", "path", "file", "page", "first_line", "last_line", "quote", "method", "score")


def write_sqlite(table: ResultTable, target: str | os.PathLike[str], name: str = "") -> tuple[str, ...]:
    """Write tables `name` (the rows, each with `_row`, its values and their citations) and `name`_evidence.

    In a database that is there already they replace tables of these names, all at once; a file that is not there is
    made whole or not at all. Lists and objects are JSON text, booleans 0 and 1. Returns notes. Raises ExportError
    (the file is no database, or is a case) or DiskFull.
    """
    name = name or DEFAULT_TABLE
    path = Path(os.path.realpath(target))
    columns, notes = _columns(table)
    if _is_filled(path):
        _write(path, name, columns, table)
    else:
        with replacing(path) as temporary:
            _write(temporary, name, columns, table)
    return (*table.notes, *notes)


def _is_filled(path: Path) -> bool:
    try:
        return path.is_file() and path.stat().st_size > 0
    except OSError:
        return False  # `replacing` says what is wrong with the path


def _columns(table: ResultTable) -> tuple[list[str], list[str]]:
    """Name the columns, told apart also by programs that take `Name` and `name` for the same; return notes."""
    taken: set[str] = set()
    names, notes = [], []
    for wanted in (ROW_COLUMN, *table.columns, *table.source_columns):
        name = _text(wanted) or "_"
        while name.casefold() in taken:
            name += "_"
        taken.add(name.casefold())
        names.append(name)
        if name != wanted:
            notes.append(f"column {wanted} was written as {name}")
    return names, notes


def _write(path: Path, name: str, columns: Sequence[str], table: ResultTable) -> None:
    with _translated(path), contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA trusted_schema = OFF")
        if database.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID:
            raise ExportError(f"{path} is a Redwell case", advice="Choose another file for the results.")
        database.execute("BEGIN IMMEDIATE")
        _fill(database, name, columns, _rows(table))
        _fill(database, f"{name}_evidence", _EVIDENCE, _evidence(table))
        database.execute("COMMIT")


def _fill(database: sqlite3.Connection, name: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    database.execute(f"DROP TABLE IF EXISTS {_quoted(name)}")
    database.execute(f"CREATE TABLE {_quoted(name)} ({', '.join(map(_quoted, columns))})")
    places = ", ".join("?" * len(columns))
    database.executemany(f"INSERT INTO {_quoted(name)} VALUES ({places})", rows)


def _rows(table: ResultTable) -> Iterator[list[Any]]:
    for row in table.rows:
        citations = [citation_text(row.citations.get(column, ())) for column in table.cited]
        yield [row.id, *(_value(row.values.get(column)) for column in table.columns), *map(_text, citations)]


def _evidence(table: ResultTable) -> Iterator[list[Any]]:
    for row in table.rows:
        for column in table.columns:
            for c in row.citations.get(column, ()):
                cells = [row.id, column, c.path, c.file, c.page, c.first_line, c.last_line, c.quote, c.method, c.score]
                yield [_value(cell) for cell in cells]


def _value(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if is_number(value):
        return value if isinstance(value, float) or -_LARGEST <= value < _LARGEST else str(value)
    return _text(value if isinstance(value, str) else json_text(value))


def _text(text: str) -> str:
    """Return text as SQLite holds it; lone surrogates, and zero bytes in names, are escaped as in the other formats."""
    return text if is_utf8(text) and "\0" not in text else escape_characters(text)


def _quoted(name: str) -> str:
    return '"' + _text(name).replace('"', '""') + '"'


@contextlib.contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_FULL:
            raise DiskFull(f"{path} was not written: {error}") from error
        advice = "Choose another file or table, or close the program that uses it."
        raise ExportError(f"{path} was not written (SQLite: {error})", advice=advice) from error
