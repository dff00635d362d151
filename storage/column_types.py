"""The type of every column of a case, and the values in it that have another.

SQLite takes a value of any type in any column, so a case that another program wrote to may hold a text where Redwell
reads a number. A connection looks at each table before it first reads from it (storage.connection), and so nothing
behind it needs to expect such a value.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from storage.codec import is_utf8


class RawText(bytes):
    """A text as its bytes: a damaged one need not be UTF-8."""

    __slots__ = ()


_SPECIFICATION: Final = """
documents: key int, id text, filename any, kind text, size_bytes int, page_count int, line_count int, body blob,
    saved_at text, checksum blob, body_checksum blob
paths: key int, document int, path any, parent int?, checksum blob
failures: path any, sha256 text?, reason text, message any, advice any, failed_at text, checksum blob
lines: id int, page int, text any, hidden text?, checksum blob
runs: id int, pipeline_yaml any, pipeline_digest text, model_name any, model_digest text, settings blob, status text,
    columns blob?, started_at text, finished_at text?, checksum blob
run_documents: run int, path any, fate text, document_id text?, reason text, message any, advice any, checksum blob
replies: key blob, body blob, operator any, run int?, saved_at text, checksum blob
begun_calls: *key blob, *run int, operator any, begun_at text, checksum blob
cache: id int, kind text, key any, body blob, checksum blob
events: *run int, *number int, body blob, checksum blob
operators: key int, run int, name any, rows_in int?, checksum blob
row_ids: key int, run int, id any, checksum blob
fields: key int, digest blob, body blob, checksum blob
rows: key int, operator int, row int, position int, body blob, large blob?, document int?, first_line int?,
    last_line int?, checksum blob
lineage: *child int, *position int, parent int, checksum blob
results: *run int, *position int, row int, checksum blob
fates: *operator int, *row int, fate text, reason any, error any, advice any, raw_reply any?, checksum blob
decisions: key int, operator int, subject any, left any, right any, verdict text, by any, detail any, checksum blob
evidence: key int, row int, column any, path any, document int?, page int?, first_line int?, last_line int?,
    method any, score real?, checksum blob
text_indexes: key int, name any, digest text, texts int, checksum blob
vector_models: key int, digest text, checksum blob
vectors: key int, model int, text blob, body checked
document_warnings: *document int, *position int, text any, checksum blob
document_facts: document int, ocr_pages int, language text, year int?, read_seconds real?, checksum blob
stars: document int, starred_at text, checksum blob
removed_documents: document int, removed_at text, checksum blob
tags: key int, name any, checksum blob
document_tags: *document int, *tag int, checksum blob
review_edits: key int, step int, run int, row any, row_digest blob, field any, value_digest blob, kind text,
    original blob, body blob, who any, made_at text, is_undone int, checksum blob
custody: number int, entry text, digest text, secret blob
row_seals: *run int, *position int, row any, digest blob
document_seals: document int, marks blob
"""
"""`any` is a text that UTF-8 may not be able to hold (storage.codec.storable), `?` a column that may be null.

`checked` values are compared with a check of their own when they are read, and one that differs counts as none.
Columns with a star are the key of a table without row numbers. The tables stand in the order in which
`Contents.digest` reads them, and their columns in that of their checksums.
"""

_TYPES: Final = {
    "int": (("integer",), "a whole number belongs"),
    "real": (("real", "integer"), "a number belongs"),
    "text": (("text",), "a text belongs"),
    "any": (("text",), "a text belongs"),
    "blob": (("blob",), "bytes belong"),
    "checked": (("integer", "real", "text", "blob", "null"), "anything may stand"),
}
"""What SQLite's `typeof` says of the values of a type, and what belongs there in words."""

