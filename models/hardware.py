"""What this machine offers: cores, memory, CPU features, graphics cards. Imports no runtime and starts none.

Limits that a container or a batch system sets (CPU affinity, control groups) count as the machine.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import psutil

CGROUP = Path("/sys/fs/cgroup")
CPUINFO = Path("/proc/cpuinfo")
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

    system: str
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


def estimate_memory(
    *, weights_bytes: int, kv_bytes_per_token: int, vocabulary_size: int, cells: int, available_bytes: int
) -> MemoryEstimate:
    """Estimate the memory of a model with `cells` tokens of KV cache.

    The work space is dominated by the logits of one batch: 512 tokens x vocabulary x 4 bytes.
    """
    compute = COMPUTE_BASE_BYTES + COMPUTE_BATCH_TOKENS * vocabulary_size * 4 if vocabulary_size else 0
    return MemoryEstimate(weights_bytes, kv_bytes_per_token * cells, compute, available_bytes)


def inspect_hardware() -> Hardware:
    """Look at this machine (a few milliseconds; some more where an NVIDIA card answers)."""
    memory = psutil.virtual_memory()
    limit, used = cgroup_memory(CGROUP)
    name, features = read_cpu(CPUINFO)
    cores = usable_cores()
    return Hardware(
        system=platform.system(),
        machine=platform.machine(),
        cpu_name=name or platform.processor(),
        cores=cores,
        physical_cores=psutil.cpu_count(logical=False) or cores,
        memory_bytes=min(memory.total, limit) if limit else memory.total,
        available_bytes=min(memory.available, max(0, limit - used)) if limit else memory.available,
        cpu_features=features,
        gpus=find_gpus(),
    )


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


def cgroup_memory(root: Path) -> tuple[int, int]:
    """Return the memory limit of a control group and what is used of it, in bytes; (0, 0) when unlimited."""
    for limit, usage in (
        (root / "memory.max", root / "memory.current"),
        (root / "memory" / "memory.limit_in_bytes", root / "memory" / "memory.usage_in_bytes"),
    ):
        text = _read(limit)
        if text.isdigit() and int(text) < 2**60:  # version 1 writes a huge number for "none"
            used = _read(usage)
            return int(text), int(used) if used.isdigit() else 0
    return 0, 0


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
