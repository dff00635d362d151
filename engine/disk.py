"""Tell a full disk from the other things that the operating system refuses."""

from __future__ import annotations

import errno

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def is_disk_full(error: OSError) -> bool:
    """Say whether there was no room: on the disk, in the account's share of it, or within its largest file."""
    return error.errno in _FULL
