"""Whether anything that the tests do in the window holds up its event loop for longer than 50 ms."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

LONGEST_MILLISECONDS = 50
ROOT = Path(__file__).resolve().parents[2]


def test_the_window_stays_responsive() -> None:
    """Run the tests of the window that watch its event loop, one after the other, with the strict limit."""
    command = [sys.executable, "-m", "pytest", "tests/gui", "-m", "event_loop", "-n", "0", "-o", "addopts="]
    limit = {"REDWELL_LONGEST_BLOCK_MILLISECONDS": str(LONGEST_MILLISECONDS)}
    done = subprocess.run([*command, "-q", "-rR"], cwd=ROOT, env={**os.environ, **limit}, check=False)
    assert done.returncode == 0
