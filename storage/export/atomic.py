"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from storage.errors import DiskFull, ExportError
from storage.files import flush, make_private

LONGEST_SECONDS: Final = 24 * 3600
"""No export takes so long: what was begun earlier was left by one that was killed."""
_TEMPORARIES: Final = f".redwell-{'[0-9a-f]' * 12}.tmp*"


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
    except OSError as error:
        raise _explained(error, path) from error
    # The name does not grow with the target's, which may be as long as the file system allows.
    temporary = path.with_name(f".redwell-{secrets.token_hex(6)}.tmp")
    try:
        make_private(temporary)
        _remove_leftovers(temporary)
        yield temporary
        flush(temporary)
        temporary.replace(path)
    except OSError as error:
        raise _explained(error, path) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def _remove_leftovers(own: Path) -> None:
    """Remove what exports that were killed left beside a file that was just made; its time is that of the disk."""
    now = own.stat().st_mtime
    for path in own.parent.glob(_TEMPORARIES):
        with contextlib.suppress(OSError):  # somebody else removed it, or it is not ours to remove
            if now - path.stat().st_mtime > LONGEST_SECONDS:
                path.unlink()


def _check_target(path: Path) -> None:
    if path.exists() and not path.is_file():
        raise ExportError(f"{path} is not a file that can be replaced", advice="Name a file, such as results.csv.")
    if not path.parent.is_dir():
        raise ExportError(f"there is no folder {path.parent} to write {path.name} in", advice="Make the folder first.")


def _explained(error: OSError, path: Path) -> Exception:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return DiskFull(f"{path} was not written: {error.strerror}; the earlier file, if any, is unchanged")
    advice = "Choose another place with --out."
    if isinstance(error, PermissionError):
        advice = "Close the file in other programs, check that you may write to its folder, or choose another place."
    return ExportError(f"{path} was not written: {error.strerror or error}", advice=advice)
