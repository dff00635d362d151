"""Files and folders that only their owner may read, whatever the umask says; on POSIX systems."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

FILE_MODE: Final = 0o600
FOLDER_MODE: Final = 0o700


def make_private(path: Path) -> None:
    """Make an empty file for the owner alone; raises FileExistsError, or another OSError."""
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE)
    try:
        _set_mode(descriptor)
    finally:
        os.close(descriptor)


def _set_mode(descriptor: int) -> None:
    """Take rights away that a default ACL of the folder gives; a file system without rights refuses, and has none."""
    if hasattr(os, "fchmod"):
        try:
            os.fchmod(descriptor, FILE_MODE)
        except PermissionError:
            return


def is_private(path: Path) -> bool:
    """Say whether nobody but the owner has any right to a file or folder."""
    return os.name != "posix" or not path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO)
