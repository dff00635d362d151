"""Plans as pipeline files that a person reads and runs, beside the one that was given."""

from __future__ import annotations

import difflib
import os
from dataclasses import replace
from pathlib import Path

from engine.language.writer import to_yaml
from engine.loader import Loaded
from engine.plan.dataset import Dataset
from engine.plan.plan import Plan


def as_file(plan: Plan, given: Loaded, folder: Path) -> str:
    """Write a rewritten plan as YAML for a file in `folder`.

    Datasets, default model and output are as the user's file `given` says, and mean the same from that folder: what a
    build was given for the time being (--input, --model) is no part of the pipeline.
    """
    user = given.plan
    datasets = tuple(_moved(user.dataset(d.name), given.directory, folder) for d in plan.datasets)
    output = user.output
    if output.path:
        output = replace(output, path=_moved_path(output.path, given.directory, folder))
    if output.intermediate_dir:
        output = replace(output, intermediate_dir=_moved_path(output.intermediate_dir, given.directory, folder))
    return to_yaml(replace(plan, datasets=datasets, default_model=user.default_model, output=output))


def unified_diff(before: str, after: str) -> str:
    """Return what changed between two plans as YAML, with three lines around each change."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "before", "after", lineterm="")
    return "\n".join(lines)


def _moved(dataset: Dataset, directory: Path, folder: Path) -> Dataset:
    if not dataset.path:
        return dataset
    return replace(dataset, path=_moved_path(dataset.path, directory, folder))


def _moved_path(path: str, directory: Path, folder: Path) -> str:
    """Write a path that starts at `directory` so that it starts at `folder`; an absolute one stays as it is."""
    if Path(path).expanduser().is_absolute() or directory.resolve() == folder.resolve():
        return path
    try:
        return Path(os.path.relpath(directory.resolve() / path, folder.resolve())).as_posix()
    except ValueError:  # another drive
        return str(directory.resolve() / path)
