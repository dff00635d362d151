"""Whether a row's text is the lines of its document, and which."""

from __future__ import annotations

from engine.operators.base import Tools
from engine.rows import Row


def first_line_of(row: Row, text: str, tools: Tools) -> int | None:
    """Return the document line on which a row's text begins; None when the text is not those lines.

    A text whose number of lines differs from that of the row's span, or of its document, was made from them (a
    summary).
    """
    if row.document_id is None or not text:
        return None
    ends = text.count("\n")
    lines = ends + (not text.endswith("\n"))
    if row.span is not None:
        return row.span.first if lines == row.span.last - row.span.first + 1 else None
    # Behind a line end at the end of a document's text stands its last line, an empty one.
    return 1 if tools.structure(row.document_id).lines in (lines, ends + 1) else None
