"""The walls of Linux hold by themselves: here without the audit hook, by raw system calls."""

from __future__ import annotations

import platform
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from models.fence.landlock import landlock_version
from models.fence.seccomp import seccomp_is_known

ROOT = Path(__file__).parents[4]

pytestmark = pytest.mark.skipif(not seccomp_is_known(), reason=f"no filter for {sys.platform} {platform.machine()}")

BEFORE = """
import ctypes, os, socket, sys, threading
sys.path.insert(0, {root!r})
from models.fence.landlock import allow_only
from models.fence.seccomp import allow_only_computing
import subprocess
libc = ctypes.CDLL(None, use_errno=True)
libc.prctl(38, 1, 0, 0, 0)

def outcome(work):
    try:
        work()
    except BaseException as error:
        return type(error).__name__
    return "done"
"""


def outcomes(setup, *attempts):
    tries = "\n".join(f"print(outcome(lambda: {attempt}))" for attempt in attempts)
    program = textwrap.dedent(BEFORE.format(root=str(ROOT))) + f"\n{setup}\n{tries}\nsys.stdout.flush()\n"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_seccomp_alone_leaves_nothing_but_computing(tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("s")
    attempts = (
        "sum(range(10))",
        f"open({str(secret)!r})",
        f"open({str(tmp_path / 'new')!r}, 'w')",
        "socket.socket()",
        "os.fork()",
        "os.execv('/bin/true', ['true'])",
        "subprocess.run(['true'])",
        "threading.Thread(target=print).start()",
        "os.kill(os.getppid(), 0)",
        f"os.remove({str(secret)!r})",
        f"os.symlink('/etc', {str(tmp_path / 'link')!r})",
        f"os.mkdir({str(tmp_path / 'folder')!r})",
        "os.pipe()",
        "os.memfd_create('x')",
        "os.setuid(0)",
    )
    found = outcomes("allow_only_computing(reading=False)", *attempts)
    assert found[0] == "done"
    assert set(found[1:]) <= {"PermissionError", "RuntimeError"}
    assert len(found) == len(attempts)
    assert secret.exists()


def test_no_foreign_call_gets_past_seccomp():
    numbers = {
        "x86_64": {"socket": 41, "ptrace": 101, "execve": 59},
        "aarch64": {"socket": 198, "ptrace": 117, "execve": 221},
    }
    calls = [
        f"print(libc.syscall({number}, 1, 1, 0), ctypes.get_errno())" for number in numbers[platform.machine()].values()
    ]
    setup = "allow_only_computing(reading=True)\n" + "\n".join(calls)
    assert outcomes(setup) == ["-1", "1"] * 3


@pytest.mark.skipif(not landlock_version(), reason="this kernel has no Landlock")
def test_landlock_alone_lets_nothing_be_read_but_the_folders(tmp_path):
    allowed, other = tmp_path / "allowed", tmp_path / "other"
    for folder in (allowed, other):
        folder.mkdir()
        (folder / "a.txt").write_text("a")
    setup = f"allow_only([{str(allowed)!r}])"
    found = outcomes(
        setup,
        f"open({str(allowed / 'a.txt')!r}).read()",
        f"os.listdir({str(allowed)!r})",
        f"open({str(other / 'a.txt')!r})",
        f"open({str(allowed / '..' / 'other' / 'a.txt')!r})",
        f"open({str(allowed / 'a.txt')!r}, 'w')",
        f"os.remove({str(allowed / 'a.txt')!r})",
        "os.execv('/bin/true', ['true'])",
    )
    assert found == ["done", "done", *["PermissionError"] * 5]


def test_with_reading_seccomp_still_refuses_to_write(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("a")
    found = outcomes(
        "allow_only_computing(reading=True)",
        f"open({str(file)!r}).read()",
        f"open({str(file)!r}, 'a')",
        f"open({str(file)!r}, 'r+')",
        f"os.open({str(file)!r}, os.O_RDONLY | os.O_TRUNC)",
    )
    assert found == ["done", *["PermissionError"] * 3]
    assert file.read_text() == "a"


def test_without_landlock_nothing_is_opened_and_common_modules_are_there(tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("s")
    setup = """
import models.fence.landlock
models.fence.landlock.landlock_version = lambda: 0
from engine.code.confine import Bounds, confine
print(*confine(Bounds(memory_bytes=2**30, cpu_seconds=60)))
import csv, datetime, decimal, difflib, json, re, statistics
datetime.datetime.strptime("2024", "%Y")
"""
    found = outcomes(setup, f"open({str(secret)!r})", "__import__('wave')", "re.sub('a', 'b', 'c')")
    assert found == ["limits", "seccomp", "audit", "PermissionError", "PermissionError", "done"]
