"""A private scratch folder that does not outlive its owner by more than one run.

Attachments lie there as plain files while a folder is read. A process that is killed cannot remove them, so the next
one does: each folder holds a lock file, and a folder whose lock nobody holds has no owner. (Process ids would not tell:
containers that share a temporary folder do not share them.)
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

PREFIX = "redwell-scratch-"
LOCK = "owner.lock"


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Yield an empty folder that only this user can read; remove it afterwards, and first those of killed processes."""
    remove_leftovers()
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    lock = FileLock(folder / LOCK)
    lock.acquire(timeout=0)
    try:
        (folder / "files").mkdir()
        yield folder / "files"
    finally:
        lock.release()
        shutil.rmtree(folder, ignore_errors=True)


def remove_leftovers() -> int:
    """Remove the scratch folders that nobody owns; return how many. Folders of other users are left alone."""
    removed = 0
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        if not (folder / LOCK).is_file():  # just being made by another process
            continue
        try:
            with FileLock(folder / LOCK).acquire(timeout=0):
                shutil.rmtree(folder, ignore_errors=True)
                removed += not folder.exists()
        except (Timeout, OSError):
            continue
    return removed
