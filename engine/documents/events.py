"""What ingesting a folder tells its caller."""

from __future__ import annotations

from dataclasses import dataclass

from engine.documents.document import Document
from engine.rows import DocumentId


@dataclass(frozen=True, slots=True)
class Found:
    """The walk is done: so many files will be looked at. Hidden files and folders are passed over."""

    files: int


@dataclass(frozen=True, slots=True)
class Parsed:
    """A new document. `path` of a file inside another continues the path of the outer: `in/mail.eml/scan.pdf`.

    The files inside a document come before it, so a document that is stored has all its children stored. Its
    metadata has a list `children` of `{"name", "id"}`, or `{"name", "reason", "message", "advice"}` for one that
    failed.
    """

    document: Document
    path: str
    parent_id: DocumentId | None
    seconds: float


@dataclass(frozen=True)
class _OfBytes:
    id: DocumentId
    path: str
    parent_id: DocumentId | None


class Known(_OfBytes):
    """A file whose document the caller already has."""


class Duplicate(_OfBytes):
    """The bytes of a file that had an event before in this run; its document has one more path."""


class Unpacked(_OfBytes):
    """A ZIP, which has no text of its own: its members had their events before, hidden ones were passed over.

    A second copy of it has this event too; its members have no second one.
    """


@dataclass(frozen=True, slots=True)
class FileFailed:
    """A file that could not be read; `sha256` is None when not even its bytes could be. `reason`: DocumentError."""

    path: str
    sha256: DocumentId | None
    reason: str
    message: str
    advice: str
    parent_id: DocumentId | None = None


FileEvent = Parsed | Known | Duplicate | Unpacked | FileFailed
"""The event of one file."""
IngestEvent = Found | FileEvent
