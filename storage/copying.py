"""A copy of an open case in a new file, page by page: as the case was at one moment, whoever writes meanwhile."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from storage.encryption import Key, address_of, connect_encrypted
from storage.errors import CaseExists, CaseMissing, CaseReadOnly, DiskFailed, DiskFull
from storage.files import flush, journal_file, make_private, make_temporary
from storage.sqlite_library import translated

PAGES: Final = 2000
"""Pages that are copied between two looks."""

Tell = Callable[[int, int], None]
"""Hears how many pages of how many are copied; it may raise to stop."""


def copy_case(
    connection: Any, key: Key | None, target: Path, tell: Tell = lambda done, total: None, *, part: Path | None = None
) -> None:
    """Copy the case of a connection to `target`, which appears whole or not at all; encrypted with the same key.

    `part` is its name until it is whole, where nobody else writes; None: a name that nobody else takes.

    Raises CaseExists where there is a file already, CaseMissing without a folder, CaseReadOnly, DiskFailed, DiskFull.
    """
    part = make_part(target, part)
    try:
        with contextlib.closing(_opened(key, part)) as copy, translated(target):
            # What this connection reads stays as it is while others write, so the copy need not start again.
            connection.execute("BEGIN")
            try:
                connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
                connection.backup(copy, pages=PAGES, progress=lambda status, left, total: tell(total - left, total))
            finally:
                connection.execute("COMMIT")
        put(part, target)
    finally:
        part.unlink(missing_ok=True)


def make_part(target: Path, part: Path | None = None) -> Path:
    """Make an empty file beside `target` for what gets its name by `put`; raises what `copy_case` raises."""
    refuse_existing(target)
    if not target.parent.is_dir():
        message = f"there is no folder {target.parent} to write {target.name} in"
        raise CaseMissing(message, advice="Make the folder first.")
    try:
        if part is None:
            return make_temporary(target.parent)
        make_private(part)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise DiskFull(f"no space is left to make {target}") from error
        raise CaseReadOnly(f"{target} cannot be made: {error.strerror}") from error
    return part


def refuse_existing(target: Path) -> None:
    """Raise CaseExists where there is a file or a folder at `target`, CaseReadOnly where no case can be."""
    try:
        journal_file(target).exists()
    except OSError as error:
        raise CaseReadOnly(
            f"{target} cannot be made: {error.strerror}", advice="Choose another place, or a shorter name."
        ) from error
    if target.is_dir():
        raise CaseExists(f"{target} is a folder", advice=f"Name the file to make: {target / 'copy.redwell'}.")
    if target.exists() or target.is_symlink():
        raise CaseExists(f"there is a file at {target} already, and it was left as it is")


def _opened(key: Key | None, part: Path) -> Any:
    if key is None:
        return sqlite3.connect(part, isolation_level=None)
    return connect_encrypted(address_of(part), key, timeout_seconds=1)


def put(part: Path, target: Path) -> None:
    """Give a finished file its name, but not that of a file which came there meanwhile: CaseExists. Or DiskFailed."""
    try:
        flush(part)
        try:
            os.link(part, target)
        except FileExistsError:
            refuse_existing(target)
            raise
        except OSError:  # no links in this file system
            refuse_existing(target)
            part.rename(target)
    except OSError as error:
        raise DiskFailed(f"{target} was not written: {error.strerror}") from error
