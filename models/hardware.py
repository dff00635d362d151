"""What this machine offers: cores, memory, CPU features, graphics cards. Imports no runtime and starts none.

Limits that a container or a batch system sets (CPU affinity, control groups) count as the machine.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import psutil

CGROUP = Path("/sys/fs/cgroup")
CGROUP_MEMBERSHIP = Path("/proc/self/cgroup")
CPUINFO = Path("/proc/cpuinfo")
VMSTAT = Path("/proc/vmstat")
COMPUTE_BATCH_TOKENS = 512
COMPUTE_BASE_BYTES = 64 * 1024**2


@dataclass(frozen=True, slots=True)
class Gpu:
    """A graphics card that a runtime could use. `memory_bytes` is 0 when it shares the machine's.

    `free_bytes` is what other programs leave of it now.
    """

    name: str
    memory_bytes: int
    interface: str
    free_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Hardware:
    """A machine. `cores` are those this process may use; `memory_bytes` is the smaller of RAM and limit."""

    machine: str
    cpu_name: str
    cores: int
    physical_cores: int
    memory_bytes: int
    available_bytes: int
    cpu_features: frozenset[str]
    gpus: tuple[Gpu, ...]

    @property
    def threads(self) -> int:
        """Recommend a number of threads: one per physical core, for inference gains nothing from more."""
        return max(1, min(self.cores, self.physical_cores))


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """What a model needs before it is loaded: weights, KV cache and work space, in bytes."""

    weights_bytes: int
    kv_bytes: int
    compute_bytes: int
    available_bytes: int

    @property
    def needed_bytes(self) -> int:
        """Return the sum."""
        return self.weights_bytes + self.kv_bytes + self.compute_bytes

    @property
    def fits(self) -> bool:
        """Say whether it is to be had now."""
        return self.needed_bytes <= self.available_bytes


def inspect_hardware() -> Hardware:
    """Look at this machine (a few milliseconds; some more where an NVIDIA card answers)."""
    memory_bytes, available_bytes = machine_memory()
    name, features = read_cpu(CPUINFO)
    cores = usable_cores()
    return Hardware(
        machine=platform.machine(),
        cpu_name=name or platform.processor(),
        cores=cores,
        physical_cores=psutil.cpu_count(logical=False) or cores,
        memory_bytes=memory_bytes,
        available_bytes=available_bytes,
        cpu_features=features,
        gpus=find_gpus(),
    )


def machine_memory() -> tuple[int, int]:
    """Return the bytes there are and those free now: of the machine, or of the control group if that has less."""
    memory = psutil.virtual_memory()
    limit, used = cgroup_memory(CGROUP)
    if not limit:
        return memory.total, memory.available
    return min(memory.total, limit), min(memory.available, max(0, limit - used))


def usable_cores() -> int:
    """Count the cores this process may use: affinity and control-group quota respected, at least 1."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = cgroup_cores(CGROUP)
    return max(1, min(cores, quota)) if quota else cores


def read_cpu(cpuinfo: Path) -> tuple[str, frozenset[str]]:
    """Return the first core's name and feature flags; empty where the system has no such file."""
    try:
        text = cpuinfo.read_text(errors="replace")
    except OSError:
        return "", frozenset()
    fields: dict[str, str] = {}
    for line in text.splitlines():
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
    flags = fields.get("flags") or fields.get("Features") or ""
    return fields.get("model name", ""), frozenset(flags.split())


