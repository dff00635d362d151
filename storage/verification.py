"""Whether a case is sound: the file as SQLite sees it, and what it says as it was written."""

from __future__ import annotations

import string
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from storage.case import Case
from storage.column_types import COLUMNS, RawText
from storage.connection import Connection
from storage.contents import Damaged, Unreadable
from storage.difference import Difference
from storage.documents import LINES_PER_DOCUMENT
from storage.errors import (
    CaseBusy,
    CaseDamaged,
    CaseLocked,
    CaseReadOnly,
    CustodyBroken,
    DiskFull,
    StorageError,
    WrongTypeFound,
)
from storage.lock import WriterLock
from storage.migrations import SCHEMA, migration_names, new_schema

MOST_MESSAGES: Final = 100
"""Messages of SQLite's own check."""

Tell = Callable[[str, int], None]
"""Hears what is being checked, and how many rows of it were."""

PARTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "documents": "document",
        "document_facts": "facts of a document",
        "document_warnings": "warning about a document",
        "stars": "star",
        "tags": "tag",
        "document_tags": "tag of a document",
        "removed_documents": "removed document",
        "paths": "path of a document",
        "failures": "file that could not be read",
        "lines": "line",
        "runs": "run",
        "run_documents": "file of a run",
        "replies": "reply",
        "begun_calls": "call that was begun",
        "cache": "value kept to save time",
        "events": "event of a run",
        "operators": "operator",
        "row_ids": "id of a row",
        "fields": "value of rows",
        "rows": "row",
        "lineage": "origin of a row",
        "results": "row of the results",
        "fates": "fate of a row",
        "decisions": "decision",
        "evidence": "evidence",
        "review_edits": "edit of a reviewer",
        "text_indexes": "index of texts",
        "vector_models": "model of vectors",
        "vectors": "vector",
        "custody": "entry of the custody log",
        "row_seals": "digest of a row",
        "document_seals": "digests of lines",
    }
)
"""What a row of a table is to a person."""


@dataclass(frozen=True, slots=True)
class Verification:
    """What a check came to. `rows` were compared with their checksums; `not_checked` says what was not, and why."""

    differences: tuple[Difference, ...]
    rows: int
    not_checked: tuple[str, ...] = ()

    @property
    def is_sound(self) -> bool:
        """Say whether nothing differs."""
        return not self.differences


def verify_case(path: Path, tell: Tell = lambda what, rows: None) -> Verification:
    """Check a case in one pass; a case that is being written can be checked, too, but for its search index.

    Raises what opening a case raises (storage.case.Case); whatever is damaged behind that is a Difference.
    """
    with Case(path, read_only=True) as case:
        checking = _Checking(case, tell)
        differences = [*checking.differences()]
    search, why_not = _search_index(path)
    return Verification((*differences, *search), checking.rows, why_not)


class _Checking:
    """One check of an open case."""

    def __init__(self, case: Case, tell: Tell) -> None:
        self._case = case
        self._connection = case._connection
        self._tell = tell
        self._counts: dict[str, int] = {}
        self._naming = Naming(self._connection)

    @property
    def rows(self) -> int:
        """Return how many rows were compared."""
        return sum(self._counts.values())

    def differences(self) -> Iterator[Difference]:
        """Yield everything that is wrong."""
        contents = (self._checksums, self._completeness, self._vectors, self._ledgers, self._custody)
        steps = (self._file, self._schema, *contents)
        wrong_types = [*self._wrong_types()]
        for step in steps:
            try:
                yield from step()
            except StorageError as error:
                if not (wrong_types and isinstance(error, WrongTypeFound)):  # they are all named below
                    yield Difference("file", self._case.path.name, f"{error}")
        yield from wrong_types

    # -- the file ------------------------------------------------------------------------------------------------

    def _file(self) -> Iterator[Difference]:
        self._tell("file", 0)
        for (message,) in self._connection.query(f"PRAGMA integrity_check({MOST_MESSAGES})"):
            if message != "ok":
                yield Difference("file", self._case.path.name, f"SQLite: {message}")
        for table, row, parent, _ in self._connection.query("PRAGMA foreign_key_check"):
            yield Difference(PARTS.get(table, table), f"number {row}", f"what it belongs to is not there ({parent})")

    def _schema(self) -> Iterator[Difference]:
        expected, actual = new_schema(), dict(self._connection.query(SCHEMA))
        for name, sql in expected.items():
            if actual.get(name) != sql:
                yield Difference("schema", name, "it is not as this version of Redwell makes it")
        for name in actual.keys() - expected.keys():
            if not name.startswith("text_index_"):
                yield Difference("schema", name, "this version of Redwell makes no such thing")
        recorded = {name for (name,) in self._connection.query("SELECT name FROM _sqlite_migrations")}
        for name in migration_names():
            if name not in recorded:
                yield Difference("schema", name, "this step of the upgrade is not recorded")

    def _wrong_types(self) -> Iterator[Difference]:
        """Name the values of a type that Redwell never writes there, which only another program can have put there."""
        for table in COLUMNS:
            self._tell(PARTS[table], 0)
            try:
                for wrong in self._connection.wrong_types(table):
                    name = f"{wrong.row} of the table {table}, column {wrong.column}"
                    yield Difference(PARTS[table], name, wrong.problem)
            except StorageError as error:
                yield Difference(PARTS[table], "", f"cannot be read further: {error}")

    # -- what it says --------------------------------------------------------------------------------------------

    def _checksums(self) -> Iterator[Difference]:
        for damage in self._case.contents.damaged_rows(self._count):
            if isinstance(damage, Unreadable):
                yield Difference(PARTS[damage.table], "", f"cannot be read further: {damage.error}")
            else:
                yield Difference(*self._naming.name(damage), "it is not as it was written")

    def _count(self, table: str, rows: int) -> None:
        self._counts[table] = rows
        self._tell(PARTS[table], rows)

    def _completeness(self) -> Iterator[Difference]:
        """Count what must be there: a row that went away as a whole has no checksum left to tell of it."""
        for key, expected, lines, last in self._connection.query(
            "SELECT d.key, d.line_count, count(l.id), coalesce(max(l.id), 0) - d.key * ? FROM documents d"
            " LEFT JOIN lines l ON l.id BETWEEN d.key * ? AND d.key * ? + ? GROUP BY d.key",
            [LINES_PER_DOCUMENT, LINES_PER_DOCUMENT, LINES_PER_DOCUMENT, LINES_PER_DOCUMENT - 1],
        ):
            if lines != expected or (lines and last != expected):
                yield Difference(
                    "document", self._naming.look_up("document", key), f"it has {lines:,} of its {expected:,} lines"
                )
        for run, count, last in self._connection.query(
            "SELECT run, count(*), max(position + 1) FROM results GROUP BY run"
        ):
            if count != last:
                yield Difference(PARTS["results"], f"run {run}", f"{count:,} of {last:,} are there")

    def _vectors(self) -> Iterator[Difference]:
        for text in self._case.vectors.damaged():
            yield Difference("vector", text.hex()[:16], "it is not as it was written")

    def _ledgers(self) -> Iterator[Difference]:
        for run in self._case.runs.all():
            if run.status == "finished" and not self._case.ledger.sums(run.id).adds_up:
                yield Difference("ledger", f"run {run.id}", "it does not add up")

    def _custody(self) -> Iterator[Difference]:
        """Check every link of the custody log."""
        self._tell("custody log", 0)
        try:
            self._case.custody.entries()
        except CustodyBroken as error:
            yield Difference("custody log", "", f"{error}")


