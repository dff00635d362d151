"""Files of this program on the disk: whose they are, and a full disk told from what else the system refuses."""

from __future__ import annotations

import errno
import os


def private_umask() -> None:
    """Let this process, and those it starts, make files and folders for their owner alone (POSIX)."""
    os.umask(0o077)


_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def is_disk_full(error: OSError) -> bool:
    """Say whether there was no room: on the disk, in the account's share of it, or within its largest file."""
    return error.errno in _FULL
