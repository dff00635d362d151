"""Files and folders that only their owner may read, whatever the umask says; on POSIX systems."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from pathlib import Path
from typing import Final

from storage.errors import CaseReadOnly

# What a conversion or an upgrade that was killed leaves beside the case: a copy that was not finished.


def part_file(case: Path) -> Path:
    """Name the file that a conversion or an upgrade writes: beside the case, so that it is renamed in one step."""
    return case.with_name(f".{case.name}.converting")


def journal_file(case: Path) -> Path:
    """Name the file of the longest name that lies beside a case: SQLite's journal while the case is made."""
    return case.with_name(f"{case.name}-journal")


def remove_leftovers(case: Path) -> None:
    """Remove an unfinished copy, which may hold plain records. Hold the writer's lock. Raises CaseReadOnly."""
    part = part_file(case)
    for path in (part, *(part.with_name(part.name + ending) for ending in ("-journal", "-wal", "-shm"))):
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:  # beside a case of a long name there can be none
                return
            raise CaseReadOnly(f"the unfinished copy {path} cannot be removed: {error.strerror}") from error


FILE_MODE: Final = 0o600


def make_private(path: Path) -> None:
    """Make an empty file for the owner alone; raises FileExistsError, or another OSError."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE))


LONGEST_SECONDS: Final = 24 * 3600
"""Nothing takes so long to write: what was begun earlier was left by a program that was killed."""
_TEMPORARIES: Final = f".redwell-{'[0-9a-f]' * 12}.tmp*"


def make_temporary(folder: Path) -> Path:
    """Make an empty file for what gets its name when it is whole, and remove what killed programs left there.

    Its name does not grow with that other one, which may be as long as the file system allows. Raises OSError.
    """
    path = folder / f".redwell-{secrets.token_hex(6)}.tmp"
    make_private(path)
    now = path.stat().st_mtime  # by the clock of the disk
    for old in folder.glob(_TEMPORARIES):
        with contextlib.suppress(OSError):  # somebody else removed it, or it is not ours to remove
            if now - old.stat().st_mtime > LONGEST_SECONDS:
                old.unlink()
    return path


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
