"""How the file of a case is opened: plain or encrypted, checked, upgraded, with the settings that all of us need."""

from __future__ import annotations

import glob
import sqlite3
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from storage import checksums, errors, passphrases
from storage.copying import copy_case
from storage.encryption import PAGE_BYTES, Header, Key, address_of, connect_encrypted, database_errors, key_of, new_key
from storage.files import journal_file, part_file, remove_leftovers
from storage.migrations import APPLICATION_ID, CUSTODY_TRIGGERS, SCHEMA_VERSION, fill_new, upgrade
from storage.open_files import OpenFile
from storage.sqlite_library import NOT_A_DATABASE, Database, code_of
from storage.upgrade_notice import Upgraded, tell

BUSY_TIMEOUT_MILLISECONDS: Final = 5000
_COPIED: Final = ".schema-"
"""Stands in the name of the copy of a case that is made before an upgrade."""
_VIEWS: Final = (("view", "numbered_lines"),)
_opening: Final = threading.RLock()
"""Held while a case is looked at and made: what two threads of a process make at once is one case."""
MOST_ANSWERS: Final = 3
"""How often a person is asked for the passphrase of a case."""


def open_database(path: Path, opened: OpenFile, *, read_only: bool, damaged: bool = False) -> Database:
    """Open a case. A new one is encrypted where a passphrase is known for it (storage.passphrases).

    `damaged`: read from whatever SQLite can open, without a look at what it says of itself.

    Raises CaseEncrypted, WrongPassphrase, NotACase, CaseTooNew, CaseTooOld, CaseReadOnly, EncryptionMissing, and the
    errors of SQLite (storage.encryption.database_errors).
    """
    if opened.header.form in ("plain", "encrypted") and not damaged:
        _refuse_without_unsaved(path)
    opens = _open_damaged if damaged else _open_to_read if read_only else _open_to_write
    match opened.header.form:
        case "new" if not read_only:
            return _new(path, opened)
        case "encrypted":
            return _unlocked(path, opened.header, opens)
        case _:
            return opens(_File(path))


def key_in_use(path: Path, header: Header) -> Key | None:
    """Return the key of a case that is open, None for a plain one."""
    known = passphrases.passphrase_of(path)
    return key_of(header, known) if header.form == "encrypted" and known is not None else None


def _new(path: Path, opened: OpenFile) -> Database:
    known = passphrases.passphrase_of(path)
    key = new_key(passphrases.check_new(known)) if known is not None else None
    database = _open_to_write(_File(path, key))
    opened.is_now(Header("plain") if key is None else Header("encrypted", key.salt))
    return database


def _unlocked(path: Path, header: Header, opens: Callable[[_File], Database]) -> Database:
    known = passphrases.passphrase_of(path)
    if known is not None:
        return opens(_File(path, key_of(header, known)))
    wrong: errors.WrongPassphrase | None = None
    for _ in range(MOST_ANSWERS):
        answer = passphrases.ask(path, again=wrong is not None)
        if answer is None:
            break
        try:
            database = opens(_File(path, key_of(header, answer)))
        except errors.WrongPassphrase as error:
            wrong = error
        else:
            passphrases.remember(path, answer)
            return database
    raise wrong or errors.CaseEncrypted(f"the case {path} is encrypted, and no passphrase was given")


@dataclass(frozen=True, slots=True)
class _File:
    """A file with the key that opens it, None for a plain one."""

    path: Path
    key: Key | None = None

    def connect(self, parameters: str = "") -> Any:
        """Open it; `parameters` are those of the URI."""
        address, seconds = address_of(self.path) + parameters, BUSY_TIMEOUT_MILLISECONDS / 1000
        if self.key is not None:
            return connect_encrypted(address, self.key, timeout_seconds=seconds)
        return sqlite3.connect(address, uri=True, timeout=seconds, isolation_level=None)

    def try_out(self, connection: Any) -> None:
        """Read from it once; raises WrongPassphrase, or SQLite's errors."""
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except database_errors() as error:
            if self.key is not None and code_of(error) == NOT_A_DATABASE:
                message = f"the passphrase does not open {self.path}, or that is no Redwell case or a damaged one"
                raise errors.WrongPassphrase(message) from error
            raise


def _open_to_write(file: _File) -> Database:
    connection = file.connect()
    try:
        with _opening:
            file.try_out(connection)
            check_is_case(connection, file.path, may_be_empty=True)
            connection.execute("PRAGMA journal_mode = WAL")
            # What is promised as kept is on the disk when its transaction ends (storage.connection tells what is not).
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA fullfsync = ON")  # of macOS, whose usual flush leaves bytes in the drive
            database = _with_settings(connection)
            if (version := _version(connection)) < SCHEMA_VERSION:
                _upgrade(connection, database, file, version)
        checksums.keep(connection)
    except BaseException:
        connection.close()
        raise
    return database


def _upgrade(connection: Any, database: Database, file: _File, version: int) -> None:
    """Make the tables of a new case, or those of an older schema into ours, after a copy was put beside the file.

    It is upgraded whole or not at all, in one transaction, and told. Raises StorageError, also where the copy cannot be
    made; the case is then as it was.
    """
    is_new = not connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'documents'").fetchone()[0]
    if is_new and file.key is None:
        fill_new(connection)
    elif is_new:  # SQLite copies nothing into an encrypted file
        upgrade(database)
    if is_new:
        return
    backup = _free_name(file.path, version)
    try:
        remove_leftovers(file.path)
        copy_case(connection, file.key, backup, part=part_file(file.path))
    except errors.StorageError as error:
        raise type(error)(
            f"{file.path} must be upgraded, and the copy that is made first could not be: {error}", advice=error.advice
        ) from error
    try:
        upgrade(database)
    except BaseException:
        backup.unlink(missing_ok=True)  # the case is as it was
        raise
    tell(Upgraded(file.path, version, backup))


