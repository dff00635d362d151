"""Open a file without ever waiting for it: a pipe, a socket or a device is refused."""

from __future__ import annotations

import os
import stat
from io import BufferedReader
from pathlib import Path


def open_plain(path: Path) -> BufferedReader:
    """Open a regular file to read its bytes. Raises OSError, also for what is no regular file."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    file = open(descriptor, "rb")  # noqa: PTH123, SIM115 - a descriptor, which the caller closes
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        file.close()
        raise OSError(0, "it is no regular file")
    return file
