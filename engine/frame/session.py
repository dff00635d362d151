"""The case of a Python session, for pipelines that were given none."""

from __future__ import annotations

import atexit
import os
import threading
from contextlib import ExitStack
from pathlib import Path

from engine.documents.leftovers import scratch_folder

_LOCK = threading.Lock()
_FOLDERS: dict[int, Path] = {}


def session_case() -> Path:
    """Return the case that all runs of this process share that name none; it is removed when the process ends.

    Only this user can read its folder. One that a killed process left behind is removed by the next.
    """
    with _LOCK:
        if os.getpid() not in _FOLDERS:
            stack = ExitStack()
            _FOLDERS[os.getpid()] = stack.enter_context(scratch_folder())
            atexit.register(stack.close)
        return _FOLDERS[os.getpid()] / "session.redwell"
