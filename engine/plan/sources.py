"""What datasets give: the fields of documents, and the `--input` option."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from engine.errors import UsageError
from engine.plan.dataset import Dataset, DatasetType
from engine.plan.plan import Plan
from models.paths import expanded

DOCUMENT_FIELDS = ("filename", "path", "text", "pages", "kind")
"""The fields of a row made from a document of a folder or a case."""

DATA_SUFFIXES = (".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", ".xlsx", ".xlsm")
"""Files whose items are rows; any other single file is read as one document."""

CASE_SUFFIX = ".redwell"

CASE_INPUT = "case:"
"""Begins an `--input` that means documents of the run's own case: all of them, or some, written as in an address:
`case:starred=1`, `case:tag=to+read&tag=seen`, `case:document=SHA-256`."""

_CASE_KEYS = ("tag", "starred", "words", "document")


def kind_of_source(dataset: Dataset, directory: Path) -> DatasetType:
    """Say what a dataset is read as: one of type file is documents where it is a folder, or no data file."""
    if dataset.type != "file":
        return dataset.type
    location = dataset.location(directory)
    return "folder" if location.is_dir() or location.suffix.lower() not in DATA_SUFFIXES else "file"


def fits(path: str, patterns: Sequence[str]) -> bool:
    """Say whether a path, or its file name, fits one of the patterns; every one does where there are none."""
    return not patterns or any(fnmatchcase(path, p) or fnmatchcase(Path(path).name, p) for p in patterns)


def known_fields(dataset: Dataset) -> tuple[str, ...] | None:
    """Return the fields of a dataset's rows as far as the plan tells them; None when it does not."""
    match dataset.type:
        case "folder" | "case":
            fields = dict.fromkeys(DOCUMENT_FIELDS)
        case "memory" if dataset.data:
            fields = {key: None for row in dataset.data for key in row}
        case _:
            return None
    if not all(step.reads_documents for step in dataset.parsing):
        return None
    return tuple(fields | dict.fromkeys(step.target_field for step in dataset.parsing))


def override_input(plan: Plan, given: str, *, directory: Path) -> Plan:
    """Point a dataset at another folder or file: `PATH`, or `NAME=PATH` where there are several datasets.

    A relative path starts at `directory`; `case:` (CASE_INPUT) means the run's own case. Raises UsageError when the
    dataset or the path is not there.
    """
    before, marker, wanted = given.partition(CASE_INPUT)
    if marker and (not before or before.endswith("=")):
        name = before.removesuffix("=")
        return plan.with_dataset(chosen_of_case(_dataset(plan, name, given), wanted))
    names = [d.name for d in plan.datasets if given.startswith(f"{d.name}=")]
    name = max(names, key=len, default=given.partition("=")[0] if "=" in given else "")
    path = given.removeprefix(f"{name}=")
    if not names and (directory / expanded(given)).exists():  # a path may hold the sign =
        name, path = "", given
    old = _dataset(plan, name, given)
    location = directory / expanded(path)
    if not location.exists():
        raise UsageError(f"--input: there is no {location}", advice="Give an existing folder or file.")
    return plan.with_dataset(_pointed_at(old, location.resolve()))


def _dataset(plan: Plan, name: str, option: str) -> Dataset:
    """Return the dataset of a name, or without one the only one that is not written in the plan; raises UsageError."""
    names = ", ".join(d.name for d in plan.datasets)
    if name and name not in {d.name for d in plan.datasets}:
        raise UsageError(f"--input {option}: there is no dataset {name!r}", advice=f"Datasets: {names or 'none'}.")
    if name:
        return plan.dataset(name)
    read = [d for d in plan.datasets if not d.data] if len(plan.datasets) > 1 else plan.datasets
    if len(read) != 1:
        raise UsageError(f"--input {option} does not say which dataset", advice=f"Write NAME=PATH; datasets: {names}.")
    return read[0]


def chosen_of_case(dataset: Dataset, wanted: str) -> Dataset:
    """Point a dataset at documents of the run's own case; raises UsageError for what is no choice of documents."""
    pairs = parse_qsl(wanted, keep_blank_values=True)
    unknown = [key for key, value in pairs if key not in _CASE_KEYS or not value]
    if unknown or (wanted and not pairs):
        raise UsageError(
            f"--input {CASE_INPUT}{wanted}: {(unknown or [wanted])[0]!r} chooses no documents",
            advice="Write case: for all, case:starred=1, case:tag=NAME, case:words=WORDS or case:document=SHA-256; "
            "& joins several.",
        )
    return replace(
        dataset,
        type="case",
        path="",
        sheet="",
        glob=(),
        data=(),
        tags=tuple(value for key, value in pairs if key == "tag"),
        starred=any(key == "starred" for key, _ in pairs),
        words=" ".join(value for key, value in pairs if key == "words"),
        documents=tuple(value for key, value in pairs if key == "document"),
    )


def _pointed_at(dataset: Dataset, location: Path) -> Dataset:
    kinds: Mapping[str, DatasetType] = {CASE_SUFFIX: "case", **dict.fromkeys(DATA_SUFFIXES, "file")}
    kind = kinds.get(location.suffix.lower(), "folder") if location.is_file() else "folder"
    keeps_sheet = kind == "file" and location.suffix.lower() == Path(dataset.path).suffix.lower()
    case_keys: dict[str, Any] = {"glob": (), "tags": (), "starred": False, "words": "", "documents": ()}
    gone = {} if kind == "case" else case_keys
    return replace(dataset, type=kind, path=str(location), sheet=dataset.sheet if keeps_sheet else "", data=(), **gone)
