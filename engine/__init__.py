"""Pipelines over documents: language, plan, operators, evidence, executor. No Qt, no model runtime.

    from engine import read_folder
    read_folder("records").map(prompt="...", output={"schema": {"officer": "string"}}).show()

The names below are imported when they are first used, so `import engine` itself loads nothing.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.executor.run import RunOptions, RunResult, run_pipeline
    from engine.frame.pipeline import Pipeline, RowsFailed
    from engine.frame.readers import from_list, read_csv, read_folder, read_json, read_jsonl, read_parquet, read_xlsx
    from engine.frame.readers import read_dir as read_dir
    from engine.frame.readers import read_list as read_list
    from engine.frame.running import RunReport
    from engine.language.checks import check
    from engine.loader import Loaded, load_pipeline, parse_pipeline

# onnxruntime reports to its maker by default, from native code: it must be told before its library is loaded.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

default_model: str = ""
"""The model of pipelines that are begun from now on; "" is the machine's default."""

system_prompt: dict[str, str] = {}
"""The system prompt of pipelines that are begun from now on: `dataset_description`, `persona`."""

_READERS = (
    "from_list",
    "read_csv",
    "read_dir",
    "read_folder",
    "read_json",
    "read_jsonl",
    "read_list",
    "read_parquet",
    "read_xlsx",
)

_PLACES = {
    "Loaded": "engine.loader",
    "Pipeline": "engine.frame.pipeline",
    "RowsFailed": "engine.frame.pipeline",
    "RunOptions": "engine.executor.run",
    "RunReport": "engine.frame.running",
    "RunResult": "engine.executor.run",
    "check": "engine.language.checks",
    "load_pipeline": "engine.loader",
    "parse_pipeline": "engine.loader",
    "run_pipeline": "engine.executor.run",
    **dict.fromkeys(_READERS, "engine.frame.readers"),
}

__all__ = [
    "Loaded",
    "Pipeline",
    "RowsFailed",
    "RunOptions",
    "RunReport",
    "RunResult",
    "check",
    "from_list",
    "load_pipeline",
    "parse_pipeline",
    "read_csv",
    "read_folder",
    "read_json",
    "read_jsonl",
    "read_parquet",
    "read_xlsx",
    "run_pipeline",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'engine' has no attribute {name!r}")
    return getattr(importlib.import_module(_PLACES[name]), name)
