"""Find what a pipeline needs around it that is not there: data files, parsing functions, a format for its output."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from engine.documents.options import ParseOptions
from engine.documents.parsers import installed_parsers
from engine.documents.tables import READ_IN_CHILD, table_rows
from engine.errors import DocumentError
from engine.language.checks import SourceFields
from engine.language.position import did_you_mean
from engine.language.problems import Problem, Severity
from engine.loader import Loaded, Read
from engine.plan.dataset import DOCUMENT_PARSERS, Dataset
from engine.plan.sources import kind_of_source
from engine.worker.crossings import OUTPUTS, output_key
from models.paths import expanded
from storage.export.files import SUFFIXES

PEEKED_BYTES = 64 * 1024 * 1024
"""A data file up to this size is read by a check, for the fields of its rows."""


def check_surroundings(
    loaded: Loaded, *, outputs: Collection[str] = tuple(OUTPUTS), missing_data: Severity = "error"
) -> list[Problem]:
    """List the problems of datasets, their parsing functions and the output, each with its place.

    `outputs` are the keys of what will be written. Data that is not there ends a run; whoever only checks a pipeline
    may have it elsewhere (`missing_data`).
    """
    tools = [tool.name for tool in loaded.plan.parsing_tools]
    parsing = [problem for dataset in _used(loaded) for problem in _parsing(loaded, dataset, tools)]
    return [*missing(loaded, _used(loaded), missing_data), *parsing, *_output(loaded, outputs)]


def peek_fields(loaded: Loaded) -> tuple[SourceFields, list[Problem]]:
    """Read the fields of data files that are there; list the files that cannot be read, with the line."""
    fields: dict[str, tuple[str, ...] | None] = {}
    problems = []
    for dataset in _used(loaded):
        file = dataset.location(loaded.directory)
        if (
            not loaded.borders.allow(file)
            or dataset.parsing
            or kind_of_source(dataset, loaded.directory) != "file"
            or not _is_small(file)
        ):
            continue
        try:
            rows = [values for _, values in table_rows(file, ParseOptions())]
        except DocumentError as error:
            problems.append(_problem(loaded, f"dataset {dataset.name!r}: {error}", error.advice, _path(dataset)))
        else:
            fields[dataset.name] = tuple(dict.fromkeys(key for row in rows for key in row)) or None
    return fields, problems


def _is_small(file: Path) -> bool:
    is_plain = file.suffix.lower() not in READ_IN_CHILD
    return is_plain and file.is_file() and file.stat().st_size <= PEEKED_BYTES


def _used(loaded: Loaded) -> list[Dataset]:
    """Return the datasets that steps or their retrievers read."""
    plan = loaded.plan
    names = {name for step in plan.steps for name in plan.sources_of(step)}
    return [dataset for dataset in plan.datasets if dataset.name in names]


def missing(loaded: Loaded | Read, datasets: Iterable[Dataset], severity: Severity) -> Iterator[Problem]:
    """Name the datasets that are not there, each with its place."""
    for dataset in datasets:
        location = dataset.location(loaded.directory)
        if dataset.path and loaded.borders.allow(location) and not location.exists():
            what = "file or folder" if dataset.type == "file" else dataset.type
            message = f"dataset {dataset.name!r}: there is no {what} {location}"
            advice = f"Correct the path, or give the data with --input {dataset.name}=PATH."
            yield _problem(loaded, message, advice, _path(dataset), severity=severity)
        if dataset.type == "memory" and not dataset.data:
            message = f"dataset {dataset.name!r} is of type memory, and has no rows"
            advice = f"Write them under data:, or give --input {dataset.name}=FILE."
            yield _problem(loaded, message, advice, ("datasets", dataset.name), severity=severity)


def _parsing(loaded: Loaded, dataset: Dataset, defined: Collection[str]) -> Iterator[Problem]:
    known = [*DOCUMENT_PARSERS, *installed_parsers(), *defined]
    for index, parsing in enumerate(dataset.parsing):
        place = ("datasets", dataset.name, "parsing", index, "function")
        if parsing.function not in known:
            message = f"there is no parsing function {parsing.function!r}"
            yield _problem(loaded, message, did_you_mean(parsing.function, known), place)
        elif parsing.function in defined:
            message = f"the parsing function {parsing.function} is the pipeline's own Python"
            advice = "It runs only with --trust-code: read it first."
            yield _problem(loaded, message, advice, place, severity="warning")


def _output(loaded: Loaded, keys: Collection[str]) -> Iterator[Problem]:
    for key in keys:
        named = getattr(loaded.plan.output, key)
        if not named:
            continue
        place = output_key(loaded, key)
        out = loaded.directory / expanded(named)
        if key == "path" and out.suffix.lower() not in SUFFIXES:
            message = f"the output {named!r} has the suffix {out.suffix or '(none)'}, which names no format"
            yield _problem(loaded, message, f"Formats: {', '.join(SUFFIXES)}.", place)
        if message := harm_to_data(loaded, out):
            yield _problem(loaded, message, "Choose another place for the results.", place)


def harm_to_data(loaded: Loaded, out: Path) -> str:
    """Say what harm results written to `out` would do to the data of a pipeline; empty where they do none."""
    for dataset in loaded.plan.datasets:
        source = dataset.location(loaded.directory).resolve()
        if dataset.path and out.resolve() == source:
            return f"{out} would overwrite the dataset {dataset.name!r}"
        if dataset.path and source.is_dir() and out.resolve().is_relative_to(source):
            return f"{out} would lie in the folder of the dataset {dataset.name!r}, and be read as a record"
    return ""


def _path(dataset: Dataset) -> tuple[str | int, ...]:
    return ("datasets", dataset.name, "path")


def _problem(
    loaded: Loaded | Read, message: str, advice: str, path: tuple[str | int, ...], *, severity: Severity = "error"
) -> Problem:
    place = loaded.positions.place(loaded.positions.nearest(path))
    return Problem(message, advice, **place, severity=severity)
