"""How a document is made up: where its pages and its sections begin."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from engine.documents.document import Document, OutlineEntry
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
    # OCR's boxes follow the ink: their heights tell little of the letters' size.
    heights = [line.box.y1 - line.box.y0 if line.box and line.source == "text" else None for line in document.lines]
    return Structure(
        lines=len(document.lines),
        pages=tuple((page.number, page.lines.first) for page in document.pages if page.lines),
        headings=tuple(_from_outline(document)) or headings(texts, heights),
    )


def _from_outline(document: Document) -> Iterator[Heading]:
    """Find the line of each entry: the first on its page that begins with the title, else the page's first."""
    after = 0
    for entry in document.outline:
        line = _line_of(document, entry, after)
        if line is not None:
            after = line
            yield Heading(line, entry.level, " ".join(entry.title.split()))


def _line_of(document: Document, entry: OutlineEntry, after: int) -> int | None:
    page = next((p for p in document.pages if p.number >= entry.page and p.lines), None)
    if page is None or page.lines is None:
        return None
    title = _bare(entry.title)
    for line in document.lines[page.lines.first - 1 : page.lines.last]:
        bare = _bare(line.text)
        if line.number >= after and title and bare and (bare.startswith(title) or title.startswith(bare)):
            return line.number
    return max(page.lines.first, after)


def _bare(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).casefold()