class Naming(string.Formatter):
    """Names rows of a case as people know them, also where it is damaged."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def name(self, damage: Damaged) -> tuple[str, str]:
        """Say which part of the case a row is, and which one of them."""
        table = damage.covered.table
        pattern = _NAMES.get(table) or "{" + damage.covered.columns[0] + "}"
        name = self.vformat(pattern, (), damage.values)
        return PARTS[table], name + (" (its pages)" if damage.covered.checksum == "body_checksum" else "")

    def format_field(self, value: Any, format_spec: str) -> str:
        """Write a value of a damaged row, as a pattern of _NAMES says."""
        number = value if isinstance(value, int) else 0
        match format_spec:
            case "short":
                return _text(value)[:16]
            case "line":
                return str(number % LINES_PER_DOCUMENT)
            case "line_document":
                return self.look_up("document", number // LINES_PER_DOCUMENT)
            case "from_1":
                return str(number + 1)
        return self.look_up(format_spec, value) if format_spec else _text(value)

    def look_up(self, what: str, key: Any) -> str:
        """Name what a row belongs to; by its number where that is damaged, too."""
        try:
            rows = list(self._connection.raw_rows(_LOOK_UP[what], [key])) if isinstance(key, int) else []
        except StorageError:
            rows = []
        return _text(rows[0][0]) if rows else f"{what} {_text(key)}"


_NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "documents": "{key:document}",
        "lines": "{id:line_document}, page {page}, line {id:line}",
        "paths": "{document:document}",
        "document_facts": "{document:document}",
        "stars": "{document:document}",
        "removed_documents": "{document:document}",
        "document_tags": "{document:document}",
        "replies": "{key:short} of {operator}, run {run}",
        "rows": "{row:row}, {operator:operator}",
        "fates": "{row:row}, {operator:operator}",
        "results": "run {run}, row {position:from_1} of the table",
        "evidence": "{row:row}, column {column}",
        "row_ids": "{id}, run {run}",
        "review_edits": "{row}, field {field}, by {who}",
        "operators": "{name}, run {run}",
        "lineage": "{child:row}",
        "events": "{number} of run {run}",
        "decisions": "{subject}: {left} and {right}, {operator:operator}",
        "cache": "{kind} {key}",
        "vector_models": "{digest}",
        "text_indexes": "{name}",
        "tags": "{name}",
    }
)
"""How a row is called, from its columns; where nothing stands here, by its first column."""

_LOOK_UP: Final[Mapping[str, str]] = MappingProxyType(
    {
        "document": "SELECT filename FROM documents WHERE key = ?",
        "row": "SELECT id FROM row_ids WHERE key = ?",
        "operator": "SELECT name || ' of run ' || run FROM operators WHERE key = ?",
    }
)


def _search_index(path: Path) -> tuple[list[Difference], tuple[str, ...]]:
    """Compare the search index with the lines, where nobody writes to the case and the disk has room.

    SQLite does that in a transaction that writes, which may take minutes: a run that waited for it would end.
    """
    try:
        lock = WriterLock(path.resolve())
        try:
            with Case(path, create=False, beside=True) as case:
                case.search.check_index()
        finally:
            lock.release()
    except (CaseLocked, CaseReadOnly, CaseBusy, DiskFull) as error:
        return [], (f"the search index: {error}",)
    except CaseDamaged as error:
        return [Difference("search index", path.name, f"{error}")], ()
    return [], ()


def _text(value: Any) -> str:
    if isinstance(value, RawText):
        return value.decode("utf-8", "replace")
    return value.hex() if isinstance(value, bytes) else str(value)
