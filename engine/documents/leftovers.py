"""A private scratch folder that does not outlive its owner by more than one run.

What lies there is plain: attachments while a folder is read, pictures of pages; only cases in it are encrypted where
that of the person is. A process that is killed cannot remove it, so the next one does: each folder holds a lock file,
and a folder whose lock nobody holds has no owner. (Process ids would not tell: containers that share a temporary folder
do not share them.)
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout

PREFIX = "redwell-scratch-"
LOCK = "owner.lock"
FILES = "files"
"""What the owner is given: made when the folder has its lock."""
MOST_TRIES = 20


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Yield an empty folder that only this user can read; remove it afterwards, and first those of killed processes."""
    remove_leftovers()
    folder, lock = _own_folder()
    try:
        (folder / FILES).mkdir(mode=0o700)
        yield folder / FILES
    finally:
        lock.release()
        shutil.rmtree(folder, ignore_errors=True)


def _own_folder() -> tuple[Path, BaseFileLock]:
    """Make a folder and take its lock; anew where another process took it first, who then removes the folder.

    That happens between the making of the lock's file and its being locked, when both begin at once.
    """
    for _ in range(MOST_TRIES):
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        lock = FileLock(folder / LOCK, thread_local=False)  # it may be released by another thread
        try:
            lock.acquire(timeout=0)
        except Timeout:
            continue
        return folder, lock
    raise OSError(f"no scratch folder of its own in {tempfile.gettempdir()} after {MOST_TRIES} tries")


def remove_leftovers() -> int:
    """Remove the scratch folders that nobody owns; return how many. Folders of other users are left alone."""
    removed = 0
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        if not (folder / LOCK).is_file() and not (folder / FILES).exists():  # just being made by another process
            continue  # with files, its owner was killed while it removed them, the lock first
        try:
            with FileLock(folder / LOCK).acquire(timeout=0):
                shutil.rmtree(folder, ignore_errors=True)
                removed += not folder.exists()
        except (Timeout, OSError):
            continue
    return removed
