"""Secrets in memory: a page of their own, kept out of swap and core dumps where the system allows it, and overwritten.

Python makes copies that nothing can overwrite: of what a person types, of what is read from a file, and of what is lent
by `Secret.reveal`. Those live for moments, or until their memory is used again; the copy that is kept is this one.
"""

from __future__ import annotations

import ctypes
import mmap
import os


class Secret:
    """Some bytes, until `wipe`."""

    def __init__(self, value: bytes) -> None:
        self._page = mmap.mmap(-1, max(len(value), 1))
        self._size = len(value)
        self._page[: self._size] = value
        self.is_locked = _keep_in_memory(self._page)

    def reveal(self) -> bytes:
        """Return a copy; raises ValueError after `wipe`."""
        return self._page[: self._size]

    def wipe(self) -> None:
        """Overwrite and give back the memory; idempotent."""
        if not self._page.closed:
            self._page[:] = bytes(len(self._page))
            self._page.close()  # which also ends the lock on its pages

    def __del__(self) -> None:
        """Wipe one that nobody needs any more."""
        self.wipe()

    def __repr__(self) -> str:
        """Show nothing of it."""
        return "<Secret>"


def _keep_in_memory(page: mmap.mmap) -> bool:
    """Say whether the system keeps the page out of swap; it may not, for a process may lock little."""
    if os.name != "posix":
        return False
    first = ctypes.c_char.from_buffer(page)
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        is_locked = bool(libc.mlock(ctypes.c_void_p(ctypes.addressof(first)), ctypes.c_size_t(len(page))) == 0)
    finally:
        del first
    if hasattr(mmap, "MADV_DONTDUMP"):
        page.madvise(mmap.MADV_DONTDUMP)
    return is_locked
