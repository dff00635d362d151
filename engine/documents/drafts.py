"""What a parser hands over before lines are numbered, and the numbering."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.documents.document import Box, Document, Hidden, Line, LineSource, OutlineEntry, Page, Table
from engine.documents.encoding import well_formed
from engine.rows import DocumentId, Span

Progress = Callable[[str, int], None]
"""Called with ("pages", count) when a file is open and ("page", number) after each page."""


@dataclass(frozen=True, slots=True)
class LineDraft:
    """A line that does not know its number yet."""

    text: str
    box: Box | None = None
    source: LineSource = "text"
    confidence: float | None = None
    bold: bool = False
    hidden: Hidden | None = None


@dataclass(frozen=True, slots=True)
class PageDraft:
    """A page that does not know its number yet; sizes in points, 0 for formats without pages."""

    lines: Sequence[LineDraft]
    width: float = 0.0
    height: float = 0.0
    source: LineSource = "text"
    reason: str = "text file"
    rotation: float = 0.0


@dataclass(frozen=True, slots=True)
class ChildFile:
    """A file found inside another: its name there (no `..`, no drive) and where its bytes were written."""

    name: str
    path: Path


@dataclass(frozen=True, slots=True)
class ChildFailure:
    """A file inside another that could not be taken out; `reason` as in DocumentError."""

    name: str
    reason: str
    message: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Contents:
    """What a parser read from one file. `pages` is None for a plain container (ZIP), which has no text of its own."""

    pages: Sequence[PageDraft] | None
    tables: Sequence[Table] = ()
    outline: Sequence[OutlineEntry] = ()
    metadata: Sequence[tuple[str, Any]] = ()
    warnings: Sequence[str] = ()
    children: Sequence[ChildFile] = ()
    failures: Sequence[ChildFailure] = ()


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """One parsed file: its document (None for a ZIP) and what was found inside it.

    `failures` are members that could not be taken out. `seconds` is how long it took, 0 when it was not measured.
    """

    document: Document | None
    kind: str
    children: tuple[ChildFile, ...] = ()
    failures: tuple[ChildFailure, ...] = ()
    seconds: float = 0.0


def number_lines(drafts: Sequence[PageDraft]) -> tuple[tuple[Page, ...], tuple[Line, ...]]:
    """Give pages and lines their numbers, both from 1, lines over all pages."""
    pages: list[Page] = []
    lines: list[Line] = []
    for number, draft in enumerate(drafts, 1):
        first = len(lines) + 1
        for line in draft.lines:
            marks = (line.source, line.confidence, line.bold, line.hidden)
            lines.append(Line(len(lines) + 1, number, well_formed(line.text), rounded(line.box), *marks))
        span = Span(first, len(lines)) if len(lines) >= first else None
        width, height, rotation = round(draft.width, 2), round(draft.height, 2), round(draft.rotation, 2)
        pages.append(Page(number, width, height, draft.source, draft.reason, span, rotation))
    return tuple(pages), tuple(lines)


def rounded(box: Box | None) -> Box | None:
    """Round a box to 1/100 point: finer than any reader needs, and half the JSON."""
    if box is None:
        return None
    return Box(round(box.x0, 2), round(box.y0, 2), round(box.x1, 2), round(box.y1, 2))


def make_document(contents: Contents, *, id: DocumentId, filename: str, kind: str, size_bytes: int) -> Document:
    """Make a document of what a parser read; `contents.pages` must not be None."""
    pages, lines = number_lines(contents.pages or ())
    return Document(
        id=id,
        filename=filename,
        kind=kind,
        size_bytes=size_bytes,
        pages=pages,
        lines=lines,
        tables=tuple(contents.tables),
        outline=tuple(contents.outline),
        metadata=tuple(contents.metadata),
        warnings=tuple(contents.warnings),
    )


def text_page(text: str, reason: str) -> PageDraft:
    """Make one page without a size of a text; blank lines stay, so numbers match those an editor shows."""
    return PageDraft([LineDraft(line) for line in text.splitlines()], reason=reason)
