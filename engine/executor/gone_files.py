"""Files that were read into a case, or could not be, and are not there any more; what was read stays in the case."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from models.paths import expanded
from storage.documents import Documents

_NAMED = 3


def gone_files(documents: Documents, folder: Path) -> list[str]:
    """Return the paths below a folder, or the file, at which documents were read that stand nowhere now, sorted.

    A document that was moved, and found where it is now, is not gone; nor is one that was removed from the case.
    """
    root = expanded(folder).resolve()
    gone: list[str] = []
    for paths in documents.paths_of_files():
        below = [path for path in paths if Path(path).is_relative_to(root)]
        if below and not any(_stands(Path(path)) for path in paths):
            gone += below
    return sorted(gone)


def forget_gone_failures(documents: Documents, folder: Path, before: str) -> None:
    """Forget the files below a folder that could not be read before a time (storage.topic.now) and are gone."""
    root = expanded(folder).resolve()
    for file in documents.failures():
        path = Path(file.path)
        if path.is_relative_to(root) and not _stands(path):
            documents.forget_failures(file.path, before)


def gone_text(paths: Iterable[str]) -> str:
    """Say which files are gone, and that nothing is lost; empty for none."""
    names = [Path(path).name for path in paths]
    if not names:
        return ""
    shown = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else "")
    what = "file that was read is" if len(names) == 1 else "files that were read are"
    return f"{len(names):,} {what} not there any more ({shown}); the text and the results stay in the case."


def _stands(path: Path) -> bool:
    """Say whether a file is there, or the archive that it was read from."""
    return any(place.is_file() for place in (path, *path.parents))
