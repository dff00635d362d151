"""Files on the disk: whose they are, their digest, and a full disk told from what else the system refuses."""

from __future__ import annotations

import errno
import hashlib
import os
from pathlib import Path

from engine.errors import UsageError


def private_umask() -> None:
    """Let this process, and those it starts, make files and folders for their owner alone (POSIX)."""
    os.umask(0o077)


_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def is_disk_full(error: OSError) -> bool:
    """Say whether there was no room: on the disk, in the account's share of it, or within its largest file."""
    return error.errno in _FULL


def questions_folder(case: Path) -> Path:
    """Return the folder beside a case in which its pipelines lie, there or not; raises UsageError for no file."""
    if not case.name:
        raise UsageError(f"{case} is no case", advice="Name a file.")
    return case.with_name(f"{case.stem} questions")


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
