"""How much text the datasets hold, without parsing a document: from the case, else from the files' sizes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from engine.documents.options import ParseOptions
from engine.documents.tables import READ_IN_CHILD, table_rows
from engine.documents.walk import walk
from engine.errors import DocumentError
from engine.executor.datasets import wanted_documents
from engine.executor.translation import open_case
from engine.loader import Loaded
from engine.plan.dataset import Dataset, DatasetType
from engine.plan.sources import fits, kind_of_source
from storage.case import Case
from storage.documents import Documents

ASSUMED_ROWS = 100
ASSUMED_CHARACTERS = 4_000
"""Where a dataset is not there to be looked at."""

BYTES_PER_CHARACTER = {".pdf": 25.0, ".docx": 8.0, ".eml": 1.5, ".msg": 8.0, ".html": 3.0, ".htm": 3.0}
"""Rough, over many public records; a plain text has one. What is not listed in either table is taken for pictures."""
PLAIN_TEXT = frozenset({".txt", ".md", ".csv", ".tsv", ".json", ".jsonl", ".log", ".xml", ".yaml", ".yml"})
PICTURE_CHARACTERS = 1_500

Row = TypeVar("Row")

Looked = Callable[[], None]
"""Hears of each row, file or document before it is looked at; it may raise to stop the work."""


@dataclass(frozen=True, slots=True)
class Item:
    """One row before any operator: what a person calls it, its fields with their characters, its values if known.

    Of documents only the lengths are known. `is_guess`: they are guessed from the size of a file that is no plain text.
    `document` is the id of one that is in the case.
    """

    label: str
    characters: Mapping[str, int]
    values: Mapping[str, Any] | None = None
    is_guess: bool = False
    document: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """The rows of one dataset, and what had to be assumed about them.

    `times`: how many rows like each item there are taken to be (engine.estimate.scale).
    """

    name: str
    items: Sequence[Item]
    assumed: str = ""
    times: float = 1.0


def look_at(
    loaded: Loaded,
    *,
    data: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    case: Path | None = None,
    looked: Looked = lambda: None,
) -> dict[str, Source]:
    """Look at each dataset of a plan; `case`, where it is there, tells of documents that were read before.

    Raises what `looked` does.
    """
    with ExitStack() as stack:
        opened = stack.enter_context(open_case(case, read_only=True)) if case is not None and case.is_file() else None
        return {d.name: _source(d, loaded, data or {}, opened, looked) for d in loaded.plan.datasets}


def _source(
    dataset: Dataset,
    loaded: Loaded,
    data: Mapping[str, Sequence[Mapping[str, Any]]],
    case: Case | None,
    looked: Looked,
) -> Source:
    rows = [*data.get(dataset.name, ()), *dataset.data]
    if rows or dataset.name in data:
        return Source(dataset.name, _items(rows))
    path = dataset.location(loaded.directory)
    if dataset.path and not loaded.borders.allow(path):
        return _unknown(dataset, f"{path} lies outside the folder of the pipeline")
    if dataset.path and not path.exists():
        return _unknown(dataset, f"nothing is at {path}")
    return _at(path, dataset, kind_of_source(dataset, loaded.directory), case, looked)


def _at(path: Path, dataset: Dataset, kind: DatasetType, case: Case | None, looked: Looked) -> Source:
    match kind:
        case "file":
            return _file(dataset, path, looked)
        case "folder":
            return _documents(dataset, path, case, looked)
        case "case" if dataset.path:
            with open_case(path, read_only=True) as opened:
                return Source(dataset.name, _of_case(dataset, opened, looked))
        case "case" if case:
            return Source(dataset.name, _of_case(dataset, case, looked))
    return _unknown(dataset, "its rows are not known before a run")


def _file(dataset: Dataset, path: Path, looked: Looked) -> Source:
    if path.suffix.lower() in READ_IN_CHILD:
        return _unknown(dataset, f"the rows of {path.name} are not counted before a run")
    try:
        rows = _each(table_rows(path, ParseOptions()), looked)
        return Source(dataset.name, _items(values for _, values in rows))
    except DocumentError as error:
        return _unknown(dataset, f"{path} cannot be read ({error})")


def _of_case(dataset: Dataset, case: Case, looked: Looked) -> list[Item]:
    items = []
    wanted = wanted_documents(case, dataset)
    lengths = case.documents.text_lengths(hidden=dataset.include_hidden)
    for entry in _each(wanted, looked):
        path = next((place.path for place in case.documents.paths(entry.id)), entry.filename)
        if fits(path, dataset.glob):
            characters = {"filename": len(entry.filename), "text": lengths[entry.id]}
            items.append(Item(entry.filename, characters, document=entry.id))
    return items


def _each(rows: Iterable[Row], looked: Looked) -> Iterator[Row]:
    for row in rows:
        looked()
        yield row


def _unknown(dataset: Dataset, why: str) -> Source:
    assumed = f"{dataset.name}: {why}; {ASSUMED_ROWS} rows of {ASSUMED_CHARACTERS:,} characters are assumed"
    items = [Item(f"row {number}", {"text": ASSUMED_CHARACTERS}) for number in range(ASSUMED_ROWS)]
    return Source(dataset.name, items, assumed)


def _items(rows: Iterable[Mapping[str, Any]]) -> list[Item]:
    return [Item(f"row {n}", {k: _length(v) for k, v in row.items()}, row) for n, row in enumerate(rows, 1)]


def _length(value: Any) -> int:
    return len(value) if isinstance(value, str) else len(json.dumps(value, ensure_ascii=False, default=str))


def _documents(dataset: Dataset, folder: Path, case: Case | None, looked: Looked) -> Source:
    known = _known_lengths(case.documents, dataset) if case else {}
    items: list[Item] = []
    guessed = 0
    for file in _each(sorted(walk([folder]).files, key=lambda path: path.parts), looked):
        document, length = known.get(str(file), ("", None))
        suffix = file.suffix.lower()
        is_guess = length is None and suffix not in PLAIN_TEXT
        guessed += is_guess
        size = _guess(suffix, file.stat().st_size) if length is None else length
        characters = {"text": size, "filename": len(file.name)}
        items.append(Item(file.name, characters, is_guess=is_guess, document=document))
    assumed = ""
    if guessed:
        assumed = (
            f"{dataset.name}: the text of {guessed} of {len(items)} files is guessed from their size, because they "
            f"are in no case yet; `redwell ingest` reads them"
        )
    return Source(dataset.name, items, assumed)


def _guess(suffix: str, size_bytes: int) -> int:
    if suffix in PLAIN_TEXT:
        return size_bytes
    per_character = BYTES_PER_CHARACTER.get(suffix)
    return round(size_bytes / per_character) if per_character else PICTURE_CHARACTERS


def _known_lengths(documents: Documents, dataset: Dataset) -> dict[str, tuple[str, int]]:
    """Map the paths of documents of the case to their ids and lengths."""
    lengths = documents.text_lengths(hidden=dataset.include_hidden)
    return {place.path: (id, length) for id, length in lengths.items() for place in documents.paths(id)}
