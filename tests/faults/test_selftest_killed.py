"""A child that tries a model on this computer ends with the process that started it, also where that is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a child is told of its parent's end by Linux alone")

PARENT = "import sys; from pathlib import Path; from models.selftest import run_child; "
PARENT += "run_child(sys.argv[1], Path(sys.argv[2]), timeout_seconds=600)"
WAIT_SECONDS = 60.0


@pytest.mark.parametrize("module", ["models.selftest", "models.measuring"])
def test_a_child_ends_with_its_parent(module: str, tmp_path: Path) -> None:
    never_read = tmp_path / "model.gguf"
    os.mkfifo(never_read)  # opening it waits until somebody writes, which nobody does
    root = str(Path(__file__).parents[2])
    parent = subprocess.Popen([sys.executable, "-c", PARENT, module, str(never_read)], cwd=root)
    child = 0
    try:
        child = _wait(lambda: _only_child(parent.pid))
        assert _wait(lambda: module in _command(child))
        time.sleep(3)  # until it reads the file; it would be there for good
        assert _command(child)
    finally:
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    try:
        assert _wait(lambda: not _command(child))
    finally:
        if child and _command(child):
            os.kill(child, signal.SIGKILL)


def _only_child(parent: int) -> int:
    return int((Path(f"/proc/{parent}/task/{parent}/children").read_text("ascii").split() or ["0"])[0])


def _command(pid: int) -> str:
    """Return the command line of a process, empty where it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except FileNotFoundError:
        return ""


def _wait(fits):  # type: ignore[no-untyped-def]
    end = time.monotonic() + WAIT_SECONDS
    while not (found := fits()):
        assert time.monotonic() < end, "not in time"
        time.sleep(0.05)
    return found
