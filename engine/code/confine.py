"""Confine this process before code of a pipeline runs in it. Standard library only.

Where Linux has both, Landlock decides which files can be read (Python's own library) and seccomp which system calls
can be made at all. Without Landlock no file can be opened, so common modules are imported beforehand. On any other
system the audit hook is alone, which is a fence and no wall.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

_RESERVED_BYTES = 128 * 2**20
"""Address space that the interpreter and its libraries take before the code has done anything."""

_FILES_AT_ONCE = 32
_TIME_ZONES = "/usr/share/zoneinfo"
_WITH_LIBRARIES = (
    "hashlib", "zlib", "bz2", "lzma", "pyexpat", "decimal", "uuid", "random", "_strptime", "encodings.idna",
    "unicodedata",
)  # fmt: skip
"""Modules that load system libraries, or that others load late."""

_COMMON = (
    "base64", "bisect", "calendar", "cmath", "collections", "copy", "csv", "dataclasses", "datetime", "difflib",
    "email.utils", "enum", "fnmatch", "fractions", "functools", "heapq", "html.parser", "itertools", "json", "math",
    "operator", "pprint", "re", "secrets", "statistics", "string", "textwrap", "time", "types", "typing",
    "urllib.parse", "xml.etree.ElementTree",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one process may use: address space, and processor seconds in all its life."""

    memory_bytes: int
    cpu_seconds: int


def confine(bounds: Bounds, attempt: Callable[[], object] = lambda: None) -> list[str]:
    """Confine this process for good; return the names of the guards that are up.

    `attempt` is called when they are, but on Linux before the audit hook, which would answer in place of the kernel.
    Raises OSError when a guard that should be there cannot be put up.
    """
    readable = [folder for folder in (*sys.path, _TIME_ZONES) if os.path.isdir(folder)]  # noqa: PTH112 - in the child
    _import(_WITH_LIBRARIES)
    guards = _limit(bounds)
    if sys.platform == "linux":
        guards += _confine_linux(readable)
        attempt()
    _forget_foreign_calls()
    refuse_all_but_computing(readable)
    if sys.platform != "linux":
        attempt()
    return [*guards, "audit"]


def _confine_linux(readable: list[str]) -> list[str]:
    # No other system needs these.
    from models.fence.landlock import allow_only, landlock_version  # noqa: PLC0415
    from models.fence.process import die_with_parent, harden  # noqa: PLC0415
    from models.fence.seccomp import allow_only_computing, give_up_privileges, seccomp_is_known  # noqa: PLC0415

    die_with_parent()
    harden()
    give_up_privileges()
    guards = []
    if landlock_version():
        allow_only(readable)
        guards.append("landlock")
    if seccomp_is_known():
        _import(() if guards else _COMMON)
        allow_only_computing(reading=bool(guards))
        guards.append("seccomp")
    return guards


def _limit(bounds: Bounds) -> list[str]:
    try:
        import resource  # noqa: PLC0415 - does not exist on Windows
    except ImportError:
        return []
    wanted = {
        resource.RLIMIT_AS: bounds.memory_bytes + _RESERVED_BYTES,
        resource.RLIMIT_CPU: bounds.cpu_seconds,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NOFILE: _FILES_AT_ONCE,
        resource.RLIMIT_NPROC: 0,
    }
    for which, value in wanted.items():
        with contextlib.suppress(OSError, ValueError):  # macOS takes no limit of address space; the parent watches
            resource.setrlimit(which, (value, value))
    return ["limits"]


def _import(names: tuple[str, ...]) -> None:
    for name in names:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def _forget_foreign_calls() -> None:
    """Make `import ctypes` an import again, so that the audit hook sees and refuses it."""
    for name in [name for name in sys.modules if name.partition(".")[0] in ("ctypes", "_ctypes")]:
        del sys.modules[name]


ALLOWED = frozenset(
    {
        "import", "exec", "compile", "marshal.load", "marshal.loads", "marshal.dumps", "code.__new__",
        "function.__new__", "object.__getattr__", "object.__setattr__", "object.__delattr__", "builtins.id",
        "sys._getframe", "sys._getframemodulename", "sys._current_frames", "sys.unraisablehook", "sys.excepthook",
        "array.__new__", "pickle.find_class", "time.sleep", "gc.get_objects", "gc.get_referrers", "gc.get_referents",
        "os.walk", "os.fwalk", "glob.glob", "pathlib.Path.glob", "pathlib.Path.rglob", "cpython._PySys_ClearAuditHooks",
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
