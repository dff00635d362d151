"""Checksums of what a case holds: one for each row of its tables, written with it and compared when it is read.

They tell damage: a bit that changed on the disk, a page that was lost. They do not tell a person who changes a value
and computes its checksum anew. A checksum is the first 8 bytes of BLAKE2b over the values of some columns (COVERED).
Triggers of each writing connection fill it in, so that no statement can forget it; they are temporary, as SQLite
refuses a function of ours to those of a file that is not trusted.
"""

from __future__ import annotations

import functools
import hashlib
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from storage.column_types import COLUMNS, Column, RawText

FUNCTION: Final = "redwell_checksum"
CHECKSUM_BYTES: Final = 8


def _column(name: str, alias: str) -> str:
    return f"{alias}.{_quoted(name)}" if alias else _quoted(name)


def _quoted(name: str) -> str:
    return name if name == "rowid" else f"[{name}]"  # in double quotes a name that is not there would be a text


@dataclass(frozen=True, slots=True)
class Covered:
    """Columns of a table that have one checksum, in the column `checksum`. `keys` find a row where it has no rowid.

    `is_inserted`: whoever inserts a row writes its checksum, too, for a table of millions of rows.
    """

    table: str
    columns: tuple[str, ...]
    keys: tuple[str, ...] = ("rowid",)
    checksum: str = "checksum"
    is_inserted: bool = False

    @property
    def order(self) -> str:
        """Return the columns that sort the rows in one order only."""
        return ", ".join(map(_quoted, self.keys))

    def expression(self, alias: str = "") -> str:
        """Write the checksum of a row's values in SQL."""
        return f"{FUNCTION}({', '.join(_column(name, alias) for name in self.columns)})"


BODY: Final = Covered("documents", ("key", "body"), checksum="body_checksum")
"""The body of a document is large, and so has a checksum of its own."""


def _covered(table: str, columns: Sequence[Column]) -> Covered:
    apart = {"checksum", BODY.checksum, *(("body",) if table == BODY.table else ())}
    names = tuple(column.name for column in columns if column.name not in apart)
    keys = tuple(column.name for column in columns if column.is_key) or ("rowid",)
    return Covered(table, names, keys, is_inserted=table == "lines")


BY_TABLE: Final = {
    table: _covered(table, columns)
    for table, columns in COLUMNS.items()
    if any(column.name == "checksum" for column in columns)
}
"""The main checksum of each table."""

COVERED: Final = (BY_TABLE[BODY.table], BODY, *(main for table, main in BY_TABLE.items() if table != BODY.table))
"""All tables but `vectors`, whose bodies hold a check of their own (storage.vectors), those of the custody log, which
is a chain, and what SQLite derives."""


def encoded(values: Iterable[Any]) -> bytes:
    """Write values as SQLite holds them such that different values differ: each with its type and its length."""
    parts: list[bytes] = []
    for value in values:
        if isinstance(value, str):
            body = value.encode("utf-8", "surrogatepass")
            parts += (b"t%d:" % len(body), body)
        elif value is None:
            parts.append(b"n;")
        elif isinstance(value, int):
            parts.append(b"i%d;" % value)
        elif isinstance(value, RawText):
            parts += (b"t%d:" % len(value), value)
        elif isinstance(value, float):
            parts += (b"f", struct.pack(">d", value))
        else:
            parts += (b"b%d:" % len(value), bytes(value))
    return b"".join(parts)


def checksum(*values: Any) -> bytes:
    """Return the checksum of values."""
    return hashlib.blake2b(encoded(values), digest_size=CHECKSUM_BYTES).digest()


def register(connection: Any) -> None:
    """Let the SQL of a connection compute checksums."""
    connection.create_function(FUNCTION, -1, checksum, deterministic=True)


_NONE: Final = f"X'{bytes(CHECKSUM_BYTES).hex()}'"
"""What a column holds until its trigger has run. As it has the length of a checksum, SQLite then writes only those
bytes, and not a large value a second time."""


def add_columns(connection: Any, *tables: str) -> None:
    """Add the columns to tables that have none, and fill them: what they hold now counts as right."""
    register(connection)
    for covered in COVERED:
        if covered.table not in tables:
            continue
        connection.execute(f"ALTER TABLE {covered.table} ADD COLUMN {covered.checksum} BLOB NOT NULL DEFAULT {_NONE}")
        refill(connection, covered)


def refill(connection: Any, covered: Covered) -> None:
    """Compute the checksums of a table anew, for a migration that changes its values or what is covered of them."""
    connection.execute(f"UPDATE {covered.table} SET {covered.checksum} = {covered.expression()}")


def keep(connection: Any) -> None:
    """Have a connection write the checksum of every row that it inserts or changes from now on."""
    register(connection)
    connection.executescript(_triggers())


@functools.cache
def _triggers() -> str:
    """Write the SQL of the triggers, for all tables in one transaction."""
    statements = ["BEGIN"]
    for number, covered in enumerate(COVERED):
        names = ", ".join(map(_quoted, covered.columns))
        where = " AND ".join(f"{_quoted(key)} = {_column(key, 'NEW')}" for key in covered.keys)
        events = {"insert": "INSERT", "update": f"UPDATE OF {names}"}
        if covered.is_inserted:
            del events["insert"]
        statements += [
            f"CREATE TEMP TRIGGER checksum_{number}_{name} AFTER {event} ON main.{covered.table} BEGIN"
            f" UPDATE {covered.table} SET {covered.checksum} = {covered.expression('NEW')} WHERE {where}; END"
            for name, event in events.items()
        ]
    return ";\n".join([*statements, "COMMIT"])


def is_whole(**tables: str) -> str:
    """Write a condition in SQL: the rows of these tables, by alias, are as they were written.

    >>> is_whole(r="results")
    'redwell_checksum(r.[run], r.[position], r.[row]) IS r.checksum'
    """
    return " AND ".join(f"{BY_TABLE[table].expression(alias)} IS {alias}.checksum" for alias, table in tables.items())


BODY_IS_WHOLE: Final = f"{BODY.expression()} IS {BODY.checksum}"
"""The condition for the body of a document."""
