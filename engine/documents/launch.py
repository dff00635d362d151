"""How a parsing child is started."""

from __future__ import annotations

import os
import sys
from pathlib import Path

RESULT = "result.json"
"""Where a child leaves what it read, below the scratch folder of the job."""

ROWS = "rows.jsonl"
"""Where a child leaves the rows of a data file, each as `[sheet, row]`; the sheet is empty but for workbooks."""

_ROOT = Path(__file__).resolve().parents[2]
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def child_command() -> list[str]:
    """Return the command line of a child."""
    return [sys.executable, "-m", "engine.documents.child"]


def child_environment(threads: int) -> dict[str, str]:
    """Return the environment of a child: ours, with the package on the path and number crunching on few threads."""
    path = os.pathsep.join(part for part in (str(_ROOT), os.environ.get("PYTHONPATH", "")) if part)
    return {**os.environ, "PYTHONPATH": path, **dict.fromkeys(_THREAD_VARIABLES, str(threads))}
