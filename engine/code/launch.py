"""How the process for code of a pipeline is started."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_KEPT_VARIABLES = ("SYSTEMROOT", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")

_START = """
import sys, types
for name in ("engine", "engine.code", "models", "models.fence"):
    module = types.ModuleType(name)
    module.__path__ = ["/".join((sys.argv[1], *name.split(".")))]
    sys.modules[name] = module
del sys.argv[1:]
from engine.code.child import main
main()
"""
"""Makes the packages by hand: their own `__init__` may import what is not there without site-packages."""


def code_command() -> list[str]:
    """Return the command line: Python without site-packages, the current folder or any variable that is not ours.

    In place of `-I`, its parts: that would also ignore PYTHONHASHSEED, and the order of sets would differ in each run.
    """
    flags = ["-P", "-s", "-S", "-B", "-X", "utf8"]
    return [sys.executable, *flags, "-c", _START, str(_ROOT)]


def code_environment() -> dict[str, str]:
    """Return the environment: nothing of the user's, and one hash seed for all runs."""
    kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    return {**kept, "PYTHONHASHSEED": "0"}


def code_folder() -> str:
    """Return the current folder of the process: the root, which tells nothing."""
    return Path(sys.executable).anchor or os.sep
