"""`redwell desktop` as a process: what ends the command ends the window."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "-P", "-c", "from engine.cli.main import run; run()", "desktop")
MOST_SECONDS = 60


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are looked up in /proc")
def test_a_signal_to_the_command_ends_the_window(tmp_path: Path) -> None:
    environment = {**os.environ, "HOME": str(tmp_path), "QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(COMMAND, env=environment, cwd=tmp_path) as command:
        try:
            _wait("the window does not start its worker", lambda: "worker" in _commands(tmp_path))
            command.send_signal(signal.SIGTERM)
            assert command.wait(MOST_SECONDS) == -signal.SIGTERM
            _wait("the window or its worker is still there", lambda: not _commands(tmp_path))
        finally:
            command.kill()


def _wait(what: str, fits: Callable[[], bool]) -> None:
    end = time.monotonic() + MOST_SECONDS
    while not fits():
        assert time.monotonic() < end, what
        time.sleep(0.05)


def _commands(home: Path) -> str:
    """Return the command lines of all processes whose home is a folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"HOME={home}\0".encode() in (process / "environ").read_bytes() + b"\0":
                found.append((process / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return "\n".join(line for line in found if line)
