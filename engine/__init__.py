"""Pipelines over documents: language, plan, operators, evidence, executor. No Qt, no model runtime.

The names below are imported when they are first used, so `import engine` itself loads nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.executor.run import RunOptions, RunResult, run_pipeline
    from engine.language.checks import check
    from engine.language.loader import Loaded, load_pipeline, parse_pipeline

_PLACES = {
    "Loaded": "engine.language.loader",
    "RunOptions": "engine.executor.run",
    "RunResult": "engine.executor.run",
    "check": "engine.language.checks",
    "load_pipeline": "engine.language.loader",
    "parse_pipeline": "engine.language.loader",
    "run_pipeline": "engine.executor.run",
}

__all__ = ["Loaded", "RunOptions", "RunResult", "check", "load_pipeline", "parse_pipeline", "run_pipeline"]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'engine' has no attribute {name!r}")
    return getattr(importlib.import_module(_PLACES[name]), name)
