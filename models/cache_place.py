"""Where models and what is remembered of them are kept on this machine."""

from __future__ import annotations

import errno
import json
import os
import stat
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from platformdirs import user_cache_path

from models.errors import ModelError
from models.paths import expanded


def cache_folder() -> Path:
    """Return the per-user cache: REDWELL_CACHE if set, else the system's place for caches."""
    if value := os.environ.get("REDWELL_CACHE"):
        return expanded(value).resolve()
    return user_cache_path("redwell", appauthor=False)


def models_folder() -> Path:
    """Return where weights are kept; it may not exist yet."""
    return cache_folder() / "models"


def made_models_folder() -> Path:
    """Return where weights are kept, made where it was missing; raises ModelError where it cannot be written."""
    root = models_folder()
    try:
        make_private_folder(root)
        if not os.access(root, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise ModelError(
            f"{root} cannot be written: {error.strerror}", advice="Set REDWELL_CACHE to a folder that can be written."
        ) from error
    return root


def bundled_folder() -> Path:
    """Return where a package keeps the models that it brings; most installations have no such folder."""
    return Path(sys.prefix) / "share" / "redwell-models"


def make_private_folder(folder: Path) -> Path:
    """Make a folder, and those above it that are missing, for their owner alone, whatever the umask; return it.

    One that is there and ours is closed to others, and so is the cache that it lies in: what was read lies there. A
    folder that was made for many (one with the sticky bit, or a home) stays as it is. Raises OSError.
    """
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(mode=_PRIVATE, exist_ok=True)
    cache = cache_folder()
    for path in {folder, *((cache,) if cache in folder.parents and cache.is_dir() else ())}:
        _close_to_others(path)
    return folder


def write_private(file: Path, text: str) -> None:
    """Keep a text in the cache, in place of an earlier one; raises ModelError where it cannot be written."""
    try:
        make_private_folder(file.parent)
        # A place of its own: another command may write the same file at this moment.
        with tempfile.TemporaryDirectory(dir=file.parent, prefix=".writing-") as work:
            part = Path(work) / file.name
            part.write_text(text, encoding="utf-8", errors="surrogateescape")  # names of files may be no Unicode
            part.replace(file)
    except OSError as error:
        raise ModelError(f"{file} cannot be written: {error.strerror}", advice="Set REDWELL_CACHE.") from error


def noted(name: str) -> dict[str, Any]:
    """Return what is noted in a file of the cache, a JSON object; empty where there is none, or it is damaged."""
    try:
        body = json.loads((cache_folder() / name).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return body if isinstance(body, dict) else {}


def note(name: str, key: str, value: Any) -> None:
    """Note a value under a key in a file of the cache, in place of an earlier one; raises ModelError."""
    write_private(cache_folder() / name, json.dumps({**noted(name), key: value}, indent=1) + "\n")


def _close_to_others(folder: Path) -> None:
    if sys.platform == "win32":
        return
    state = folder.stat()
    is_for_many = state.st_mode & stat.S_ISVTX or folder == Path.home()
    if state.st_uid == os.geteuid() and state.st_mode & _OF_OTHERS and not is_for_many:
        folder.chmod(stat.S_IMODE(state.st_mode) & _PRIVATE)


_PRIVATE: Final = 0o700
_OF_OTHERS: Final = 0o077
