"""Begin a pipeline: folders of documents, data files, rows in memory. Nothing is read before an action."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import engine
from engine.errors import UsageError
from engine.executor.memory_rows import Rows, checked_rows
from engine.frame.pipeline import Pipeline
from engine.language.problems import Problem
from engine.loader import read_parsing, without_effect
from engine.plan.plan import Dataset, DatasetType, Plan, Step, SystemPrompt
from engine.plan.sources import DATA_SUFFIXES
from models.paths import expanded

AnyPath = str | os.PathLike[str]
ParsingLike = Sequence[Mapping[str, Any]]


def read_folder(path: AnyPath, *, name: str = "", parsing: ParsingLike = ()) -> Pipeline:
    """Read documents of any kind below a folder, or one document: a row each, with filename, path, text, pages, kind.

    A relative path starts at the current folder. `name` is the dataset's, by default made from the path. `parsing`
    reads files that rows name, as in YAML: [{"function": "document_to_string", "input_key": "pdf"}].
    """
    return _begin(path, "folder", name, parsing)


def read_json(path: AnyPath, *, name: str = "", parsing: ParsingLike = ()) -> Pipeline:
    """Read a .json file (a list of objects) or a .jsonl file: a row per object."""
    return _begin(path, "file", name, parsing)


def read_jsonl(path: AnyPath, *, name: str = "", parsing: ParsingLike = ()) -> Pipeline:
    """Read a .jsonl file: a row per line."""
    return _begin(path, "file", name, parsing)


def read_csv(path: AnyPath, *, name: str = "", parsing: ParsingLike = ()) -> Pipeline:
    """Read a .csv file: a row per line; its first line names the fields."""
    return _begin(path, "file", name, parsing)


def read_parquet(path: AnyPath, *, name: str = "", parsing: ParsingLike = ()) -> Pipeline:
    """Read a .parquet file: a row per record."""
    return _begin(path, "file", name, parsing)


def read_xlsx(path: AnyPath, *, sheet: str = "", name: str = "", parsing: ParsingLike = ()) -> Pipeline:
    """Read a sheet of a workbook: a row per line; its first line names the fields.

    `sheet` says which, where several have rows.
    """
    return _begin(path, "file", name, parsing, sheet)


def from_list(rows: Iterable[Mapping[str, Any]], *, name: str = "data") -> Pipeline:
    """Take rows from memory. Values must be what JSON can hold; raises UsageError naming the row that is not."""
    if hasattr(rows, "to_dict") and hasattr(rows, "columns"):
        advice = (
            'Write from_list(df.to_dict("records")), or import engine.frame.semantic and write df.semantic.map(...).'
        )
        raise UsageError("from_list takes a list of dictionaries, not a DataFrame", advice=advice)
    return _pipeline(Dataset(name, "memory"), {name: checked_rows(rows)})


read_dir = read_folder
read_list = from_list


def _begin(path: AnyPath, type: DatasetType, name: str, parsing: ParsingLike, sheet: str = "") -> Pipeline:
    location = expanded(path)
    place = location.absolute()
    if not place.exists():
        what = "folder or file" if type == "folder" else "file"
        raise UsageError(f"there is no {what} {place}", advice="Check the path; a relative one starts at this folder.")
    if type == "file" and place.is_dir():
        raise UsageError(f"{place} is a folder", advice="Read it with read_folder.")
    if type == "file" and place.suffix.lower() not in DATA_SUFFIXES:
        raise UsageError(
            f"the suffix of {place.name} is none of a data file: {', '.join(DATA_SUFFIXES)}",
            advice="Rename the file, or read it as a document with read_folder.",
        )
    made = re.sub(r"\W+", "_", place.stem).strip("_") or "data"
    name = name or made
    if not all(isinstance(item, Mapping) for item in parsing):
        raise UsageError(
            "parsing is a list of mappings", advice='Write parsing=[{"function": ..., "output_key": ...}].'
        )
    functions, unused = read_parsing(name, parsing)
    warnings = (Problem(without_effect(unused), severity="warning"),) if unused else ()
    return _pipeline(Dataset(name, type, location.as_posix(), sheet, parsing=functions), {}, warnings)


def _pipeline(dataset: Dataset, data: Mapping[str, Rows], warnings: tuple[Problem, ...] = ()) -> Pipeline:
    plan = Plan(
        datasets=(dataset,),
        operators=(),
        steps=(Step(f"from_{dataset.name}", (dataset.name,), ()),),
        default_model=engine.default_model,
        system_prompt=SystemPrompt(**engine.system_prompt),
    )
    return Pipeline(plan, Path.cwd(), data, warnings=warnings)
