"""Files on the disk: whose they are, their digest, and a full disk told from what else the system refuses."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from io import BufferedReader
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


def open_plain(path: Path) -> BufferedReader:
    """Open a regular file to read its bytes, without ever waiting for it. Raises OSError, also for a pipe or device."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    file = open(descriptor, "rb")  # noqa: PTH123, SIM115 - a descriptor, which the caller closes
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        file.close()
        raise OSError(0, "it is no regular file")
    return file


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, hexadecimal. Raises OSError, also for what is no regular file."""
    with open_plain(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
