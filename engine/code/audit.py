"""The guard that works everywhere: an audit hook that refuses what is not computing. Standard library only.

It stops honest and careless code and says why. On its own it does not stop code written to break out of Python, which
is why Linux adds models.fence.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection
from typing import Any

ALLOWED = frozenset(
    {
        "import", "exec", "compile", "marshal.load", "marshal.loads", "marshal.dumps", "code.__new__",
        "function.__new__", "object.__getattr__", "object.__setattr__", "object.__delattr__", "builtins.id",
        "sys._getframe", "sys._current_frames", "sys.unraisablehook", "sys.excepthook", "array.__new__",
        "pickle.find_class", "time.sleep", "gc.get_objects", "gc.get_referrers", "gc.get_referents", "os.walk",
        "os.fwalk", "glob.glob", "pathlib.Path.glob", "pathlib.Path.rglob", "cpython._PySys_ClearAuditHooks",
        "sys.settrace", "sys.setprofile",
    }
)  # fmt: skip
"""Events of computing; the reading of files is looked at one by one, all other events are refused."""

DENIED_MODULES = frozenset({"ctypes", "_ctypes"})
"""Modules that reach past Python, and so past this guard."""

_READING = frozenset({"open", "os.listdir", "os.scandir"})
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def refuse_all_but_computing(readable: Collection[str]) -> None:
    """Refuse from now on, for the life of this process, whatever is not computing or reading below `readable`."""
    sys.addaudithook(_hook(tuple(os.path.realpath(folder) for folder in readable)))


def _hook(folders: tuple[str, ...]) -> Callable[[str, tuple[Any, ...]], None]:
    realpath, separator = os.path.realpath, os.sep

    def is_readable(path: Any, flags: Any) -> bool:
        if not isinstance(path, str) or (isinstance(flags, int) and flags & _WRITING):
            return False
        real = realpath(path)
        return any(real == folder or real.startswith(folder + separator) for folder in folders)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _READING:
            path, flags = arguments[0], arguments[2] if event == "open" else 0
            if not is_readable(path, flags):
                raise PermissionError(f"code of a pipeline has no access to files ({event} {path!r})")
        elif event == "import" and str(arguments[0]).partition(".")[0] in DENIED_MODULES:
            raise PermissionError(f"code of a pipeline may not import {arguments[0]}")
        elif event not in ALLOWED:
            raise PermissionError(f"code of a pipeline may compute, nothing else ({event} is refused)")

    return hook