def cgroup_cores(root: Path) -> int:
    """Return the whole cores a control group (version 2 or 1) allows, rounded up; 0 when unlimited."""
    words = _read(root / "cpu.max").split() or [
        _read(root / "cpu" / "cpu.cfs_quota_us"),
        _read(root / "cpu" / "cpu.cfs_period_us"),
    ]
    if len(words) != 2 or not words[0].isdigit() or not words[1].isdigit() or int(words[1]) == 0:
        return 0
    return -(-int(words[0]) // int(words[1]))


def cgroup_memory(root: Path, membership: Path = CGROUP_MEMBERSHIP) -> tuple[int, int]:
    """Return limit and use, in bytes, of the control group of ours that has least left; (0, 0) when unlimited.

    Files that the system only keeps in memory while nothing needs the room do not count as used.
    """
    limited = [memory for folder in memory_groups(root, membership) if (memory := _group_memory(folder))[0]]
    return min(limited, key=lambda memory: memory[0] - memory[1], default=(0, 0))


def memory_groups(root: Path, membership: Path = CGROUP_MEMBERSHIP) -> list[Path]:
    """List the folders of the control groups that this process is in, from its own to the root (version 2 and 1)."""
    groups = {"": "", "memory": ""}
    for line in _read(membership).splitlines():
        _, controllers, path = (line.split(":", 2) + ["", ""])[:3]
        for name in controllers.split(","):
            # Seen from a container the path may lead elsewhere: then only the root is looked at.
            if name in groups and ".." not in path:
                groups[name] = path.strip("/")
    paths = [(root / name, PurePosixPath(path)) for name, path in groups.items()]
    return [base / group for base, path in paths for group in (path, *path.parents)]


def _group_memory(folder: Path) -> tuple[int, int]:
    for limit, usage, prefix in (
        ("memory.max", "memory.current", ""),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_"),
    ):
        text = _read(folder / limit)
        if text.isdigit() and int(text) < 2**60:  # version 1 writes a huge number for "none"
            used = _read(folder / usage)
            files = sum(_counts(folder / "memory.stat", f"{prefix}inactive_file", f"{prefix}active_file"))
            return int(text), max(0, int(used) - files) if used.isdigit() else 0
    return 0, 0


def memory_kills(root: Path = CGROUP, membership: Path = CGROUP_MEMBERSHIP, vmstat: Path = VMSTAT) -> int:
    """Count the processes that the system has killed for want of memory: here, and in our control groups."""
    groups = memory_groups(root, membership)
    files = [vmstat, *(folder / name for folder in groups for name in ("memory.events", "memory.oom_control"))]
    return sum(sum(_counts(file, "oom_kill")) for file in files)


def _counts(path: Path, *names: str) -> list[int]:
    """Read the numbers of these names from a file of `name number` lines."""
    pairs = (line.split() for line in _read(path).splitlines())
    return [int(pair[1]) for pair in pairs if len(pair) == 2 and pair[0] in names and pair[1].isdigit()]


def find_gpus() -> tuple[Gpu, ...]:
    """Name the graphics cards a runtime could use: NVIDIA's by its own tool, Metal on Apple silicon.

    Cards that CUDA_VISIBLE_DEVICES hides are none: no runtime sees them.
    """
    if platform.system() == "Darwin" and platform.machine() == "arm64":
        return (Gpu("Apple silicon", 0, "metal"),)
    tool = shutil.which("nvidia-smi")
    if not tool:
        return ()
    try:
        answer = subprocess.run(
            [tool, "--query-gpu=index,uuid,name,memory.total,memory.free", "--format=csv,noheader,nounits"],
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    return parse_nvidia(answer.stdout, visible) if answer.returncode == 0 else ()


def parse_nvidia(text: str, visible: str | None = None) -> tuple[Gpu, ...]:
    """Read `index, uuid, name, total MiB, free MiB` lines; others (a driver's complaint) are no card.

    `visible` is the value of CUDA_VISIBLE_DEVICES: numbers or beginnings of UUIDs, and none from the first on that
    names no card; None shows all.
    """
    cards = {}
    for line in text.splitlines():
        fields = [field.strip() for field in line.split(",")]
        if len(fields) == 5 and fields[3].isdecimal() and fields[4].isdecimal():
            index, uuid, name, total, free = fields
            cards[index, uuid] = Gpu(name, int(total) * 1024**2, "cuda", int(free) * 1024**2)
    if visible is None:
        return tuple(cards.values())
    chosen = []
    for wanted in (word.strip() for word in visible.split(",")):
        card = next((c for (index, uuid), c in cards.items() if wanted and _is_named(wanted, index, uuid)), None)
        if card is None:
            break
        chosen.append(card)
    return tuple(chosen)


def _is_named(wanted: str, index: str, uuid: str) -> bool:
    return wanted == index or (wanted.startswith("GPU-") and uuid.startswith(wanted))


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
