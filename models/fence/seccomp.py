"""Seccomp filters for Linux: which system calls this process, and all that it starts, may still make.

Standard library only. A filter stays for good and is inherited; several add up, and the strictest answer counts. The
numbers are those of the kernel's headers (x86_64, aarch64).
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from collections.abc import Iterator, Mapping

_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
"""Machine -> its column in the tables below, and the audit architecture of the kernel."""

Numbers = tuple[int | None, int | None]

_COMPUTING: Mapping[str, Numbers] = {
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
"""All that code which only computes needs; allowed with any arguments."""

_REACHING_OTHERS: Mapping[str, Numbers] = {
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "pidfd_getfd": (438, 438),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
}  # fmt: skip
"""Memory and descriptors of other processes, and the interface that makes sockets without the call `socket`."""

_NOT_IN_A_CAGE: Mapping[str, Numbers] = {
    "connect": (42, 203), "accept": (43, 202), "sendmsg": (46, 211), "bind": (49, 200),
    "listen": (50, 201), "socketpair": (53, 199), "accept4": (288, 242), "sendmmsg": (307, 269),
    "fork": (57, None), "vfork": (58, None), "execve": (59, 221), "execveat": (322, 281),
    "kill": (62, 129), "tkill": (200, 130), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240),
    "pidfd_send_signal": (424, 424), "pidfd_open": (434, 434), "process_madvise": (440, 440),
    "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195), "semget": (64, 190), "msgget": (68, 186),
    "msgsnd": (69, 189), "msgrcv": (70, 188), "mq_open": (240, 180),
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "unshare": (272, 97),
    "setns": (308, 268), "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430),
    "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442),
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282), "personality": (135, 92),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219), "init_module": (175, 105),
    "finit_module": (313, 273), "delete_module": (176, 106), "kexec_load": (246, 104),
    "kexec_file_load": (320, 294), "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225),
    "acct": (163, 89), "settimeofday": (164, 170), "clock_settime": (227, 112), "adjtimex": (159, 171),
    "sethostname": (170, 161), "setdomainname": (171, 162), "iopl": (172, None), "ioperm": (173, None),
    "modify_ldt": (154, None), "quotactl": (179, 60),
}  # fmt: skip
"""What a process that only reads files never needs: sockets, other processes, the machine's settings."""

_OPEN, _OPENAT, _IOCTL, _TGKILL, _SENDTO = (2, None), (257, 56), (16, 29), (234, 131), (44, 206)
_SOCKET, _CLONE, _CLONE3, _SECCOMP = (41, 198), (56, 220), (435, 435), (317, 277)
_IS_TERMINAL, _CLOSE_ON_EXEC = 0x5401, 0x5451
_CLONE_THREAD = 0x10000
_UNIX, _NETLINK = 1, 16
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERROR, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_REFUSE = _ERROR | errno.EPERM
_X32 = 0x40000000
_NO_NEW_PRIVILEGES, _FILTER, _ALL_THREADS = 38, 1, 1

Instruction = tuple[int, int, int, int]


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def seccomp_is_known() -> bool:
    """Return True where there is a filter for this machine."""
    return sys.platform == "linux" and platform.machine() in _MACHINES


def allow_only_computing(*, reading: bool) -> None:
    """Allow no call but those that computing needs. Raises OSError when the kernel refuses the filter.

    `reading`: files may be opened to read, for something else decides which. Without it none can be opened.
    """
    column, _ = _MACHINES[platform.machine()]
    _install(
        [
            *_each(column, _COMPUTING, _ALLOW),
            *(_opening(_OPEN[column], 1) if reading else ()),
            *(_opening(_OPENAT[column], 2) if reading else ()),
            *_one_of(_IOCTL[column], 1, (_IS_TERMINAL, _CLOSE_ON_EXEC), _REFUSE),
            *_one_of(_TGKILL[column], 0, (os.getpid(),), _REFUSE),
            (_RETURN, 0, 0, _REFUSE),
        ],
        elsewhere=_KILL,
    )


def refuse_network() -> None:
    """Refuse every socket but those within this machine (AF_UNIX, AF_NETLINK), and other processes' memory.

    A refused `socket` fails with EACCES ("permission denied"). Raises OSError when the kernel refuses the filter.
    """
    column, _ = _MACHINES[platform.machine()]
    _install(
        [
            *_one_of(_SOCKET[column], 0, (_UNIX, _NETLINK), _ERROR | errno.EACCES),
            *_each(column, _REACHING_OTHERS, _REFUSE),
            (_RETURN, 0, 0, _ALLOW),
        ],
        elsewhere=_REFUSE,
    )


