"""The one SQLite connection of an open case: settings, transactions, errors translated, one thread."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from storage import errors, folding, search_words
from storage.codec import storable
from storage.column_types import COLUMNS, RawText, WrongType, register, tables_in, wrong_types
from storage.copying import Tell, copy_case
from storage.encryption import database_errors
from storage.open_files import OpenFile
from storage.opening import key_in_use, open_database
from storage.sqlite_library import Database, translated

RAW_ROWS: Final = 500
"""Rows that are read at once."""


class Connection:
    """A checked and upgraded case file. Use it from the thread and process that made it, and only there.

    A writer must hold the WriterLock. Raises the errors of storage.errors; none of SQLite's leaves this class.
    """

    def __init__(self, path: Path, *, read_only: bool, damaged: bool = False) -> None:
        self.path = path
        self.read_only = read_only
        self._owner = (os.getpid(), threading.get_ident())
        self._file = OpenFile(path, create=not read_only)
        try:
            with translated(path):
                self._database = open_database(path, self._file, read_only=read_only, damaged=damaged)
        except BaseException:
            self._file.release()
            raise
        register(self._database.conn)
        folding.register(self._database.conn)
        search_words.register(self._database.conn)
        self._looked_at: set[str] = set(COLUMNS) if damaged else set()

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> int:
        """Run one statement; return the number of rows it changed. Outside a transaction it commits at once."""
        database = self._mine()
        with translated(self.path):
            return database.conn.execute(sql, [storable(p) for p in parameters]).rowcount

    def make_temporary(self, sql: str) -> None:
        """Run a CREATE in the schema `temp`, which lasts as long as this connection; the case file is not written."""
        database = self._mine()
        with translated(self.path):
            (was_set,) = database.conn.execute("PRAGMA query_only").fetchone()
            database.conn.execute("PRAGMA query_only = OFF")
            try:
                database.conn.execute(sql)
            finally:
                database.conn.execute(f"PRAGMA query_only = {'ON' if was_set else 'OFF'}")

    def insert(self, sql: str, parameters: Sequence[Any] = ()) -> int:
        """Run an INSERT; return the new row's integer key."""
        database = self._mine()
        with translated(self.path):
            key = database.conn.execute(sql, [storable(p) for p in parameters]).lastrowid
        return int(key or 0)

    def execute_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run one statement per row, all in one transaction."""
        with self.transaction(), translated(self.path):
            self._database.conn.executemany(sql, ([storable(p) for p in row] for row in rows))

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of a SELECT. Raises WrongTypeFound where a table that it names holds a value of one."""
        database = self._mine()
        self._look_at(sql)
        with translated(self.path):
            return database.conn.execute(sql, [storable(p) for p in parameters]).fetchall()

    def raw_rows(
        self, sql: str, parameters: Sequence[Any] = (), *, at_once: int = RAW_ROWS
    ) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a SELECT with texts as their bytes (RawText), so that damaged ones can be read, too."""
        connection = self._mine().conn
        with translated(self.path):
            with _raw_texts(connection):  # sqlcipher3 reads the first row here already
                cursor = connection.execute(sql, [storable(p) for p in parameters])
            while True:
                with _raw_texts(connection):
                    rows = cursor.fetchmany(at_once)
                if not rows:
                    return
                yield from rows

    def first(self, sql: str, parameters: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        """Return the first row of a SELECT, None when there is none; raises WrongTypeFound as `query` does."""
        database = self._mine()
        self._look_at(sql)
        with translated(self.path):
            row: tuple[Any, ...] | None = database.conn.execute(sql, [storable(p) for p in parameters]).fetchone()
        return row

    def _look_at(self, sql: str) -> None:
        """Look for values of a wrong type in the tables that a statement names, in each table once."""
        for table in sorted(tables_in(sql) - self._looked_at):
            for wrong in self.wrong_types(table):
                raise errors.WrongTypeFound(f"the case {self.path} is damaged: {wrong}")
            self._looked_at.add(table)

    def wrong_types(self, table: str) -> Iterator[WrongType]:
        """Yield the values of a table that have another type than their column."""
        connection = self._mine().conn
        with translated(self.path):
            yield from wrong_types(connection, table)

    def count(self, sql: str, parameters: Sequence[Any] = ()) -> int:
        """Return the single number that a SELECT yields; 0 for null."""
        row = self.first(sql, parameters)
        return int(row[0] or 0) if row else 0

    def copy_to(self, target: Path, tell: Tell) -> None:
        """Copy the case as it is now to a new file (storage.copying)."""
        connection = self._mine().conn
        with translated(self.path):
            copy_case(connection, key_in_use(self.path, self._file.header), target, tell)

    @property
    def is_encrypted(self) -> bool:
        """Say whether the file can be read with its passphrase only."""
        return self._file.header.form == "encrypted"

    @property
    def in_transaction(self) -> bool:
        """Say whether a transaction is open, so that what is written now is not yet safe."""
        return self._mine().conn.in_transaction

    @contextlib.contextmanager
    def transaction(self, *, relaxed: bool = False) -> Iterator[None]:
        """Commit all or nothing. A transaction inside another is a savepoint of it.

        What is committed is on the disk then, but for a `relaxed` one: the death of the process does not lose it, a
        power cut may, until the next one that is not relaxed. That is for what can be read or computed again.
        Raises CaseGone where the file was deleted or replaced.
        """
        database = self._mine()
        if self.read_only:
            raise errors.CaseReadOnly(
                f"{self.path} was opened for reading only", advice="Open the case without read_only to change it."
            )
        if database.conn.in_transaction:
            with database.atomic():
                yield
            return
        self._file.check()
        with translated(self.path):
            # Told before each transaction, for it cannot be within one.
            database.conn.execute("PRAGMA synchronous = NORMAL" if relaxed else "PRAGMA synchronous = FULL")
            database.conn.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            with translated(self.path):
                database.rollback()
            raise
        self._commit(database)

    @contextlib.contextmanager
    def at_one_moment(self) -> Iterator[None]:
        """Read the case as it is at one moment, whatever others write meanwhile; the block writes nothing."""
        database = self._mine()
        if database.conn.in_transaction:
            yield
            return
        with translated(self.path):
            database.conn.execute("BEGIN")
        try:
            yield
        finally:
            with translated(self.path):
                database.rollback()

    def _commit(self, database: Database) -> None:
        with translated(self.path):
            try:
                database.conn.execute("COMMIT")
            except database_errors():
                database.rollback()
                raise

    def close(self) -> None:
        """Close the file; idempotent. A forked child's copy is left alone, for it belongs to the parent."""
        if self._owner[0] == os.getpid():
            self._mine()
            with translated(self.path):
                self._database.close()
            self._file.release()

    def _mine(self) -> Database:
        here = (os.getpid(), threading.get_ident())
        if here != self._owner:
            what = "thread" if here[0] == self._owner[0] else "process"
            raise errors.WrongThread(f"the case {self.path} is used in another {what} than the one that opened it")
        return self._database


@contextlib.contextmanager
def _raw_texts(connection: Any) -> Iterator[None]:
    """Let a connection give texts as their bytes for as long as this lasts."""
    connection.text_factory = RawText
    try:
        yield
    finally:
        connection.text_factory = str
