"""How a document is made up: where its pages and its sections begin."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from engine.documents.document import Document, Line, OutlineEntry
from engine.documents.headings import Heading, headings


@dataclass(frozen=True, slots=True)
class Structure:
    """The beginnings in a document of `lines` lines: of pages that have lines, `(page, line)`, and of its sections."""

    lines: int
    pages: tuple[tuple[int, int], ...] = ()
    headings: tuple[Heading, ...] = ()


def structure_of(document: Document) -> Structure:
    """Find where pages and sections begin; headings come from the file's own outline if it has one."""
    texts = [line.text for line in document.lines]
    return Structure(
        lines=len(document.lines),
        pages=tuple((page.number, page.lines.first) for page in document.pages if page.lines),
        headings=outline_headings(document) or headings(texts, heights_of_letters(document.lines)),
    )


def heights_of_letters(lines: Sequence[Line]) -> list[float | None]:
    """Return the height of each line's letters; None for OCR, whose boxes follow the ink and tell little of it."""
    return [line.box.y1 - line.box.y0 if line.box and line.source == "text" else None for line in lines]


def outline_headings(document: Document) -> tuple[Heading, ...]:
    """Find the line of each entry: the first on its page that begins with the title, else the page's first."""
    found, after = list[Heading](), 0
    for entry in document.outline:
        line = _line_of(document, entry, after)
        if line is not None:
            after = line
            found.append(Heading(line, entry.level, " ".join(entry.title.split())))
    return tuple(found)


def _line_of(document: Document, entry: OutlineEntry, after: int) -> int | None:
    page = next((p for p in document.pages if p.number >= entry.page and p.lines), None)
    if page is None or page.lines is None:
        return None
    for line in document.lines[page.lines.first - 1 : page.lines.last]:
        if line.number >= after and begins_alike(line.text, entry.title):
            return line.number
    return max(page.lines.first, after)


def begins_alike(text: str, title: str) -> bool:
    """Say whether a line begins with a title, or the title with the line: letters and digits only, in any case."""
    bare, wanted = _bare(text), _bare(title)
    return bool(bare and wanted) and (bare.startswith(wanted) or wanted.startswith(bare))


def _bare(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).casefold()
