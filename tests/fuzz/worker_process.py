"""A worker on scripted models that can write nowhere but below one folder: `python worker_process.py FOLDER`.

Commands that are made by chance name files by chance. Where the kernel has Landlock, this process and what it starts
can write below the folder only; it has no network.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "fixtures")]

from scripted_redwell import ScriptedModels  # noqa: E402

import engine.cli.worker  # noqa: E402
from engine.cli.main import run  # noqa: E402
from models.fence import landlock  # noqa: E402
from models.fence.process import _SYSTEM, fence_network, python_folders  # noqa: E402
from models.fence.seccomp import give_up_privileges  # noqa: E402

_EXECUTE = 1


def main() -> None:
    """Fence this process, then serve its input."""
    folder = sys.argv[1]
    if landlock.landlock_version():
        give_up_privileges()
        landlock._READ |= _EXECUTE  # the worker starts children that parse
        landlock.allow_only([*_SYSTEM, *python_folders(), str(ROOT), "/proc", "/sys"], [folder], ["/dev/null"])
    fence_network()
    os.chdir(folder)
    engine.cli.worker.new_models = ScriptedModels
    sys.argv = ["redwell", "worker"]
    run()


if __name__ == "__main__":
    main()
