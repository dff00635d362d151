"""Upgrade a case that an earlier version made: whole or not at all, after a copy was put beside it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from storage.copying import copy_case
from storage.encryption import Key
from storage.errors import StorageError
from storage.migrations import upgrade
from storage.sqlite_library import Database
from storage.upgrade_notice import Upgraded, tell


def upgrade_case(connection: Any, database: Database, path: Path, key: Key | None, version: int) -> None:
    """Copy a case of an older schema to a file beside it, upgrade it in one transaction, and tell.

    Raises StorageError, also where the copy cannot be made; the case is then as it was.
    """
    backup = _free_name(path, version)
    try:
        copy_case(connection, key, backup)
    except StorageError as error:
        raise type(error)(
            f"{path} must be upgraded, and the copy that is made first could not be: {error}", advice=error.advice
        ) from error
    try:
        upgrade(database)
    except BaseException:
        backup.unlink(missing_ok=True)  # the case is as it was
        raise
    tell(Upgraded(path, version, backup))


def _free_name(path: Path, version: int) -> Path:
    """Name the copy of a case of some schema: with the schema, the date, and a number where that is taken."""
    stem = f"{path.stem}.schema-{version}.{datetime.now(UTC):%Y-%m-%d}"
    number, name = 1, f"{stem}{path.suffix}"
    while path.with_name(name).exists():
        number += 1
        name = f"{stem}-{number}{path.suffix}"
    return path.with_name(name)
