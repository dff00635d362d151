"""An evaluation task: documents with gold, the pipeline of a user, and how its results are scored."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from engine.errors import UsageError

Split = Literal["sample", "dev"]
"""`sample`: what an optimizer may see, without gold. `dev`: what is scored."""


@dataclass(frozen=True)
class Document:
    """One document. `values` is the row that the pipeline reads; of a folder, `file` is the record instead."""

    id: str
    values: Mapping[str, Any]
    gold: Any
    file: Path | None = None


@dataclass(frozen=True)
class Result:
    """One row of the results, and the ids of the documents that it was made from."""

    values: Mapping[str, Any]
    documents: frozenset[str]


@dataclass(frozen=True)
class Splits:
    """Which documents are for what, by position from 0; positions beyond the last document are nobody's.

    Raises ValueError when a document would be seen by the optimizer and scored.
    """

    sample: Sequence[int]
    dev: Sequence[int]

    def __post_init__(self) -> None:
        if both := set(self.sample) & set(self.dev):
            raise ValueError(f"documents {sorted(both)} are in both splits")

    def choose(self, documents: Sequence[Document], split: Split) -> tuple[Document, ...]:
        """Take the documents of a split, in their order."""
        wanted = set(self.sample if split == "sample" else self.dev)
        return tuple(document for position, document in enumerate(documents) if position in wanted)


@dataclass(frozen=True, kw_only=True)
class Task:
    """One task of the paper's evaluation (section 5).

    `dataset` is the dataset of the pipeline that the documents go to; `id_field` the field of its rows that holds a
    document's id. `tables` are further datasets, each a file below the data folder. `files` must be there. `score` is
    given the results of a run and the documents it was about. `criteria` is a pipeline that
    judges rows (evaluation.judging).
    """

    name: str
    about: str
    origin: str
    pipeline: Path
    data: Path
    files: tuple[str, ...]
    dataset: str
    main_metric: str
    splits: Splits
    read: Callable[[Path], Sequence[Document]]
    score: Callable[[Sequence[Result], Sequence[Document]], Mapping[str, float]]
    lower_is_better: frozenset[str] = frozenset()
    id_field: str = "id"
    tables: Mapping[str, str] = field(default_factory=dict)
    criteria: Path | None = None

    def fewer(self, split: Split, count: int) -> Task:
        """Return the task with only the first `count` documents in a split."""
        sample, dev = self.splits.sample, self.splits.dev
        some = Splits(sample[:count], dev) if split == "sample" else Splits(sample, dev[:count])
        return replace(self, splits=some)

    def documents(self, split: Split, data: Path | None = None) -> tuple[Document, ...]:
        """Read the documents of a split; raises UsageError when the data are not there, or not such data."""
        folder = data or self.data
        if missing := [name for name in self.files if not (folder / name).exists()]:
            raise UsageError(
                f"task {self.name}: there is no {missing[0]} in {folder}",
                advice=f"Give the folder that holds it with --data FOLDER. The data: {self.origin}.",
            )
        try:
            found = self.splits.choose(self.read(folder), split)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UsageError(
                f"task {self.name}: {folder} holds other data than this task reads: {type(error).__name__}: {error}",
                advice="docs/evaluation.md says what is read.",
            ) from error
        if not found:
            raise UsageError(f"task {self.name}: too few documents in {folder}", advice="Give a folder with more.")
        return found

    def write_inputs(self, split: Split, folder: Path, data: Path | None = None) -> tuple[str, ...]:
        """Write what a pipeline reads, without gold, into an empty folder; return it as `--input` takes it."""
        documents = self.documents(split, data)
        target = folder / (self.dataset if documents[0].file else f"{self.dataset}.jsonl")
        folder.mkdir(parents=True, exist_ok=True)
        if documents[0].file:
            target.mkdir(exist_ok=True)
            for document in documents:
                assert document.file is not None  # all or none
                shutil.copyfile(document.file, target / document.file.name)
        else:
            lines = (json.dumps(dict(document.values), ensure_ascii=False) + "\n" for document in documents)
            target.write_text("".join(lines), encoding="utf-8")
        tables = (f"{name}={(data or self.data) / path}" for name, path in self.tables.items())
        return (f"{self.dataset}={target}", *tables)


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Read a file of JSON objects, one a line."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
