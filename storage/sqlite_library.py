"""sqlite-utils without pandas, which it loads where that is installed, for a quarter of a second and for nothing."""

from __future__ import annotations

import contextlib
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from storage import errors
from storage.encryption import database_errors
from storage.lock import is_shared_here

# Errors of SQLite as those of storage.errors.

NOT_A_DATABASE: Final = sqlite3.SQLITE_NOTADB
"""What SQLite says of a file that is none, and of one to which the key does not fit."""

_NO_TEXT: Final = "Could not decode to UTF-8"
"""What Python says of a text whose bytes have changed."""

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


_BY_TEXT: Final = {
    "database or disk is full": sqlite3.SQLITE_FULL,
    "disk I/O error": sqlite3.SQLITE_IOERR,
    "database disk image is malformed": sqlite3.SQLITE_CORRUPT,
}
"""SQLite's own words for a code: a backup of sqlcipher3 fails with them alone."""


def code_of(error: Exception) -> int | None:
    """Return SQLite's primary error code; None where the library was called wrongly."""
    code = getattr(error, "sqlite_errorcode", None)
    return _BY_TEXT.get(str(error)) if code is None else int(code) & 0xFF


@contextlib.contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn errors of SQLite, and of SQLCipher, into StorageError; the SQLite message stays in the text."""
    try:
        yield
    except database_errors() as error:
        code = code_of(error)
        if _NO_TEXT in str(error):
            raise errors.CaseDamaged(f"the case {path} is damaged: {error}") from error
        if code is None:
            raise  # the sqlite3 module was called wrongly: our bug, not the user's environment
        if code == sqlite3.SQLITE_BUSY and is_shared_here(path):
            advice = "Redwell is saving a long document, or checks the case: wait until that is done, then repeat this."
            raise errors.CaseBusy(f"the case {path} is being written by Redwell itself", advice=advice) from error
        kind, what = _BY_CODE.get(code, (errors.StorageError, "could not be used"))
        raise kind(f"the case {path} {what} (SQLite: {error})") from error
    except UnicodeDecodeError as error:  # sqlite3 met it in a message of SQLite about a name that is damaged
        raise errors.CaseDamaged(f"the case {path} is damaged: {error}") from error
    except OverflowError as error:
        raise errors.BadRecord(f"the case {path} cannot hold a whole number beyond 64 bits: {error}") from error


_missing = object()
_before = sys.modules.get("pandas", _missing)
if _before is _missing:
    sys.modules["pandas"] = None  # type: ignore[assignment]  # `import pandas` fails, which sqlite-utils expects
try:
    from sqlite_utils import Database
    from sqlite_utils.migrations import Migrations
finally:
    if _before is _missing:
        del sys.modules["pandas"]

__all__ = ["Database", "Migrations"]
