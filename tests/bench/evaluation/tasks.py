"""The evaluation tasks of a source checkout: a module a task under tests/bench/eval, with its pipeline beside it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Final

from engine.errors import UsageError
from evaluation.task import Task

FOLDER: Final = Path(__file__).resolve().parents[1] / "eval"


def task_names(folder: Path = FOLDER) -> tuple[str, ...]:
    """List the tasks there are; empty where Redwell is installed without its sources."""
    return tuple(sorted(path.stem for path in folder.glob("*.py")))


def load_task(name: str, folder: Path = FOLDER) -> Task:
    """Load a task by name; raises UsageError listing those there are."""
    names = task_names(folder)
    if name not in names:
        raise UsageError(
            f"there is no evaluation task {name!r}, and no folder with gold.json of that name",
            advice=f"Tasks: {', '.join(names)}." if names else "Tasks come with a source checkout of Redwell.",
        )
    title = f"redwell_eval_{name}"
    spec = importlib.util.spec_from_file_location(title, folder / f"{name}.py")
    assert spec is not None and spec.loader is not None  # a .py file that is there
    module = importlib.util.module_from_spec(spec)
    sys.modules[title] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    task: Task = module.TASK
    return task
