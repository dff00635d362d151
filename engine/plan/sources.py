"""What datasets give: the fields of documents, and the `--input` option."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from engine.errors import UsageError
from engine.plan.plan import Dataset, Plan

DOCUMENT_FIELDS = ("filename", "path", "text", "pages", "kind")
"""The fields of a row made from a document of a folder."""

DATA_SUFFIXES = (".json", ".jsonl", ".csv")
"""Files whose items are rows; any other single file is read as one document."""


def override_input(plan: Plan, given: str, *, directory: Path) -> Plan:
    """Point a dataset at another folder or file: `PATH`, or `NAME=PATH` where there are several datasets.

    A relative path starts at `directory`. Raises UsageError when the dataset or the path is not there.
    """
    name, _, path = given.rpartition("=")
    if name not in {d.name for d in plan.datasets}:
        name, path = "", given
    if not name and len(plan.datasets) != 1:
        names = ", ".join(d.name for d in plan.datasets)
        raise UsageError(f"--input {given} does not say which dataset", advice=f"Write NAME=PATH; datasets: {names}.")
    location = directory / Path(path).expanduser()
    if not location.exists():
        raise UsageError(f"--input: there is no {location}", advice="Give an existing folder or file.")
    old = plan.dataset(name) if name else plan.datasets[0]
    return plan.with_dataset(_pointed_at(old, location.resolve()))


def _pointed_at(dataset: Dataset, location: Path) -> Dataset:
    is_data = location.is_file() and location.suffix.lower() in DATA_SUFFIXES
    return replace(dataset, type="file" if is_data else "folder", path=str(location))
