"""Put model files into the models folder and take them out: room on the disk, links, copies, and those of a package."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from models.cache_place import bundled_folder, make_private_folder, models_folder
from models.catalog import catalog
from models.errors import ModelError

SPARE_BYTES = 64 * 1024 * 1024
"""Room kept free on the disk beside the model itself."""

MORE_ROOM = "Free some disk space, or set REDWELL_CACHE to a folder on a larger disk."

LONGEST_SECONDS = 24 * 3600.0
"""No model takes so long to add: what was begun earlier was left by a program that was killed."""


def require_space(root: Path, needed_bytes: int) -> None:
    """Raise ModelError unless the disk has room for so many bytes more."""
    free = shutil.disk_usage(root).free
    if needed_bytes + SPARE_BYTES > free:
        raise ModelError(
            f"{root} has {free / 1e6:,.0f} MB free, and {(needed_bytes + SPARE_BYTES) / 1e6:,.0f} MB are needed",
            advice=MORE_ROOM,
        )


@contextmanager
def adding(root: Path) -> Iterator[Path]:
    """Lend a hidden folder of the models for what gets its name when it is whole; remove those of killed programs."""
    for left in root.glob(".adding-*/"):
        with suppress(OSError):  # somebody else removed it
            if time.time() - left.stat().st_mtime > LONGEST_SECONDS:
                shutil.rmtree(left)
    with tempfile.TemporaryDirectory(dir=root, prefix=".adding-") as work:
        yield Path(work)


def place_copy(source: Path, target: Path, root: Path) -> None:
    """Link a file below `root`, or copy it where that is another disk."""
    try:
        target.hardlink_to(source.resolve())
    except OSError:  # another disk, or one without links
        require_space(root, source.stat().st_size)
        try:
            shutil.copyfile(source, target)
        except OSError as error:
            raise ModelError(
                f"{source} cannot be copied to {root}: {error.strerror or error}", advice=MORE_ROOM
            ) from error


def size_of(path: Path) -> int:
    """Add up the bytes of a file, or of a folder's files; 0 where there is nothing."""
    return sum(file.stat().st_size for file in _files(path))


def freed_by(path: Path) -> int:
    """Return the bytes that the disk has again once `path` is deleted: none of a file that lies elsewhere as well."""
    if path.is_symlink():
        return 0
    return sum(file.stat().st_size for file in _files(path) if file.stat().st_nlink == 1)


def _files(path: Path) -> list[Path]:
    return [file for file in (path.rglob("*") if path.is_dir() else [path]) if file.is_file()]


def delete(path: Path) -> None:
    """Remove a file or a folder, if it is there; of a link, the link."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def link_bundled_models() -> None:
    """Link each model of the catalogue that a package brought and that is not installed, where all else looks for it.

    A link that leads nowhere gives way: an AppImage lies in another folder each time it is started. Raises ModelError
    where the models folder cannot be written.
    """
    source, root = bundled_folder(), models_folder()
    if not source.is_dir():
        return
    try:
        _link(source, root)
    except OSError as error:
        raise ModelError(
            f"{root}: the models of {source} cannot be linked there: {error.strerror or error}",
            advice="Set REDWELL_CACHE to a folder that can be written.",
        ) from error


def _link(source: Path, root: Path) -> None:
    for file in (file for entry in catalog() for file in entry.files):
        if (source / file.path).is_file() and not (root / file.path).exists():
            target = root / file.path
            make_private_folder(target.parent)
            with adding(root) as work:  # others may link it at this moment
                fresh = work / "link"
                fresh.symlink_to(source / file.path)
                fresh.replace(target)


def is_bundled(path: Path) -> bool:
    """Say whether a file of the models folder, or one in a folder there, is a link to what a package brought."""
    return any(
        file.is_symlink() and file.readlink().is_relative_to(bundled_folder())
        for file in (path, *(path.rglob("*") if path.is_dir() else ()))
    )
