"""One job of a parsing child: what it is given, and what is taken from it.

A child sees no file of the user's but the one that it reads. A file of ordinary size is copied into the child's own
folder; a large one is read where it is, by a child that is started for it alone.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.disk import open_plain
from engine.documents.parse import unreadable
from engine.documents.parsers import INPUT
from engine.errors import DocumentError

LARGEST_COPY = 64 * 2**20
"""Bytes. To start a child takes about half a second, in which more than this can be copied."""


@dataclass(frozen=True, slots=True)
class Job:
    """A command for a child. Its results go to `scratch`; `path` is the file that it reads, if it reads one."""

    command: Mapping[str, Any]
    scratch: Path
    path: Path | None = None
    reads: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        """Let a large file be read where it is."""
        if self.path is not None and size_of(self.path) > LARGEST_COPY:
            object.__setattr__(self, "reads", (*self.reads, self.path.absolute()))

    def begin(self, folder: Path) -> dict[str, Any]:
        """Lay the file into the child's folder; return the whole command. Raises DocumentError (unreadable, ...)."""
        clear_folder(folder)
        work = folder / "job"
        work.mkdir(mode=0o700)
        command = {**self.command, "scratch": str(work)}
        if self.path is not None:
            command["path"] = str(self._lay(work / INPUT))
        return command

    def take_results(self, folder: Path) -> None:
        """Move what the child wrote to `scratch`. Raises DocumentError where that is no plain file or folder."""
        work = folder / "job"
        shutil.rmtree(work / INPUT, ignore_errors=True)
        _refuse_links(work)
        for written in work.iterdir():
            target = self.scratch / written.name
            if written.is_dir() and not written.is_symlink() and target.is_dir():
                shutil.copytree(written, target, symlinks=True, dirs_exist_ok=True)
            else:
                shutil.move(written, target)
        # Once more where the child cannot write: it may have put a link in the place of a file meanwhile.
        _refuse_links(self.scratch)

    def _lay(self, folder: Path) -> Path:
        path = self.path
        if path is None or path.absolute() in self.reads:
            return path.absolute() if path else folder
        folder.mkdir(mode=0o700)
        try:
            _copy(path, folder / path.name)
        except OSError as error:
            raise unreadable(error) from error
        return folder / path.name


def _refuse_links(folder: Path) -> None:
    """Raise DocumentError unless all that is in a folder are plain files and folders."""
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            kind = (Path(place) / name).lstat().st_mode
            if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
                raise DocumentError(
                    f"reading it wrote {name!r}, which is no plain file", reason="crashed", advice="Leave it out."
                )


def clear_folder(folder: Path) -> None:
    """Remove all that is in a folder; what does not go stays, for the folder itself goes later."""
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _copy(path: Path, target: Path) -> None:
    """Copy a plain file, never waiting for the other end of a pipe. Raises OSError."""
    with open_plain(path) as source, target.open("wb") as copy:
        shutil.copyfileobj(source, copy, 2**20)


def size_of(path: Path) -> int:
    """Return the bytes of a file, 0 where it cannot be looked at."""
    try:
        return path.stat().st_size
    except OSError:  # gone, or not ours to look at: the copy says so
        return 0
