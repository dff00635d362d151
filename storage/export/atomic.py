"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

from storage.errors import DiskFull, ExportError
from storage.files import flush, make_temporary


@contextlib.contextmanager
def replacing(target: str | os.PathLike[str]) -> Iterator[Path]:
    """Lend a path beside `target` to write to; rename it to `target` when the block ends well, else remove it.

    The file is its owner's alone, whatever rights an earlier one had. A link is followed, so the file it names is
    replaced. Raises ExportError when the folder is missing or cannot be written, when the target is open in a program
    that locks it, or is no regular file; DiskFull when space ends.
    """
    path = Path(os.path.realpath(target))
    try:
        _check_target(path)
        temporary = make_temporary(path.parent)
    except OSError as error:
        raise _explained(error, path) from error
    try:
        yield temporary
        flush(temporary)
        temporary.replace(path)
    except OSError as error:
        raise _explained(error, path) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def _check_target(path: Path) -> None:
    if path.exists() and not path.is_file():
        raise ExportError(f"{path} is not a file that can be replaced", advice="Name a file, such as results.csv.")
    if not path.parent.is_dir():
        raise ExportError(f"there is no folder {path.parent} to write {path.name} in", advice="Make the folder first.")


def _explained(error: OSError, path: Path) -> Exception:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return DiskFull(f"{path} was not written: {error.strerror}; the earlier file, if any, is unchanged")
    advice = "Choose another place."
    if isinstance(error, PermissionError):
        advice = "Close the file in other programs, check that you may write to its folder, or choose another place."
    return ExportError(f"{path} was not written: {error.strerror or error}", advice=advice)
