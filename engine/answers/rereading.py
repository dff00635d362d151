"""A page read another way where its lines looked garbled: its tables row by row, or by OCR in place of the text layer.

Lines read another way are shown to the model under numbers behind those of the document; each stands for the lines of
the document in the same place of the page, which its values then cite.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from engine.answers.contract import Answer, Item
from engine.answers.shown import Shown
from engine.documents.document import Box, Document, Line
from engine.rows import Span
from engine.text.normalise import plain, words
from engine.text.numbered_text import NumberedText

CELL_MARK = " | "
MOST_PAGES = 3
"""Pages that are read again for one question."""


@dataclass(frozen=True, slots=True)
class OtherLine:
    """A line read another way, and the lines of the document in its place."""

    text: str
    span: Span
    page: int


@dataclass(frozen=True)
class Reread:
    """Lines of some pages, read another way; `how` names it for people."""

    how: str
    lines: tuple[OtherLine, ...]
    first: int

    @property
    def shown(self) -> Shown:
        """Return all of them, to be shown."""
        text = NumberedText.of("\n".join(line.text for line in self.lines), self.first)
        return Shown.of(text, range(len(text.pieces)))

    def page_of(self, line: int) -> int | None:
        """Return the page of a line by its number among those shown."""
        return self.lines[line - self.first].page

    def in_document(self, answer: Answer) -> Answer:
        """Return an answer from these lines with the lines of the document that they stand for."""
        return replace(answer, items=tuple(self._item(item) for item in answer.items))

    def _item(self, item: Item) -> Item:
        numbers = {number for span in item.spans for number in range(span.first, span.last + 1)}
        spans = {self.lines[number - self.first].span for number in numbers}
        return replace(item, spans=tuple(sorted(spans)))


def by_tables(document: Document, pages: Collection[int]) -> Reread | None:
    """Write the tables of pages row by row; None where these pages have none."""
    lines: list[OtherLine] = []
    for table in document.tables:
        inside = [line for line in document.lines if line.page == table.page and _is_inside(line, table.box)]
        if table.page not in pages or not inside:
            continue
        for cells in table.rows:
            if any(cell.strip() for cell in cells):
                text = CELL_MARK.join(" ".join(cell.split()) for cell in cells)
                lines.append(OtherLine(text, _span_of_row(cells, inside), table.page))
    return Reread("tables", tuple(lines), len(document.lines) + 1) if lines else None


def by_other_reading(document: Document, other: Document, pages: Collection[int], how: str) -> Reread | None:
    """Take the lines of another reading of the same file; None where these pages have none with a place."""
    lines = []
    for line in other.lines:
        mine = [candidate for candidate in document.lines if candidate.page == line.page] if line.page in pages else []
        if mine and line.text.strip():
            lines.append(OtherLine(line.text, _span_beside(line, mine), line.page))
    return Reread(how, tuple(lines), len(document.lines) + 1) if lines else None


def _is_inside(line: Line, box: Box) -> bool:
    if line.box is None:
        return False
    middle = (line.box.y0 + line.box.y1) / 2
    return box.y0 <= middle <= box.y1


def _span_of_row(cells: Sequence[str], inside: Sequence[Line]) -> Span:
    """Find the lines that share words with a row of a table; all of the table's where none does."""
    wanted = set(words(plain(" ".join(cells))))
    shared = [line.number for line in inside if wanted & set(words(plain(line.text)))]
    numbers = shared or [line.number for line in inside]
    return Span(numbers[0], numbers[-1])


def _span_beside(line: Line, mine: Sequence[Line]) -> Span:
    """Find the lines of the document at the height of another reading's line; the page's where none is there."""
    box = line.box
    beside = [candidate.number for candidate in mine if box and candidate.box and _are_level(box, candidate.box)]
    numbers = beside or [candidate.number for candidate in mine]
    return Span(numbers[0], numbers[-1])


def _are_level(one: Box, other: Box) -> bool:
    """Tell whether two boxes overlap by more than half of the smaller height: those of neighbouring lines may touch."""
    shared = min(one.y1, other.y1) - max(one.y0, other.y0)
    return 2 * shared > min(one.y1 - one.y0, other.y1 - other.y0)
