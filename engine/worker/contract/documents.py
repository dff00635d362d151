"""Documents of a case: the table, its filters, files that could not be read, and what is new to a question."""

from __future__ import annotations

from dataclasses import dataclass

from engine.documents.outline import Section
from engine.worker.contract.query import Query
from storage.documents import FailedFile
from storage.listing import Facets, ListedDocument

__all__ = ["Facets", "FailedFile", "ListedDocument", "Section"]


@dataclass(frozen=True, slots=True)
class DocumentsPage:
    """Some rows of the table; `total` counts all that fit the filter."""

    total: int
    rows: tuple[ListedDocument, ...]


@dataclass(frozen=True, slots=True)
class FailuresPage:
    """Some of the files that could not be read; `total` counts all of them."""

    total: int
    rows: tuple[FailedFile, ...]


@dataclass(frozen=True, slots=True)
class NewToQuestion:
    """What is new to a question: documents that came after it was asked first, and that it did not read since.

    `run` is one of the runs that it was `asked_in`.
    """

    run: str
    name: str
    asked_in: tuple[str, ...]
    documents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Removal:
    """What would go: documents with their attachments, and rows of results that were made from them, which stay.

    `reviewed` of the rows hold edits of a reviewer.
    """

    documents: int
    rows: int
    reviewed: int


PAGE = Query[DocumentsPage]("documents.page")
FACETS = Query[Facets]("documents.facets")
FAILURES = Query[FailuresPage]("documents.failures")
IDS = Query[tuple[str, ...]]("documents.ids")
NEW = Query[NewToQuestion | None]("documents.new")
OUTLINE = Query[tuple[Section, ...]]("documents.outline")
REMOVAL = Query[Removal]("documents.removal")
TAGS = Query[list[str]]("documents.tags")
