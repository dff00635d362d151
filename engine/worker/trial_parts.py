"""The parts of a long document that a preview reads: its beginning, and what fits the question best."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from engine.documents.document import Document, Line
from engine.text.ranking import rank_by_text

PIECE_CHARACTERS = 1_500
"""What is read or left out together: lines of one page up to so many characters."""


def best_parts(document: Document, question: str, characters: int) -> tuple[Document, float]:
    """Return the document with at most so many characters left, and the share (0 to 1) of its text that they are.

    The first piece stays, then those whose words fit the question best (BM25), in their order; without a question the
    first ones. Lines that are left out keep their number and have no text, so that every place stays what it was; of a
    line that is longer by itself the beginning stays.
    """
    pieces = list(_pieces(document.lines))
    sizes = [sum(len(line.text) + 1 for line in piece) for piece in pieces]
    total = sum(sizes)
    if total <= characters:
        return document, 1.0
    fits = rank_by_text(question, ["\n".join(line.text for line in piece) for piece in pieces])
    kept, room = set[int](), characters
    for number in sorted(range(len(pieces)), key=lambda number: (number > 0, -fits[number], number)):
        if sizes[number] <= room or number == 0:
            kept.add(number)
            room -= sizes[number]
    left_out = {line.number for number, piece in enumerate(pieces) if number not in kept for line in piece}
    lines = tuple(
        replace(line, text="" if line.number in left_out else line.text[: characters - 1]) for line in document.lines
    )
    gone = [line for line in document.lines if line.number in left_out]
    tables = tuple(table for table in document.tables if not any(table.holds(line) for line in gone))
    return replace(document, lines=lines, tables=tables), sum(len(line.text) + 1 for line in lines if line.text) / total


def _pieces(lines: Sequence[Line]) -> Iterator[list[Line]]:
    piece: list[Line] = []
    size = 0
    for line in lines:
        if piece and (line.page != piece[0].page or size + len(line.text) >= PIECE_CHARACTERS):
            yield piece
            piece, size = [], 0
        piece.append(line)
        size += len(line.text) + 1
    if piece:
        yield piece
