"""Landlock of Linux 5.13 and later: from now on this process may open nothing but files below some folders.

Standard library only. Numbers are those of the kernel's headers (linux/landlock.h); a later version of the interface
knows more kinds of access, and all it knows are taken away.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Collection

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG = 1
_PATH_BENEATH = 1
_READ = 1 << 2 | 1 << 3  # files and folders
_FILE_ACCESS = {1: 13, 2: 14, 3: 15, 4: 15}
"""Version of the interface -> how many kinds of access to files it knows; 16 from version 5 on."""


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _Rule(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


def landlock_version() -> int:
    """Return the version of the kernel's interface; 0 when there is none."""
    if sys.platform != "linux":
        return 0
    version: int = ctypes.CDLL(None).syscall(_CREATE_RULESET, None, 0, _VERSION_FLAG)
    return max(0, version)


def read_only_below(folders: Collection[str]) -> None:
    """Allow this process, which must have `no_new_privs`, to read below `folders`, and no other file or connection.

    Raises OSError when the kernel refuses.
    """
    version = landlock_version()
    rules = _Ruleset(files=(1 << _FILE_ACCESS.get(version, 16)) - 1, network=0b11, scoped=0b11)
    size = 8 if version < 4 else 16 if version < 6 else 24
    ruleset = _call(_CREATE_RULESET, ctypes.byref(rules), ctypes.c_size_t(size), 0)
    for folder in folders:
        descriptor = os.open(folder, os.O_PATH | os.O_CLOEXEC)
        _call(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(_Rule(_READ, descriptor)), 0)
        os.close(descriptor)
    _call(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def _call(*arguments: object) -> int:
    result: int = ctypes.CDLL(None, use_errno=True).syscall(*arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), "Landlock refused")
    return result
