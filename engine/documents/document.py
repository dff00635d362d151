"""The Document: pages and globally numbered lines, as every later part sees a file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from engine.rows import DocumentId, Span

LineSource = Literal["text", "ocr"]

Hidden = Literal["covered", "invisible", "white", "off_page", "tiny"]
"""Why a reader of the page does not see a line: something opaque lies on it, it is drawn without ink, in the colour of
its background, outside the page, or in letters under two points."""


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in PDF points (1/72 inch), origin at the top left of the page as displayed."""

    x0: float
    y0: float
    x1: float
    y1: float


@dataclass(frozen=True, slots=True)
class Line:
    """One line. `number` counts from 1 over the whole document; `page` from 1.

    `box` is None for formats without pages (plain text). `confidence` is the OCR engine's, 0..1, None for text.
    `bold`: all its letters are set in bold, as far as the format tells. `hidden`: it is in the file, but a reader of
    the page does not see it; None for an ordinary line.
    """

    number: int
    page: int
    text: str
    box: Box | None = None
    source: LineSource = "text"
    confidence: float | None = None
    bold: bool = False
    hidden: Hidden | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """One page: its size in points as displayed, where its text came from and why, and its lines (None if empty)."""

    number: int
    width: float
    height: float
    source: LineSource
    reason: str
    lines: Span | None
    rotation: float = 0.0


@dataclass(frozen=True, slots=True)
class Table:
    """A table found on a page: rows of cells, the first row being the header when `has_header`."""

    page: int
    box: Box
    rows: tuple[tuple[str, ...], ...]
    has_header: bool

    def holds(self, line: Line) -> bool:
        """Say whether a line stands in the table, or reaches into it."""
        mine, other = self.box, line.box
        if other is None or line.page != self.page:
            return False
        return mine.x0 < other.x1 and other.x0 < mine.x1 and mine.y0 < other.y1 and other.y0 < mine.y1


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """A heading of the file's own outline; `level` counts from 1."""

    level: int
    title: str
    page: int


@dataclass(frozen=True)
class Document:
    """A parsed file, identified by the SHA-256 of its bytes. Line n of `text` is line n, empty where it is hidden."""

    id: DocumentId
    filename: str
    kind: str
    size_bytes: int
    pages: tuple[Page, ...]
    lines: tuple[Line, ...]
    tables: tuple[Table, ...] = ()
    outline: tuple[OutlineEntry, ...] = ()
    metadata: tuple[tuple[str, Any], ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Return the text that a reader of the pages sees; line n of it is `lines[n - 1]`, empty where it is hidden."""
        return "\n".join("" if line.hidden else line.text for line in self.lines)

    def seen(self) -> Document:
        """Return the document as a reader of its pages sees it: hidden lines keep their number and have no text.

        Tables in which a hidden line stands are left out: their cells hold its text.
        """
        hidden = [line for line in self.lines if line.hidden]
        if not hidden:
            return self
        lines = tuple(replace(line, text="") if line.hidden else line for line in self.lines)
        return replace(self, lines=lines, tables=tuple(t for t in self.tables if not any(t.holds(n) for n in hidden)))

    @property
    def whole_text(self) -> str:
        """Return the text with the hidden lines; line n of it is `lines[n - 1]`."""
        return "\n".join(line.text for line in self.lines)
