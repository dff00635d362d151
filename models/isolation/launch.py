"""How the model's process is started."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from models.isolation.cage import model_environment

_ROOT = Path(__file__).resolve().parents[2]

_START = """
import sys
sys.path[:] = sys.argv[1:]
del sys.argv[1:]
from models.isolation.child import main
main()
"""


def child_command() -> list[str]:
    """Return the command line: Python that finds its modules where we find ours, but never in the current folder."""
    # `-I` alone would not see what PYTHONPATH or a user's own site-packages hold: a runtime may be there.
    paths = [str(path) for path in sys.path if Path(path).is_absolute()]
    return [sys.executable, "-I", "-X", "utf8", "-c", _START, str(_ROOT), *paths]


def start(command: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start a child with pipes to its standard streams, out of reach of the terminal's signals. Raises OSError."""
    windows_flags = 0
    if sys.platform == "win32":
        windows_flags = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=model_environment(),
        start_new_session=os.name == "posix",  # Ctrl-C is the parent's to judge
        creationflags=windows_flags,
    )
