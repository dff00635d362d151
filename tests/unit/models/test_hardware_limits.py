"""Hardware: what the operating system's own files mean."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from models.hardware import (
    Gpu,
    cgroup_cores,
    cgroup_memory,
    inspect_hardware,
    memory_groups,
    memory_kills,
    parse_nvidia,
    read_cpu,
)
from models.model_header import Needs

CARDS = "0, GPU-1a-77, NVIDIA H200, 143771, 143000\n1, GPU-2b-88, NVIDIA L4, 23034, 1000\n"
H200 = Gpu("NVIDIA H200", 143771 * 1024**2, "cuda", 143000 * 1024**2)
L4 = Gpu("NVIDIA L4", 23034 * 1024**2, "cuda", 1000 * 1024**2)


def write(root: Path, **files: str) -> Path:
    for name, value in files.items():
        path = root / name.replace("__", "/").replace("_DOT_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value)
    return root


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({}, 0),
        ({"cpu_DOT_max": "max 100000\n"}, 0),
        ({"cpu_DOT_max": "150000 100000\n"}, 2),
        ({"cpu_DOT_max": "50000 100000\n"}, 1),
        ({"cpu__cpu_DOT_cfs_quota_us": "-1\n", "cpu__cpu_DOT_cfs_period_us": "100000\n"}, 0),
        ({"cpu__cpu_DOT_cfs_quota_us": "400000\n", "cpu__cpu_DOT_cfs_period_us": "100000\n"}, 4),
        ({"cpu_DOT_max": "5 0\n"}, 0),
    ],
)
def test_a_core_quota_is_rounded_up(tmp_path, files, cores):
    assert cgroup_cores(write(tmp_path, **files)) == cores


def test_the_group_with_the_least_left_counts_and_kept_files_are_free(tmp_path):
    """A limit may be set anywhere between a process and the root; 1000 - (800 - 300 - 100) = 600 are left."""
    membership = tmp_path / "self"
    membership.write_text("4:cpu,memory:/v1\n0::/user/app\n")
    root = write(
        tmp_path / "cgroup",
        memory_DOT_max="max\n",
        user__memory_DOT_max="1000\n",
        user__memory_DOT_current="800\n",
        user__memory_DOT_stat="anon 400\ninactive_file 300\nactive_file 100\n",
        user__app__memory_DOT_max="5000\n",
        user__app__memory_DOT_current="700\n",
        memory__v1__memory_DOT_limit_in_bytes="2000\n",
        memory__v1__memory_DOT_usage_in_bytes="1500\n",
        memory__v1__memory_DOT_stat="inactive_file 1\ntotal_inactive_file 400\n",
    )
    assert cgroup_memory(root, membership) == (1000, 400)
    write(root, memory__v1__memory_DOT_stat="total_inactive_file 10\n")
    assert cgroup_memory(root, membership) == (2000, 1490)


def test_a_group_named_from_outside_a_container_leads_nowhere_else(tmp_path):
    (tmp_path / "self").write_text("0::/../../etc\nnonsense\n")
    folders = memory_groups(tmp_path / "cgroup", tmp_path / "self")
    assert folders == [tmp_path / "cgroup", tmp_path / "cgroup" / "memory"]


def test_kills_for_memory_are_counted_wherever_the_system_tells_them(tmp_path):
    root = write(
        tmp_path,
        vmstat="oom_kill 3\noom_killer 9\n",
        cgroup__memory_DOT_events="oom 7\noom_kill 2\n",
        cgroup__memory__memory_DOT_oom_control="oom_kill_disable 0\nunder_oom 0\noom_kill 1\n",
    )
    assert memory_kills(root / "cgroup", root / "none", root / "vmstat") == 6
    assert memory_kills(root / "none", root / "none", root / "none") == 0


@pytest.mark.parametrize(
    ("files", "memory"),
    [
        ({}, (0, 0)),
        ({"memory_DOT_max": "max\n"}, (0, 0)),
        ({"memory_DOT_max": "2000\n", "memory_DOT_current": "500\n"}, (2000, 500)),
        ({"memory__memory_DOT_limit_in_bytes": "9223372036854771712\n"}, (0, 0)),
        ({"memory__memory_DOT_limit_in_bytes": "3000\n"}, (3000, 0)),
    ],
)
def test_a_memory_limit_of_either_version_is_found(tmp_path, files, memory):
    assert cgroup_memory(write(tmp_path, **files)) == memory


def test_the_first_core_speaks_for_all(tmp_path):
    path = tmp_path / "cpuinfo"
    path.write_text("model name\t: Some CPU\nflags\t\t: fpu avx2\n\nmodel name\t: Other\nflags\t\t: fpu\n")
    assert read_cpu(path) == ("Some CPU", frozenset({"fpu", "avx2"}))
    path.write_text("processor\t: 0\nFeatures\t: fp asimd\n")
    assert read_cpu(path) == ("", frozenset({"fp", "asimd"}))
    assert read_cpu(tmp_path / "absent") == ("", frozenset())


def test_nvidia_lines_are_read_and_complaints_are_not_cards():
    assert parse_nvidia(CARDS) == (H200, L4)
    assert parse_nvidia("NVIDIA-SMI has failed, no driver\n") == ()
    assert parse_nvidia("0, GPU-1a, Some card, [N/A], [N/A]\n") == ()


@pytest.mark.parametrize(
    ("visible", "cards"),
    [
        (None, (H200, L4)),
        ("1,0", (L4, H200)),
        ("1", (L4,)),
        ("GPU-2b", (L4,)),
        ("", ()),
        ("-1", ()),
        ("0,7,1", (H200,)),  # CUDA stops at the first that it does not know
    ],
)
def test_only_the_cards_that_cuda_shows_count(visible, cards):
    assert parse_nvidia(CARDS, visible) == cards


def test_memory_is_weights_and_cache_and_work_space():
    estimate = Needs(1_000_000, 28672, 151936, context_tokens=32768).memory(4096, 10**9)
    assert estimate.kv_bytes == 28672 * 4096
    assert estimate.compute_bytes == 64 * 1024**2 + 512 * 151936 * 4
    assert estimate.needed_bytes == 1_000_000 + estimate.kv_bytes + estimate.compute_bytes
    assert estimate.fits
    assert not replace(estimate, available_bytes=estimate.needed_bytes - 1).fits


def test_this_machine_makes_sense():
    hardware = inspect_hardware()
    assert 1 <= hardware.threads <= hardware.cores
    assert 0 <= hardware.available_bytes <= hardware.memory_bytes