def _free_name(path: Path, version: int) -> Path:
    """Name the copy of a case of some schema: with the schema, the date, and a number where that is taken."""
    stem = f"{path.stem}{_COPIED}{version}.{datetime.now(UTC):%Y-%m-%d}"
    number, name = 1, f"{stem}{path.suffix}"
    while path.with_name(name).exists():
        number += 1
        name = f"{stem}-{number}{path.suffix}"
    return path.with_name(name)


def copies_before_upgrades(path: Path) -> list[Path]:
    """Return the copies of a case that were made beside it before it was upgraded."""
    return sorted(path.parent.glob(f"{glob.escape(path.stem + _COPIED)}*{glob.escape(path.suffix)}"))


def _open_to_read(file: _File) -> Database:
    connection = _connect_to_read(file)
    try:
        check_is_case(connection, file.path, may_be_empty=False)
        if _version(connection) < SCHEMA_VERSION:
            raise errors.CaseTooOld(
                f"{file.path} has schema {_version(connection)}; this version of Redwell reads schema {SCHEMA_VERSION}"
            )
        checksums.register(connection)
        connection.execute("PRAGMA query_only = ON")
        return _with_settings(connection)
    except BaseException:
        connection.close()
        raise


def _open_damaged(file: _File) -> Database:
    connection = _connect_to_read(file)
    connection.execute("PRAGMA query_only = ON")
    connection.execute("PRAGMA trusted_schema = OFF")
    return Database(connection, execute_plugins=False)


def _connect_to_read(file: _File) -> Any:
    """Open without writing to the file. In a folder that cannot be written SQLite needs `immutable`."""
    connection = file.connect("?mode=ro")
    try:
        file.try_out(connection)
    except database_errors() as error:
        connection.close()
        if code_of(error) not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
            raise
        unsaved = _unsaved(file.path)
        if unsaved.exists() and unsaved.stat().st_size:
            raise errors.CaseReadOnly(
                f"{file.path} has changes in {unsaved.name} that cannot be read in a folder without write permission",
                advice="Copy the case together with its -wal file to a folder that you may write to.",
            ) from error
        return file.connect("?mode=ro&immutable=1")
    except errors.StorageError:
        connection.close()
        raise
    return connection


def _unsaved(path: Path) -> Path:
    """Name the file of what was written to a case and does not stand in its own file yet."""
    return path.with_name(path.name + "-wal")


def _refuse_without_unsaved(path: Path) -> None:
    """Raise NotACase where a young case was copied without its -wal file: it would be taken for a new one.

    It has one page until SQLite moves something out of that file. So it has, for a moment, when it is made; whoever is
    killed then leaves the -wal file or the journal.
    """
    unsaved = _unsaved(path)
    with _opening:
        is_alone = not unsaved.exists() and not journal_file(path).exists()
        if is_alone and path.stat().st_size == PAGE_BYTES:
            raise errors.NotACase(
                f"{path} holds nothing: what was written to this case stands in {unsaved.name}, which is not beside it",
                advice="Copy the case again together with that file. To begin a new case here, delete this file.",
            )


def _with_settings(connection: Any) -> Database:
    connection.execute("PRAGMA foreign_keys = ON")
    # A case may come from someone else: its schema must not reach functions with side effects.
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    return Database(connection, execute_plugins=False)


def _version(connection: Any) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def check_is_case(connection: Any, path: Path, *, may_be_empty: bool) -> None:
    """Raise NotACase or CaseTooNew; an empty database counts as a new case when it may be."""
    application = int(connection.execute("PRAGMA application_id").fetchone()[0])
    if application != APPLICATION_ID:
        # A kill while a case is being made leaves sqlite-utils' own table, and nothing else.
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if names - {"_sqlite_migrations"} or not may_be_empty:
            what = "an SQLite database of another program" if names else "an empty file"
            raise errors.NotACase(f"{path} is {what}, not a Redwell case")
    if foreign := _foreign(connection):
        raise errors.NotACase(
            f"{path} has {foreign}, which no version of Redwell makes: another program changed it",
            advice="Do not use this file. Ask for it again, or restore it from a backup.",
        )
    if (version := _version(connection)) > SCHEMA_VERSION:
        raise errors.CaseTooNew(
            f"{path} has schema {version}, written by a later version of Redwell; this one knows {SCHEMA_VERSION}"
        )


def _foreign(connection: Any) -> str:
    """Name what would run when the case is read or written: a view, a trigger, a computed column. Empty for none.

    A view in the place of a table can be endless, and a column can compute a value as large as the memory.
    """
    for kind, name, sql in connection.execute(
        "SELECT type, name, sql FROM sqlite_master WHERE type NOT IN ('table', 'index') ORDER BY name"
    ):
        if (kind, name) not in _VIEWS and CUSTODY_TRIGGERS.get(name) != sql:
            return f"the {kind} {name!r}"
    computed = connection.execute(
        "SELECT x.name, m.name FROM sqlite_master m JOIN pragma_table_xinfo(m.name) x"
        " WHERE m.type = 'table' AND x.hidden IN (2, 3)"
    ).fetchone()
    return f"the computed column {computed[0]!r} of {computed[1]!r}" if computed else ""
