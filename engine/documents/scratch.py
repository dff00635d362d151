"""A folder for files taken out of other files, and safe names for them."""

from __future__ import annotations

import re
from pathlib import Path

from engine.documents.drafts import ChildFile

_CONTROL = re.compile(r"[\x00-\x1f\x7f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_LONGEST_NAME = 300


class Scratch:
    """Writes children under numbers of its own, so no name from a file ever becomes a path on disk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0

    def new_path(self) -> Path:
        """Return a path in the folder that is not in use."""
        self._folder.mkdir(parents=True, exist_ok=True)
        self._count += 1
        return self._folder / f"{self._count:06d}.child"

    def write(self, name: str, data: bytes) -> ChildFile:
        """Keep `data` as a child that is shown as `name`."""
        path = self.new_path()
        path.write_bytes(data)
        return ChildFile(safe_name(name), path)


def safe_name(name: str) -> str:
    """Return a relative name with forward slashes, without `..`, drive, control or direction-changing characters."""
    parts = _CONTROL.sub("", name.replace("\\", "/")).split("/")
    kept = [part.strip() for part in parts if part.strip() not in ("", ".", "..") and not part.strip().endswith(":")]
    return "/".join(kept)[-_LONGEST_NAME:] or "unnamed"
