"""Fence this process, and say how a process is fenced. Standard library only."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import signal
import site
import sys
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from models.errors import NetworkRefused
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

_GRAPHICS_CARDS = ("/dev/nvidiactl", "/dev/dri", "/dev/kfd")


@dataclass(frozen=True, slots=True)
class Fence:
    """What the kernel refuses to a process. `why` says what is missing, and is empty where nothing is."""

    pid: int
    network: bool
    why: str = ""


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


def fence_of(pid: int) -> Fence:
    """Say how a process of ours is fenced, as the kernel tells it; one that has ended counts as fenced by nothing."""
    if not seccomp_is_known():
        return Fence(pid, False, f"this system ({sys.platform}) has no seccomp")
    try:
        text = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except OSError as error:
        return Fence(pid, False, f"it cannot be looked at: {error.strerror}")
    fields = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    if fields.get("Seccomp", "").strip() == "2":
        return Fence(pid, True)
    return Fence(pid, False, "it was started with the network allowed")


def own_fence() -> Fence:
    """Say how this process is fenced."""
    return fence_of(os.getpid())
