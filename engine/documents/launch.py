"""How a parsing child is started."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Collection
from pathlib import Path

RESULT = "result.json"
"""Where a child leaves what it read, below the scratch folder of the job."""

ROWS = "rows.jsonl"
"""Where a child leaves the rows of a data file, each as `[sheet, row]`; the sheet is empty but for workbooks."""

INPUT = "input"
"""The folder, below that of the job, in which a child finds its file."""

_ROOT = Path(__file__).resolve().parents[2]
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
_KEPT_VARIABLES = (
    "PATH", "HOME", "LANG", "LANGUAGE", "TZ", "PYTHONPATH", "PYTHONUTF8", "PYTHONWARNINGS", "SYSTEMROOT", "WINDIR",
    "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "ORT_DISABLE_TELEMETRY", "TESSDATA_PREFIX",
)  # fmt: skip


def child_command() -> list[str]:
    """Return the command line of a child; -P: no module is taken from the current folder, which may hold documents."""
    return [sys.executable, "-P", "-m", "engine.documents.child"]


def child_environment(threads: int, folder: Path | None = None) -> dict[str, str]:
    """Return the environment of a child: what Python needs of ours, no key or password, few threads.

    Temporary files go below `folder`.
    """
    kept = {k: v for k, v in os.environ.items() if k in _KEPT_VARIABLES or k.startswith("LC_")}
    path = os.pathsep.join(part for part in (str(_ROOT), kept.get("PYTHONPATH", "")) if part)
    temporary = {"TMPDIR": str(folder), "TEMP": str(folder), "TMP": str(folder)} if folder else {}
    return {**kept, **temporary, "PYTHONPATH": path, **dict.fromkeys(_THREAD_VARIABLES, str(threads))}


def cage_line(folder: Path, reads: Collection[Path]) -> bytes:
    """Return the first line of a child's input: where it may write, and what it may read beside Python and that."""
    return (json.dumps({"folder": str(folder), "reads": [str(path) for path in reads]}) + "\n").encode()
