"""Files and folders that only their owner may read, whatever the umask says; on POSIX systems."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from storage.errors import CaseReadOnly

# What a conversion (storage.conversion) that was killed leaves beside the case: a copy that was not finished.


def part_file(case: Path) -> Path:
    """Name the file that a conversion writes: beside the case, so that it can take its place in one step."""
    return case.with_name(f".{case.name}.converting")


def remove_leftovers(case: Path) -> None:
    """Remove an unfinished copy, which may hold plain records. Hold the writer's lock. Raises CaseReadOnly."""
    part = part_file(case)
    for path in (part, *(part.with_name(part.name + ending) for ending in ("-journal", "-wal", "-shm"))):
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise CaseReadOnly(f"the unfinished copy {path} cannot be removed: {error.strerror}") from error


FILE_MODE: Final = 0o600


def make_private(path: Path) -> None:
    """Make an empty file for the owner alone; raises FileExistsError, or another OSError."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE))


def flush(path: Path) -> None:
    """Wait until the bytes of a file are on the disk: renaming first could leave an empty one after a power cut."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def mode_beside(path: Path) -> int:
    """Return the rights of a file that lies beside another one: those of that one, which its owner may share."""
    try:
        return stat.S_IMODE(path.stat().st_mode) & 0o666
    except OSError:
        return FILE_MODE
