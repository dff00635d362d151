"""The single-writer lock: a file beside the case, locked by the operating system, holding the writer's pid.

The operating system drops the lock when its process ends, however it ends, so a dead writer never blocks
a case. POSIX record locks are used because children made by fork do not inherit them; they are invisible inside
one process, hence the table of locks this process holds.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from storage.errors import CaseLocked, CaseReadOnly, DiskFull
from storage.files import mode_beside

WAIT_SECONDS = 0.3
"""How long a writer insists: a reader's probe holds a shared lock for microseconds."""


@dataclass
class _Holding:
    """A lock this process has. `pid`: a forked child inherits the table but not the locks.

    `holders` counts the WriterLocks that share it, `has_main` says whether one of them excludes other main ones,
    `is_shared` whether any other may come beside it.
    """

    pid: int
    descriptor: int
    holders: int = 0
    has_main: bool = False
    is_shared: bool = True


_held: dict[str, _Holding] = {}
_guard = threading.Lock()
"""Held while the table changes, from the kernel's lock to the entry: several threads of a process may write to a case.

Held while a lock file is looked at, too: whoever closes a file gives up all locks of its process on it."""

_LOCKED_BYTE: Final = 1 << 30
"""Windows locks are mandatory, so a byte far behind the pid is locked and the pid stays readable."""

_HELD: Final = frozenset({errno.EACCES, errno.EAGAIN, errno.EDEADLK})
"""What the system says of a lock that another process has; anything else says that there are no locks."""


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int, *, shared: bool) -> None:
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(descriptor: int, *, shared: bool) -> None:
        fcntl.lockf(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)


class WriterLock:
    """The right to write to one case, from construction to `release`.

    Within one process a lock taken `beside` another shares it, for short edits while a job writes; SQLite puts their
    transactions in order. One taken `alone` shares it with none, for it replaces the file. Raises CaseLocked when
    another process holds it, or this one and both are main ones; CaseReadOnly when the lock file cannot be made or
    locked.
    """

    def __init__(
        self, case: Path, *, beside: bool = False, alone: bool = False, wait_seconds: float = WAIT_SECONDS
    ) -> None:
        self._case = str(case)
        self._file = lock_file(case)
        self._is_main = not beside
        with _guard:
            holding = _mine(self._case)
            self.was_free = holding is None
            """Nobody in this process had the lock before, so whoever takes it tidies up."""
            if holding is None:
                descriptor = self._acquire(case, wait_seconds)
                holding = _held[self._case] = _Holding(os.getpid(), descriptor, is_shared=not alone)
            elif alone or not holding.is_shared or (self._is_main and holding.has_main):
                raise CaseLocked(f"{case} is already open for writing in this process", pid=os.getpid())
            holding.holders += 1
            holding.has_main = holding.has_main or self._is_main
        self._holding: _Holding | None = holding

    def _acquire(self, case: Path, wait_seconds: float) -> int:
        deadline = time.monotonic() + wait_seconds
        while True:
            descriptor = self._try()
            if descriptor is not None:
                with contextlib.suppress(OSError):  # the pid only serves messages; the lock holds without it
                    os.ftruncate(descriptor, 0)
                    os.lseek(descriptor, 0, os.SEEK_SET)
                    os.write(descriptor, str(os.getpid()).encode())
                return descriptor
            if time.monotonic() > deadline:
                pid = _read_pid(self._file)
                who = f"process {pid}" if pid else "another process"
                raise CaseLocked(f"{case} is being written by {who}", pid=pid)
            time.sleep(0.02)

    def _try(self) -> int | None:
        descriptor, is_new = _open_lock_file(self._file, mode_beside(Path(self._case)))
        try:
            _lock(descriptor, shared=False)
        except OSError as error:
            os.close(descriptor)
            if error.errno in _HELD:
                return None
            if is_new:
                self._remove_file()
            raise CaseReadOnly(
                f"{self._case} cannot be locked: {error.strerror}", advice="Copy the case to a disk of this computer."
            ) from error
        if _is_still_there(descriptor, self._file):
            return descriptor
        os.close(descriptor)
        return None

    def release(self) -> None:
        """Give the lock back and remove its file; idempotent, and without effect in a forked child."""
        holding, self._holding = self._holding, None
        if holding is None or holding.pid != os.getpid():
            return
        with _guard:
            holding.holders -= 1
            holding.has_main = holding.has_main and not self._is_main
            if not holding.holders:
                del _held[self._case]
                self._give_back(holding.descriptor)

    def _give_back(self, descriptor: int) -> None:
        if sys.platform == "win32":
            os.close(descriptor)
            self._remove_file()
        else:
            # Unlinked before it is unlocked: whoever opened it meanwhile sees that it is gone and starts over.
            self._remove_file()
            os.close(descriptor)

    def _remove_file(self) -> None:
        with contextlib.suppress(OSError):  # one that stays is locked by nobody, and locks nobody out
            self._file.unlink()


def _mine(case: str) -> _Holding | None:
    holding = _held.get(case)
    return holding if holding is not None and holding.pid == os.getpid() else None


def lock_file(case: Path) -> Path:
    """Name the lock file of a case: beside it, with `.lock` appended."""
    return case.with_name(case.name + ".lock")


def writer_of(case: Path) -> int | None:
    """Return the pid of the living process that writes to this case; None when nobody does, -1 when unreadable."""
    path = lock_file(case)
    with _guard:
        if _mine(str(case)) is not None:
            return os.getpid()
        try:
            descriptor = os.open(path, os.O_RDONLY)
        except OSError:
            return None
        try:
            _lock(descriptor, shared=True)
        except OSError as error:
            return (_read_pid(path) or -1) if error.errno in _HELD else None
        else:
            return None
        finally:
            os.close(descriptor)


def is_shared_here(case: Path) -> bool:
    """Say whether several parts of this process may write to a case now."""
    with _guard:
        holding = _mine(str(case))
        return holding is not None and holding.holders > 1


def _open_lock_file(path: Path, mode: int) -> tuple[int, bool]:
    """Open a lock file; say too whether it is a new one. Raises CaseReadOnly or DiskFull."""
    try:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
        except FileExistsError:
            return os.open(path, os.O_RDWR | os.O_CREAT, mode), False
        if sys.platform != "win32":
            # Whoever may write to the case may lock it, whatever the umask takes away. Some shares refuse to say so.
            with contextlib.suppress(OSError):
                os.fchmod(descriptor, mode)
        return descriptor, True
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise DiskFull(f"no space is left to make {path}") from error
        raise CaseReadOnly(f"the lock file {path} cannot be made: {error.strerror}") from error


def _is_still_there(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _read_pid(path: Path) -> int | None:
    try:
        return int(path.read_text("ascii"))
    except (OSError, ValueError):
        return None
