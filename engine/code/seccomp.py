"""A seccomp filter for Linux: from now on this process may make only the system calls that computing needs.

Standard library only. The filter is a list: what is not on it fails with "operation not permitted", so there is no
socket, no other process, no thread and no writing to files, whatever the code does to the interpreter.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys
from collections.abc import Iterator

_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
"""Machine -> its column in the table below, and the audit architecture of the kernel."""

_CALLS: dict[str, tuple[int | None, int | None]] = {
    "read": (0, 63), "write": (1, 64), "close": (3, 57), "stat": (4, None), "fstat": (5, 80), "lstat": (6, None),
    "poll": (7, None), "lseek": (8, 62), "mmap": (9, 222), "mprotect": (10, 226), "munmap": (11, 215),
    "brk": (12, 214), "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139),
    "pread64": (17, 67), "readv": (19, 65), "writev": (20, 66), "access": (21, None), "select": (23, None),
    "sched_yield": (24, 124), "mremap": (25, 216), "madvise": (28, 233), "nanosleep": (35, 101),
    "getpid": (39, 172), "exit": (60, 93), "uname": (63, 160), "getcwd": (79, 17), "readlink": (89, None),
    "gettimeofday": (96, 169), "getrusage": (98, 165), "sysinfo": (99, 179), "times": (100, 153),
    "getuid": (102, 174), "getgid": (104, 176), "geteuid": (107, 175), "getegid": (108, 177),
    "getppid": (110, 173), "sigaltstack": (131, 132), "gettid": (186, 178), "time": (201, None),
    "futex": (202, 98), "sched_getaffinity": (204, 123), "getdents64": (217, 61), "restart_syscall": (219, 128),
    "clock_gettime": (228, 113), "clock_getres": (229, 114), "clock_nanosleep": (230, 115),
    "exit_group": (231, 94), "newfstatat": (262, 79), "readlinkat": (267, 78), "faccessat": (269, 48),
    "pselect6": (270, 72), "ppoll": (271, 73), "getrandom": (318, 278), "membarrier": (324, 283),
    "statx": (332, 291), "rseq": (334, 293), "faccessat2": (439, 439),
}  # fmt: skip
"""Allowed with any arguments; by name, the numbers of x86_64 and aarch64."""

_OPEN, _OPENAT, _IOCTL, _TGKILL = (2, None), (257, 56), (16, 29), (234, 131)
_IS_TERMINAL, _CLOSE_ON_EXEC = 0x5401, 0x5451
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050001, 0x80000000
_X32 = 0x40000000
_SET_SECCOMP, _FILTER_MODE = 22, 2

Instruction = tuple[int, int, int, int]


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def seccomp_is_known() -> bool:
    """Say whether there is a filter for this machine."""
    return sys.platform == "linux" and platform.machine() in _MACHINES


def allow_only_computing(*, reading: bool) -> None:
    """Install the filter for this process, which must have `no_new_privs`; raises OSError when the kernel refuses.

    `reading`: files may be opened to read, for something else decides which. Without it none can be opened.
    """
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in _filter(reading))
    buffer = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_SET_SECCOMP, _FILTER_MODE, ctypes.byref(program), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp refused")


def _filter(reading: bool) -> list[Instruction]:
    column, architecture = _MACHINES[platform.machine()]
    return [
        (_LOAD, 0, 0, 4),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, 0),
        (_AT_LEAST, 0, 1, _X32),
        (_RETURN, 0, 0, _REFUSE),
        *_allowed(column),
        *(_opening(_OPEN[column], 1) if reading else ()),
        *(_opening(_OPENAT[column], 2) if reading else ()),
        *_one_of(_IOCTL[column], 1, (_IS_TERMINAL, _CLOSE_ON_EXEC)),
        *_one_of(_TGKILL[column], 0, (os.getpid(),)),
        (_RETURN, 0, 0, _REFUSE),
    ]


def _allowed(column: int) -> Iterator[Instruction]:
    for numbers in _CALLS.values():
        if (number := numbers[column]) is not None:
            yield from ((_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ALLOW))


def _opening(number: int | None, flags: int) -> Iterator[Instruction]:
    """Allow a call whose argument `flags` (from 0) asks for no writing."""
    if number is not None:
        yield (_EQUAL, 0, 4, number)
        yield (_LOAD, 0, 0, _argument(flags))
        yield (_ANY_BIT, 0, 1, _WRITING)
        yield (_RETURN, 0, 0, _REFUSE)
        yield (_RETURN, 0, 0, _ALLOW)


def _one_of(number: int | None, argument: int, values: tuple[int, ...]) -> Iterator[Instruction]:
    """Allow a call whose argument is one of some values; ends with a refusal, so nothing may need the number after."""
    if number is not None:
        yield (_EQUAL, 0, 2 + 2 * len(values), number)
        yield (_LOAD, 0, 0, _argument(argument))
        for value in values:
            yield from ((_EQUAL, 0, 1, value), (_RETURN, 0, 0, _ALLOW))
        yield (_RETURN, 0, 0, _REFUSE)


def _argument(index: int) -> int:
    """Return where the lower half of an argument stands in the data that a filter sees (little endian)."""
    return 16 + 8 * index
