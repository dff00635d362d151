"""Find the files below the paths a user names."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from engine.documents.parse import unreadable
from engine.errors import DocumentError

_OWN = re.compile(r"\..*|.+\.redwell(-wal|-shm|-journal|\.lock)?")
"""Hidden entries, and cases with what stands beside them: a case may be kept among the records it is made of."""


@dataclass
class Walk:
    """Regular files in order of their paths, what could not be taken, and how many entries were passed over.

    Passed over are hidden ones and Redwell's own cases.
    """

    files: list[Path] = field(default_factory=list)
    failed: dict[Path, DocumentError] = field(default_factory=dict)
    hidden: int = 0

    def in_order(self) -> Iterator[tuple[Path, DocumentError | None]]:
        """Yield files and failures together, sorted by path."""
        for path in sorted({*self.files, *self.failed}, key=lambda p: p.parts):
            yield path, self.failed.get(path)


def walk(paths: Sequence[Path]) -> Walk:
    """Walk files and folders; links to folders are not followed, but reported. Nothing is opened."""
    found = Walk()
    for path in paths:
        if path.is_dir():
            _walk_folder(path, found)
        else:
            _take(path, found)
    return found


def _walk_folder(folder: Path, found: Walk) -> None:
    def note(error: OSError) -> None:
        found.failed[Path(error.filename)] = unreadable(error)

    for place, folders, files in os.walk(folder, onerror=note):
        hidden = [name for name in folders if name.startswith(".")] + [name for name in files if _OWN.fullmatch(name)]
        found.hidden += len(hidden)
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in folders:
            link = Path(place, name)
            if link.is_symlink():
                found.failed[link] = DocumentError(
                    "links to folders are not followed", reason="unsupported", advice="Name the folder itself."
                )
        for name in files:
            if not _OWN.fullmatch(name):
                _take(Path(place, name), found)


def _take(path: Path, found: Walk) -> None:
    """Note a file; pipes, sockets and devices could block for ever and are refused unopened."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        found.failed[path] = unreadable(error)
        return
    if stat.S_ISREG(mode):
        found.files.append(path)
    else:
        found.failed[path] = DocumentError("this is no regular file", reason="unsupported", advice="Leave it out.")
