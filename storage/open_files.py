"""The case files that this process has open: what their first page told, so that nobody reads it again meanwhile.

POSIX locks belong to the process: closing a file that was opened beside SQLite drops the locks of SQLite, and another
process could then remove a -wal file that is in use. SQLite and SQLCipher are two libraries that do not know of each
other's locks either, so a file is never open with both.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
from dataclasses import dataclass, field
from pathlib import Path

from storage.encryption import Header, read_header
from storage.errors import CaseBusy, CaseGone, CaseReadOnly
from storage.files import make_private


@dataclass(eq=False)
class _File:
    header: Header
    users: int = 0
    is_alone: bool = False
    read_beside: list[int] = field(default_factory=list)
    """Descriptors that were read beside SQLite; they are closed when it has closed the file, too."""


_files: dict[tuple[int, int], _File] = {}
"""By device and inode, while they are open: a number is given to another file only after that."""
_guard = threading.RLock()
"""Held while the table changes; the collector may release one in the thread that holds it."""


class OpenFile:
    """The right to open a case file, from construction to `release`, and what is known of the file.

    A new file is made, empty, where `create` is set. One that is taken `alone` is opened by nobody else in this process
    meanwhile. Raises CaseBusy, or CaseReadOnly where the file cannot be read or made.
    """

    _file: _File | None = None

    def __init__(self, path: Path, *, create: bool = False, alone: bool = False) -> None:
        self._path = path
        with _guard:
            try:
                self._made = create and _make(path)
                self._key = _identity(path)
                file = _files.get(self._key) or _File(read_header(path), is_alone=alone)
            except OSError as error:
                raise CaseReadOnly(f"{path} cannot be opened: {error.strerror}") from error
            if file.users and (alone or file.is_alone):
                raise CaseBusy(f"the case {path} is in use by another part of this program")
            file.users += 1
            self._file = _files.setdefault(self._key, file)
        self.header = file.header

    def check(self) -> None:
        """Raise CaseGone where another file, or none, has the path by now."""
        try:
            is_same = _identity(self._path) == self._key
        except FileNotFoundError:
            is_same = False
        except OSError as error:
            raise CaseReadOnly(f"{self._path} cannot be reached any more: {error.strerror}") from error
        if not is_same:
            what = "replaced by another file" if self._path.exists() else "deleted or moved"
            raise CaseGone(f"the case {self._path} was {what} while it was in use")

    def sha256(self) -> str:
        """Return the SHA-256 of the file as it is on the disk, hexadecimal; raises OSError."""
        descriptor = os.open(self._path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        with _guard:
            _files[self._key].read_beside.append(descriptor)
        with open(descriptor, "rb", closefd=False) as file:  # noqa: PTH123 - a descriptor
            return hashlib.file_digest(file, "sha256").hexdigest()

    def is_now(self, header: Header) -> None:
        """Say what a new file has become."""
        if self._file is not None:
            self.header = self._file.header = header

    def release(self) -> None:
        """Give the right back, when the connection is closed; idempotent. A file made in vain goes away."""
        file, self._file = self._file, None
        if file is None:
            return
        with _guard:
            file.users -= 1
            if not file.users:
                _files.pop(self._key, None)
                for descriptor in file.read_beside:
                    os.close(descriptor)
                if self._made and file.header.form == "new":
                    with contextlib.suppress(OSError):
                        self._path.unlink()

    def __del__(self) -> None:
        """Release with a connection that was never closed: its number may be that of another file soon."""
        self.release()


def sha256_of_case(path: Path) -> str:
    """Return the SHA-256 of a case file, hexadecimal, which may be open meanwhile; raises CaseReadOnly or OSError."""
    opened = OpenFile(path)
    try:
        return opened.sha256()
    finally:
        opened.release()


def _make(path: Path) -> bool:
    try:
        make_private(path)  # SQLite gives the -wal and -shm files the same rights
    except FileExistsError:
        return False
    return True


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino
