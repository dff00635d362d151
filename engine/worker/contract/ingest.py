"""What reading a folder would take, before it is read."""

from __future__ import annotations

from dataclasses import dataclass

from engine.worker.contract.query import Query


@dataclass(frozen=True, slots=True)
class KindEstimate:
    """Files of one kind; `other` are files that no kind is known for by name."""

    kind: str
    files: int
    pages: int
    seconds: float
    is_measured: bool


@dataclass(frozen=True, slots=True)
class IngestEstimate:
    """What is in a folder. All but `files`, `known` and `gone` is of the files that are to be read.

    `known` of the `files` are in the case already, or could not be read, and have not changed since; `removed` of these
    were taken out of the case, `unread` could not be read. `gone` says which files were read before and are not there
    now.
    """

    folder: str
    files: int
    known: int
    removed: int
    unread: int
    bytes: int
    gone: str
    pages: int
    seconds: float
    is_measured: bool
    kinds: tuple[KindEstimate, ...]


ESTIMATE = Query[IngestEstimate]("ingest.estimate")
FOLDERS = Query[list[str]]("ingest.folders")
