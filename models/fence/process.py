"""Fence this process, and say how a process is fenced. Standard library only."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import platform
import signal
import site
import sys
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from models.errors import NetworkRefused
from models.fence.attempt import try_socket
from models.fence.landlock import allow_only, landlock_version
from models.fence.seccomp import give_up_privileges, refuse_all_but_reading, refuse_network, seccomp_is_known

_DIE_WITH_PARENT, _DUMPABLE = 1, 4

_ROOT = Path(__file__).resolve().parents[2]
_PACKAGES = ("desktop", "engine", "models", "storage")

_SYSTEM = (
    "/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/nix/store", "/gnu/store",
    "/etc/ld.so.cache", "/etc/localtime", "/etc/timezone", "/etc/mime.types", "/etc/fonts", "/etc/ssl/openssl.cnf",
    "/etc/nsswitch.conf", "/etc/passwd", "/etc/alternatives",
    "/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/vmstat", "/proc/stat", "/proc/filesystems",
    "/proc/sys/vm", "/proc/sys/kernel",
    "/sys/devices/system", "/sys/devices/virtual/dmi", "/sys/fs/cgroup", "/sys/kernel/mm",
    "/dev/urandom", "/dev/random", "/dev/zero",
)  # fmt: skip
"""What programs read to run at all. Nothing of a user's, and nothing of another process, is among it."""

_ALLOWED = "it was started with the network allowed"
_FILTERS = "Seccomp_filters"
_put_up: list[str] = []
"""The filters that this process has put up itself, as the kernel took them."""

_GRAPHICS_CARDS = ("/dev/nvidiactl", "/dev/dri", "/dev/kfd")


@dataclass(frozen=True, slots=True)
class Fence:
    """Whether the kernel refuses the network to a process; if not, `why`. Without `is_known` nobody could tell."""

    pid: int
    network: bool
    why: str = ""
    is_known: bool = True


def harden() -> None:
    """Keep other programs of the same user out of this process's memory, and its memory out of core dumps.

    On Linux by PR_SET_DUMPABLE 0 (root still can); elsewhere core dumps alone are turned off. Raises nothing.
    """
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource  # noqa: PLC0415 - does not exist on Windows

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DUMPABLE, 0, 0, 0, 0)


def die_with_parent() -> None:
    """Ask Linux to kill this process when its parent ends; elsewhere nothing happens."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)


def fence_network() -> bool:
    """Refuse the network to this process and all that it starts, for good; False where the kernel cannot.

    Raises OSError when a kernel that could refuses the filter.
    """
    if not seccomp_is_known():
        return False
    refuse_network()
    _put_up.append("network")
    return True


def cage(readable: Collection[str], writable: Collection[str] = ()) -> list[str]:
    """Leave this process nothing but reading some files and writing below some folders; return the guards' names.

    It can read Python, its packages, the system's libraries and `readable`, and write below `writable`. It can make no
    socket and start no program, and signal or look into no other process. On systems that have neither seccomp nor
    Landlock nothing is done: the list is empty. Raises OSError when a guard that the kernel has cannot be put up, and
    in a process that has a second thread, which Landlock would not hold.
    """
    if sys.platform != "linux":
        return []
    if len(os.listdir("/proc/self/task")) > 1:  # noqa: PTH208 - cheap
        raise OSError(errno.EBUSY, "this process has a second thread, which could read what it likes")
    give_up_privileges()
    guards = []
    if landlock_version():
        allow_only([*_SYSTEM, *python_folders(), *readable], writable, ["/dev/null"])
        guards.append("landlock")
    if seccomp_is_known():
        refuse_all_but_reading()
        _put_up.append("cage")
        guards.append("seccomp")
    return guards


def need_network(what: str, advice: str) -> None:
    """Raise NetworkRefused where this process is fenced and `what` takes a connection, before a library fails at it."""
    if own_fence().network:
        raise NetworkRefused(f"{what}: this process was started without the network", advice=advice)


def has_graphics_card() -> bool:
    """Return True where there is a device by which a program computes on a graphics card."""
    return any(Path(device).exists() for device in _GRAPHICS_CARDS)


def python_folders() -> list[str]:
    """Return the folders that Python reads modules from; of the folder of our own packages, only these."""
    folders = [path for path in (*sys.path, sys.prefix, sys.base_prefix, sys.exec_prefix) if Path(path).is_absolute()]
    folders += site.getsitepackages()
    is_checkout = _ROOT.name not in ("site-packages", "dist-packages")
    others = [path for path in folders if not (is_checkout and _ROOT.is_relative_to(Path(path).resolve()))]
    return list(dict.fromkeys([*others, *(str(_ROOT / name) for name in _PACKAGES)]))


def missing_guards() -> list[str]:
    """Say what this machine cannot refuse to processes of ours; empty where nothing is missing."""
    missing = []
    if sys.platform != "linux":
        missing.append(f"this system ({sys.platform}) has no seccomp: it keeps no process from the network")
    elif not seccomp_is_known():
        missing.append(
            f"there is no filter for this processor ({platform.machine()}): no process is kept from the network"
        )
    if not landlock_version():
        missing.append("there is no Landlock: a process that reads documents can read all files that you can read")
    if has_graphics_card():
        missing.append("there is a graphics card: the process of a model can read all files that you can read")
    return missing


def own_fence() -> Fence:
    """Say whether the kernel keeps this process from the network.

    It has put up a filter itself, or has none. One that it was started with may be that of a container, so then it asks
    for a socket.
    """
    pid = os.getpid()
    if not seccomp_is_known():
        return Fence(pid, False, _no_filter())
    if _put_up:
        return Fence(pid, True)
    try:
        if _status(pid).get("Seccomp") == "0":
            return Fence(pid, False, _ALLOWED)
        attempt = try_socket()
    except OSError as error:
        return Fence(pid, False, error.strerror or str(error), is_known=False)
    return Fence(pid, True) if attempt.outcome == "kernel" else Fence(pid, False, _ALLOWED)


def fence_of(pid: int) -> Fence:  # noqa: PLR0911 - one return per answer
    """Say how another process of ours is fenced, as far as that can be told from outside.

    A process keeps the filters of the one that started it, so what a fenced process started is fenced. Else it is where
    it has more filters than this process: others than ours, such as those of a container, are in both.
    """
    if pid == os.getpid():
        return own_fence()
    if not seccomp_is_known():
        return Fence(pid, False, _no_filter())
    try:
        fields, own_fields = _status(pid), _status(os.getpid())
    except OSError as error:
        return Fence(pid, False, f"it cannot be looked at: {error.strerror}", is_known=False)
    own_is_fenced = own_fence().network
    if fields.get("Seccomp") == "0":
        return Fence(pid, False, _ALLOWED)
    if own_is_fenced and _is_below(pid, os.getpid()):
        return Fence(pid, True)
    if _FILTERS in fields and int(fields[_FILTERS]) > int(own_fields[_FILTERS]):
        return Fence(pid, True)
    if _FILTERS not in fields or own_is_fenced:
        return Fence(pid, False, "the kernel does not say what its filters refuse", is_known=False)
    return Fence(pid, False, _ALLOWED)


def _no_filter() -> str:
    return missing_guards()[0]


def _status(pid: int) -> dict[str, str]:
    text = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    return {name: value.strip() for name, _, value in (line.partition(":") for line in text.splitlines())}


def _is_below(pid: int, ancestor: int) -> bool:
    """Say whether a process was started by another one, or by what that started; no where it has ended."""
    with contextlib.suppress(OSError):
        while pid > 1:
            if pid == ancestor:
                return True
            pid = int(_status(pid)["PPid"])
    return False
