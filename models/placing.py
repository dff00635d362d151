"""Put model files into the models folder and take them out: room on the disk, links and copies."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from models.errors import ModelError

SPARE_BYTES = 64 * 1024 * 1024
"""Room kept free on the disk beside the model itself."""

MORE_ROOM = "Free some disk space, or set REDWELL_CACHE to a folder on a larger disk."


def require_space(root: Path, needed_bytes: int) -> None:
    """Raise ModelError unless the disk has room for so many bytes more."""
    free = shutil.disk_usage(root).free
    if needed_bytes + SPARE_BYTES > free:
        raise ModelError(
            f"{root} has {free / 1e6:,.0f} MB free, and {(needed_bytes + SPARE_BYTES) / 1e6:,.0f} MB are needed",
            advice=MORE_ROOM,
        )


@contextmanager
def staged(source: Path, root: Path) -> Iterator[Path]:
    """Put a file into a hidden folder of the models: a link where the disk is the same, else a copy."""
    with tempfile.TemporaryDirectory(dir=root, prefix=".adding-") as work:
        fresh = Path(work) / "weights"
        place_copy(source, fresh, root)
        yield fresh


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