def refuse_all_but_reading() -> None:
    """Refuse sockets, programs, other processes and the machine's settings to a process that only reads and computes.

    Threads can still be made. Raises OSError when the kernel refuses the filter.
    """
    column, _ = _MACHINES[platform.machine()]
    _install(
        [
            *_each(column, {"socket": _SOCKET}, _ERROR | errno.EACCES),
            *_each(column, _REACHING_OTHERS, _REFUSE),
            *_each(column, _NOT_IN_A_CAGE, _REFUSE),
            # The C library makes threads by clone3 where there is one, and by clone where there is none.
            *_each(column, {"clone3": _CLONE3}, _ERROR | errno.ENOSYS),
            *_without_address(_SENDTO[column], 4),
            (_EQUAL, 0, 4, _CLONE[column] or 0),
            (_LOAD, 0, 0, _argument(0)),
            (_ANY_BIT, 1, 0, _CLONE_THREAD),
            (_RETURN, 0, 0, _REFUSE),
            (_RETURN, 0, 0, _ALLOW),
            *_one_of(_TGKILL[column], 0, (os.getpid(),), _REFUSE),
            (_RETURN, 0, 0, _ALLOW),
        ],
        elsewhere=_REFUSE,
    )


def _install(rules: list[Instruction], *, elsewhere: int) -> None:
    """Install a filter in all threads; `elsewhere` answers calls made by the interface of another architecture."""
    _, architecture = _MACHINES[platform.machine()]
    program = [
        (_LOAD, 0, 0, 4),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, elsewhere),
        (_LOAD, 0, 0, 0),
        (_AT_LEAST, 0, 1, _X32),
        (_RETURN, 0, 0, _REFUSE),
        *rules,
    ]
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in program)
    buffer = ctypes.create_string_buffer(code, len(code))
    filter_program = _Program(len(program), ctypes.cast(buffer, ctypes.c_void_p))
    libc = ctypes.CDLL(None, use_errno=True)
    give_up_privileges()
    number = _SECCOMP[_MACHINES[platform.machine()][0]]
    if libc.syscall(number, _FILTER, _ALL_THREADS, ctypes.byref(filter_program)) != 0:
        raise OSError(ctypes.get_errno(), "seccomp refused")


def give_up_privileges() -> None:
    """Keep this process and what it starts from ever gaining rights (Linux); the filters need that. Raises OSError."""
    if ctypes.CDLL(None, use_errno=True).prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "the kernel does not let this process give up privileges")


def _each(column: int, calls: Mapping[str, Numbers], answer: int) -> Iterator[Instruction]:
    for numbers in calls.values():
        if (number := numbers[column]) is not None:
            yield from ((_EQUAL, 0, 1, number), (_RETURN, 0, 0, answer))


def _opening(number: int | None, flags: int) -> Iterator[Instruction]:
    """Allow a call whose argument `flags` (from 0) asks for no writing."""
    if number is not None:
        yield (_EQUAL, 0, 4, number)
        yield (_LOAD, 0, 0, _argument(flags))
        yield (_ANY_BIT, 0, 1, _WRITING)
        yield (_RETURN, 0, 0, _REFUSE)
        yield (_RETURN, 0, 0, _ALLOW)


def _one_of(number: int | None, argument: int, values: tuple[int, ...], otherwise: int) -> Iterator[Instruction]:
    """Allow a call whose argument is one of some values, and answer others with `otherwise`."""
    if number is not None:
        yield (_EQUAL, 0, 2 + 2 * len(values), number)
        yield (_LOAD, 0, 0, _argument(argument))
        for value in values:
            yield from ((_EQUAL, 0, 1, value), (_RETURN, 0, 0, _ALLOW))
        yield (_RETURN, 0, 0, otherwise)


def _without_address(number: int | None, argument: int) -> Iterator[Instruction]:
    """Allow a call whose argument, a pointer to an address, is null: it reaches what is connected already, no other.

    An event loop that was made before wakes itself so, through the pair of sockets that it has.
    """
    if number is not None:
        yield (_EQUAL, 0, 6, number)
        for half in (0, 4):
            yield (_LOAD, 0, 0, _argument(argument) + half)
            yield (_EQUAL, 1, 0, 0)
            yield (_RETURN, 0, 0, _REFUSE)
        yield (_LOAD, 0, 0, 0)


def _argument(index: int) -> int:
    """Return where the lower half of an argument stands in the data that a filter sees (little endian)."""
    return 16 + 8 * index
