"""Parsing functions of installed packages (entry points of the group `redwell.parsers`) and of trusted pipelines.

Such a function takes a row (a dictionary) and its keyword arguments, and returns a list of dictionaries: the fields
of one row each, which are added to those of the row it was given. It is called in a child process without network.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.disk import is_disk_full
from engine.errors import DocumentError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

# How a parsing child is started.

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


GROUP = "redwell.parsers"


def installed_parsers() -> Mapping[str, EntryPoint]:
    """Return the parsing functions of installed packages by name; none is imported."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - 35 ms, where parsers are asked for

    return {point.name: point for point in entry_points(group=GROUP)}


def call_parser(command: Mapping[str, Any]) -> None:
    """Call the function on the row and leave its value as JSON in the scratch folder; raises DocumentError."""
    name = command["function"]
    os.chdir(command["folder"])
    try:
        function = _defined(name, command["code"]) if command["code"] else installed_parsers()[name].load()
        value = function(dict(command["item"]), **command["arguments"])
        text = json.dumps(_checked(value))
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - foreign code may raise anything; it fails this row alone
        if isinstance(error, OSError) and is_disk_full(error):
            raise
        raise DocumentError(
            f"the parsing function {name} failed ({type(error).__name__}: {error}){_place(error)}",
            reason="parser_failed",
            advice="Look at this row, or ask the author of the function.",
        ) from error
    (Path(command["scratch"]) / RESULT).write_text(text, encoding="utf-8")


def _place(error: Exception) -> str:
    """Name the innermost line, for the author of the function; nothing where the error was raised here."""
    at = traceback.extract_tb(error.__traceback__)[-1]
    return "" if at.filename == __file__ else f" in {Path(at.filename).name}, line {at.lineno}"


def _defined(name: str, code: str) -> Any:
    """Run the pipeline's Python, which the user has allowed, and return the function of that name."""
    space: dict[str, Any] = {"Any": Any, "Dict": dict, "List": list}
    exec(compile(code, f"<{name}>", "exec"), space)
    return space[name]


def _checked(value: Any) -> list[dict[str, Any]]:
    items = value if isinstance(value, list) else [value]
    for item in items:
        if not isinstance(item, dict):
            raise TypeError(f"it returned {type(item).__name__}, not a list of dictionaries")
    return items
