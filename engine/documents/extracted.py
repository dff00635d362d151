"""A folder for files taken out of other files, and safe names for them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path, PurePosixPath

from engine.documents.drafts import ChildFailure, ChildFile
from engine.documents.unpacking import Share, too_much

_CONTROL = re.compile(r"[\x00-\x1f\x7f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_LONGEST_NAME = 300
_LONGEST_SUFFIX = 20


class Scratch:
    """Writes children under numbers of its own, so no name from a file ever becomes a path on disk."""

    def __init__(self, folder: Path, share: Share) -> None:
        """`share` is what may be written here at most."""
        self._folder = folder
        self._share = share
        self._count = 0
        self._bytes = 0

    def claim(self, files: int, size: int) -> None:
        """Raise DocumentError (too_large) unless so many more files, of so many bytes together, may be written."""
        if self._count + files > self._share.files or self._bytes + size > self._share.bytes:
            raise too_much(f"it holds {self._count + files} files of {self._bytes + size} bytes", self._share)

    def new_path(self) -> Path:
        """Return a path in the folder that is not in use."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._count += 1
        return self._folder / f"{self._count:06d}.child"

    def write(self, name: str, data: bytes) -> ChildFile:
        """Keep `data` as a child that is shown as `name`; raises DocumentError (too_large)."""
        self.claim(1, len(data))
        self._bytes += len(data)
        path = self.new_path()
        path.write_bytes(data)
        return ChildFile(safe_name(name), path)


def safe_name(name: str) -> str:
    """Return a relative name with forward slashes, without `..`, drive, control or direction-changing characters."""
    parts = _CONTROL.sub("", name.replace("\\", "/")).split("/")
    kept = [part.strip() for part in parts if part.strip() not in ("", ".", "..") and not part.strip().endswith(":")]
    whole = "/".join(kept) or "unnamed"
    return whole if len(whole) <= _LONGEST_NAME else safe_name(whole[-_LONGEST_NAME:])


def named_apart(
    children: Sequence[ChildFile], failures: Sequence[ChildFailure]
) -> tuple[tuple[ChildFile, ...], tuple[ChildFailure, ...]]:
    """Give the files inside one file different names: `scan.pdf`, `scan (2).pdf`."""
    names = _apart([*(child.name for child in children), *(failure.name for failure in failures)])
    named_children = tuple(replace(child, name=next(names)) for child in children)
    return named_children, tuple(replace(failure, name=next(names)) for failure in failures)


def _apart(names: Sequence[str]) -> Iterator[str]:
    """Yield the names, each once; the first file of a name keeps it."""
    taken, kept = set(names), set[str]()
    copies: defaultdict[str, Iterator[int]] = defaultdict(lambda: count(2))
    for name in names:
        unique = name
        if name in kept:
            numbered = (_numbered(name, copy) for copy in copies[name])
            unique = next(other for other in numbered if other not in taken)
        kept.add(name)
        taken.add(unique)
        yield unique


def _numbered(name: str, copy: int) -> str:
    suffix = PurePosixPath(name).suffix
    if len(suffix) > _LONGEST_SUFFIX:
        suffix = ""
    return safe_name(f"{name.removesuffix(suffix)} ({copy}){suffix}")
