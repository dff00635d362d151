"""Landlock of Linux 5.13 and later: from now on this process may open nothing but files below some folders.

Standard library only. Numbers are those of the kernel's headers (linux/landlock.h); a later version of the interface
knows more kinds of access, and all it knows are taken away.
"""

from __future__ import annotations

import ctypes
import os
import stat
import sys
from collections.abc import Collection

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG = 1
_PATH_BENEATH = 1
_READ_FILE, _READ_FOLDER, _WRITE_FILE, _TRUNCATE, _DEVICE_CONTROL = 1 << 2, 1 << 3, 1 << 1, 1 << 14, 1 << 15
_REMOVE, _MAKE_FOLDER, _MAKE_FILE, _MOVE = 1 << 4 | 1 << 5, 1 << 7, 1 << 8, 1 << 13
_READ = _READ_FILE | _READ_FOLDER
_OF_FILES = _READ_FILE | _WRITE_FILE | _TRUNCATE | _DEVICE_CONTROL
"""The kinds of access that a rule about a file, not a folder, may have."""

_WRITE = _WRITE_FILE | _TRUNCATE | _REMOVE | _MAKE_FOLDER | _MAKE_FILE | _MOVE
"""Neither links, sockets, pipes nor devices can be made."""

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


def allow_only(readable: Collection[str], writable: Collection[str] = (), devices: Collection[str] = ()) -> None:
    """Allow this thread, and threads and processes it makes from now on, these files and no other, nor a connection.

    Read what is at or below `readable`; read, write, make and remove what is at or below `writable`; read, write and
    control `devices`. Paths that do not exist are left out. The process must have `no_new_privs`. Raises OSError
    when the kernel refuses.
    """
    version = landlock_version()
    known = (1 << _FILE_ACCESS.get(version, 16)) - 1
    rules = _Ruleset(files=known, network=0b11, scoped=0b11)
    size = 8 if version < 4 else 16 if version < 6 else 24
    ruleset = _call(_CREATE_RULESET, ctypes.byref(rules), ctypes.c_size_t(size), 0)
    control = _READ | _WRITE_FILE | _DEVICE_CONTROL
    for paths, access in ((readable, _READ), (writable, _READ | _WRITE), (devices, control)):
        for path in paths:
            _allow(ruleset, path, access & known)
    _call(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def _allow(ruleset: int, path: str, access: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        allowed = access if is_folder else access & _OF_FILES
        _call(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(_Rule(allowed, descriptor)), 0)
    finally:
        os.close(descriptor)


def _call(*arguments: object) -> int:
    result: int = ctypes.CDLL(None, use_errno=True).syscall(*arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), "Landlock refused")
    return result
