"""Tables of a PDF page, where ruling lines make them likely.

Measured on forms, filings and lists: the line-based finder takes 0.02 to 0.1 s a page and keeps the words apart; the
layout model that PyMuPDF puts before it takes 0.1 to 0.5 s, joins words and takes court captions for tables.
"""

from __future__ import annotations

from typing import Any

from engine.documents.document import Box, Table
from engine.documents.pdf_text import TextLayer

_LEAST_RULES = 4
_MOST_RULES = 3000


def find_tables(page: Any, number: int, layer: TextLayer) -> list[Table]:
    """Return the tables of at least two rows and two columns; page `number` counts from 1."""
    if not _LEAST_RULES <= len(layer.rules) <= _MOST_RULES:
        return []
    found = page.find_tables(use_layout=False).tables
    return [_table(table, number) for table in found if table.row_count >= 2 and table.col_count >= 2]


def _table(table: Any, number: int) -> Table:
    rows = tuple(tuple(" ".join((cell or "").split()) for cell in row) for row in table.extract())
    header = table.header
    # An outer header lies above the grid and is not among the extracted rows.
    has_header = bool(header and not header.external and any(header.names))
    return Table(number, Box(*(round(float(v), 2) for v in table.bbox)), rows, has_header)
