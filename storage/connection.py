"""The one SQLite connection of an open case: settings, transactions, errors translated, one thread."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from storage import errors
from storage.codec import storable
from storage.migrations import APPLICATION_ID, SCHEMA_VERSION, upgrade
from storage.sqlite_library import Database

BUSY_TIMEOUT_MILLISECONDS = 5000


class Connection:
    """A checked and upgraded case file. Use it from the thread and process that made it, and only there.

    A writer must hold the WriterLock. Raises the errors of storage.errors; no sqlite3 error leaves this class.
    """

    def __init__(self, path: Path, *, read_only: bool) -> None:
        self.path = path
        self.read_only = read_only
        self._owner = (os.getpid(), threading.get_ident())
        with translated(path):
            self._database = _open_to_read(path) if read_only else _open_to_write(path)

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> int:
        """Run one statement; return the number of rows it changed. Outside a transaction it commits at once."""
        database = self._mine()
        with translated(self.path):
            return database.conn.execute(sql, [storable(p) for p in parameters]).rowcount

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
        """Return all rows of a SELECT."""
        database = self._mine()
        with translated(self.path):
            return database.conn.execute(sql, [storable(p) for p in parameters]).fetchall()

    def first(self, sql: str, parameters: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        """Return the first row of a SELECT, None when there is none."""
        database = self._mine()
        with translated(self.path):
            row: tuple[Any, ...] | None = database.conn.execute(sql, [storable(p) for p in parameters]).fetchone()
        return row

    def count(self, sql: str, parameters: Sequence[Any] = ()) -> int:
        """Return the single number that a SELECT yields; 0 for null."""
        row = self.first(sql, parameters)
        return int(row[0] or 0) if row else 0

    @property
    def in_transaction(self) -> bool:
        """Say whether a transaction is open, so that what is written now is not yet safe."""
        return self._mine().conn.in_transaction

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit all or nothing. A transaction inside another is a savepoint of it."""
        database = self._mine()
        if self.read_only:
            raise errors.CaseReadOnly(
                f"{self.path} was opened for reading only", advice="Open the case without read_only to change it."
            )
        if database.conn.in_transaction:
            with database.atomic():
                yield
            return
        with translated(self.path):
            database.conn.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            with translated(self.path):
                database.rollback()
            raise
        self._commit(database)

    def _commit(self, database: Database) -> None:
        with translated(self.path):
            try:
                database.conn.execute("COMMIT")
            except sqlite3.Error:
                database.rollback()
                raise

    def close(self) -> None:
        """Close the file; idempotent. A forked child's copy is left alone, for it belongs to the parent."""
        if self._owner[0] == os.getpid():
            self._mine()
            with translated(self.path):
                self._database.close()

    def _mine(self) -> Database:
        here = (os.getpid(), threading.get_ident())
        if here != self._owner:
            what = "thread" if here[0] == self._owner[0] else "process"
            raise errors.WrongThread(f"the case {self.path} is used in another {what} than the one that opened it")
        return self._database


def _open_to_write(path: Path) -> Database:
    connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_MILLISECONDS / 1000, isolation_level=None)
    try:
        _check_is_case(connection, path, may_be_empty=True)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        database = _with_settings(connection)
        if _version(connection) < SCHEMA_VERSION:
            upgrade(database)
    except BaseException:
        connection.close()
        raise
    return database


def _open_to_read(path: Path) -> Database:
    connection = _connect_to_read(path)
    try:
        _check_is_case(connection, path, may_be_empty=False)
        if _version(connection) < SCHEMA_VERSION:
            raise errors.CaseTooOld(
                f"{path} has schema {_version(connection)}; this version of Redwell reads schema {SCHEMA_VERSION}"
            )
        connection.execute("PRAGMA query_only = ON")
        return _with_settings(connection)
    except BaseException:
        connection.close()
        raise


def _connect_to_read(path: Path) -> sqlite3.Connection:
    """Open without writing to the file. In a folder that cannot be written SQLite needs `immutable`."""
    address = path.as_uri() + "?mode=ro"
    connection = _connect(address)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as error:
        connection.close()
        unsaved = path.with_name(path.name + "-wal")
        if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
            raise
        if unsaved.exists() and unsaved.stat().st_size:
            raise errors.CaseReadOnly(
                f"{path} has changes in {unsaved.name} that cannot be read in a folder without write permission",
                advice="Copy the case together with its -wal file to a folder that you may write to.",
            ) from error
        return _connect(address + "&immutable=1")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _connect(address: str) -> sqlite3.Connection:
    return sqlite3.connect(address, uri=True, timeout=BUSY_TIMEOUT_MILLISECONDS / 1000, isolation_level=None)


def _with_settings(connection: sqlite3.Connection) -> Database:
    connection.execute("PRAGMA foreign_keys = ON")
    # A case may come from someone else: its schema must not reach functions with side effects.
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    return Database(connection, execute_plugins=False)


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _check_is_case(connection: sqlite3.Connection, path: Path, *, may_be_empty: bool) -> None:
    """Raise NotACase or CaseTooNew; an empty database counts as a new case when it may be."""
    application = int(connection.execute("PRAGMA application_id").fetchone()[0])
    if application != APPLICATION_ID:
        # A kill while a case is being made leaves sqlite-utils' own table, and nothing else.
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if names - {"_sqlite_migrations"} or not may_be_empty:
            what = "an SQLite database of another program" if names else "an empty file"
            raise errors.NotACase(f"{path} is {what}, not a Redwell case")
    if (version := _version(connection)) > SCHEMA_VERSION:
        raise errors.CaseTooNew(
            f"{path} has schema {version}, written by a later version of Redwell; this one knows {SCHEMA_VERSION}"
        )


_BY_CODE: dict[int, tuple[type[errors.StorageError], str]] = {
    sqlite3.SQLITE_NOTADB: (errors.NotACase, "is not an SQLite database, so it is no Redwell case"),
    sqlite3.SQLITE_CORRUPT: (errors.CaseDamaged, "is damaged"),
    sqlite3.SQLITE_FULL: (errors.DiskFull, "cannot grow: the disk is full"),
    sqlite3.SQLITE_IOERR: (errors.DiskFailed, "could not be read or written"),
    sqlite3.SQLITE_READONLY: (errors.CaseReadOnly, "cannot be written"),
    sqlite3.SQLITE_CANTOPEN: (errors.CaseReadOnly, "or a file beside it cannot be opened"),
    sqlite3.SQLITE_PERM: (errors.CaseReadOnly, "cannot be opened"),
    sqlite3.SQLITE_BUSY: (errors.CaseBusy, "is kept busy by another program"),
    sqlite3.SQLITE_LOCKED: (errors.CaseBusy, "is kept busy by another connection"),
    sqlite3.SQLITE_CONSTRAINT: (errors.BadRecord, "refused a record"),
    sqlite3.SQLITE_TOOBIG: (errors.BadRecord, "refused a value larger than 1 GB"),
}


@contextlib.contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn sqlite3 errors into StorageError; the SQLite message stays in the text."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", None)
        if code is None:
            raise  # the sqlite3 module was called wrongly: our bug, not the user's environment
        kind, what = _BY_CODE.get(code & 0xFF, (errors.StorageError, "could not be used"))
        raise kind(f"the case {path} {what} (SQLite: {error})") from error
    except OverflowError as error:
        raise errors.BadRecord(f"the case {path} cannot hold a whole number beyond 64 bits: {error}") from error