_IN_WORDS: Final = {
    "integer": "a whole number",
    "real": "a number",
    "text": "a text",
    "blob": "bytes",
    "null": "nothing",
}
_FUNCTION: Final = "redwell_is_odd_text"


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its type, a key of _TYPES; whether it may be null; whether it is of the key that stands for a rowid."""

    name: str
    type: str
    may_be_null: bool = False
    is_key: bool = False

    @property
    def is_wrong(self) -> str:
        """Write the condition in SQL that holds for a value of another type."""
        allowed = (*_TYPES[self.type][0], *(("null",) if self.may_be_null else ()))
        wrong = f"typeof([{self.name}]) NOT IN ({', '.join(map(repr, allowed))})"
        if self.type == "any":
            wrong = f"({wrong} AND NOT (typeof([{self.name}]) = 'blob' AND {_FUNCTION}([{self.name}])))"
        return wrong


@dataclass(frozen=True, slots=True)
class WrongType:
    """A value of a type that its column never has. `row` says which row, `problem` what is there and what belongs."""

    table: str
    row: str
    column: str
    problem: str

    def __str__(self) -> str:
        return f"table {self.table}, {self.row}, column {self.column}: {self.problem}"


def _columns() -> Mapping[str, tuple[Column, ...]]:
    tables = {}
    for line in re.sub(r"\n +", " ", _SPECIFICATION.strip()).splitlines():
        table, _, names = line.partition(":")
        pairs = (column.split() for column in names.split(","))
        tables[table] = tuple(
            Column(name.lstrip("*"), type.rstrip("?"), type.endswith("?"), name.startswith("*")) for name, type in pairs
        )
    return MappingProxyType(tables)


COLUMNS: Final = _columns()
"""The columns of every table of a case, by the name of the table."""


@functools.lru_cache(maxsize=1024)
def tables_in(sql: str) -> frozenset[str]:
    """Return the tables that a statement may read: those whose names stand in it as words."""
    return frozenset(COLUMNS.keys() & set(re.findall(r"\w+", sql)))


def register(connection: Any) -> None:
    """Give a connection what `wrong_types` needs."""
    connection.create_function(_FUNCTION, 1, _is_odd_text, deterministic=True)


def wrong_types(connection: Any, table: str) -> Iterator[WrongType]:
    """Yield the values of a table that have another type than their column; raises the errors of SQLite."""
    columns = COLUMNS[table]
    keys = [column.name for column in columns if column.is_key] or ["rowid"]
    kinds = ", ".join(f"typeof([{column.name}])" for column in columns)
    wrong = ", ".join(column.is_wrong for column in columns)
    where = " OR ".join(column.is_wrong for column in columns)
    names = ", ".join(key if key == "rowid" else f"quote([{key}])" for key in keys)
    for row in connection.execute(f"SELECT {names}, {kinds}, {wrong} FROM [{table}] WHERE {where}"):
        name = f"row {row[0]}" if keys == ["rowid"] else "row with " + ", ".join(map("{} {}".format, keys, row))
        said = row[len(keys) :]
        for column, kind, is_wrong in zip(columns, said, said[len(columns) :], strict=False):
            if is_wrong:
                problem = f"{_IN_WORDS[kind]} where {_TYPES[column.type][1]}"
                yield WrongType(table, name, column.name, problem)


def type_is_right(table: str, name: str, value: Any) -> bool:
    """Say whether a value, as `Connection.raw_rows` gives it, has the type of its column."""
    column = next(column for column in COLUMNS[table] if column.name == name)
    kind = _kind_of(value)
    is_allowed = kind in _TYPES[column.type][0] or (kind == "null" and column.may_be_null)
    return is_allowed or (column.type == "any" and kind == "blob" and _is_odd_text(value))


def _kind_of(value: Any) -> str:
    """Return what SQLite's `typeof` says of a value."""
    if value is None:
        return "null"
    if isinstance(value, bytes):
        return "text" if isinstance(value, RawText) else "blob"
    return "real" if isinstance(value, float) else "integer"


def _is_odd_text(value: Any) -> bool:
    """Say whether bytes are a text that UTF-8 cannot hold, as storage.codec.storable writes it."""
    if not isinstance(value, bytes):  # SQLite may ask before it knows the type
        return False
    try:
        return not is_utf8(value.decode("utf-8", "surrogatepass"))
    except UnicodeDecodeError:
        return False
