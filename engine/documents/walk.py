"""Find the files below the paths a user names."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from engine.disk import questions_folder
from engine.documents.parse import unreadable
from engine.errors import DocumentError

_OWN = re.compile(r"\..*|.+\.redwell(-wal|-shm|-journal|\.lock)?")
"""Hidden entries, and cases with what stands beside them: a case may be kept among the records it is made of."""


@dataclass
class Walk:
    """Regular files in order of their paths, and what could not be taken.

    Hidden entries and Redwell's own cases, with the folders of their questions, are passed over.
    """

    files: list[Path] = field(default_factory=list)
    failed: dict[Path, DocumentError] = field(default_factory=dict)

    def in_order(self) -> Iterator[tuple[Path, DocumentError | None]]:
        """Yield files and failures together, sorted by path."""
        for path in sorted({*self.files, *self.failed}, key=lambda p: p.parts):
            yield path, self.failed.get(path)


def walk(paths: Sequence[Path], *, follow_links: bool = False) -> Walk:
    """Walk files and folders. Nothing is opened.

    A link below a folder that leads out of it is not followed, but reported; with `follow_links` it is. So is a link
    to a folder inside, whose files are there anyway. A path that is given is followed.
    """
    listing = Walk()
    for path in paths:
        if path.is_dir():
            _Folder(path, listing, follow_links).walk(path)
        else:
            _take(path, listing)
    return listing


class _Folder:
    """One folder that was named, while it is walked."""

    def __init__(self, root: Path, listing: Walk, follow_links: bool) -> None:
        self._root = os.path.realpath(root)
        self._found = listing
        self._follows = follow_links
        self._seen = {self._root}  # so that links in a ring come to an end

    def walk(self, folder: Path) -> None:
        """Take all files below a folder, and walk the links to folders outside where they are followed."""
        for place, folders, files in os.walk(folder, onerror=self._note):
            questions = {questions_folder(Path(name)).name for name in files if name.endswith(".redwell")}
            folders[:] = [name for name in folders if not name.startswith(".") and name not in questions]
            for name in folders:
                self._link_to_folder(Path(place, name))
            for name in files:
                if not _OWN.fullmatch(name) and not self._refuses(Path(place, name)):
                    _take(Path(place, name), self._found)

    def _note(self, error: OSError) -> None:
        self._found.failed[Path(error.filename)] = unreadable(error)

    def _refuses(self, path: Path) -> bool:
        """Note a link that leads out of the folder, unless such links are followed."""
        if self._follows or not path.is_symlink() or not path.exists() or self._holds(path):
            return False
        self._found.failed[path] = DocumentError(
            f"it is a link to {os.path.realpath(path)}, outside the folder",
            reason="outside",
            advice="Add the file that it points to (command line: or use --follow-links).",
        )
        return True

    def _link_to_folder(self, path: Path) -> None:
        if not path.is_symlink() or self._refuses(path):
            return
        real = os.path.realpath(path)
        if self._holds(path) or real in self._seen:
            self._found.failed[path] = DocumentError(
                "links to folders are not followed", reason="unsupported", advice="Name the folder itself."
            )
            return
        self._seen.add(real)
        self.walk(path)

    def _holds(self, path: Path) -> bool:
        return Path(os.path.realpath(path)).is_relative_to(self._root)


def _take(path: Path, listing: Walk) -> None:
    """Note a file; pipes, sockets and devices could block for ever and are refused unopened."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        listing.failed[path] = unreadable(error)
        return
    if stat.S_ISREG(mode):
        listing.files.append(path)
    else:
        listing.failed[path] = DocumentError("this is no regular file", reason="unsupported", advice="Leave it out.")
