"""Files and folders that only their owner may read, whatever the umask says; on POSIX systems."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

FILE_MODE: Final = 0o600


def make_private(path: Path) -> None:
    """Make an empty file for the owner alone; raises FileExistsError, or another OSError."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE))


def mode_beside(path: Path) -> int:
    """Return the rights of a file that lies beside another one: those of that one, which its owner may share."""
    try:
        return stat.S_IMODE(path.stat().st_mode) & 0o666
    except OSError:
        return FILE_MODE
