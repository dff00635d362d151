"""JSON lines: one object per row with its values, its id and where each value was found."""

from __future__ import annotations

import os
from typing import Any

from storage.codec import dump_json
from storage.errors import ExportError
from storage.export.atomic import replacing
from storage.export.cells import plain_json
from storage.export.table import Citation, ResultRow, ResultTable

ROW_KEY, EVIDENCE_KEY = "_row", "_evidence"


def write_jsonl(table: ResultTable, target: str | os.PathLike[str]) -> None:
    """Write one object per row: the columns in order, `_row` (its id) and `_evidence` (citations by column).

    NaN and the infinities, which JSON lacks, become the texts NaN, Infinity, -Infinity.
    The file appears whole or not at all; raises ExportError or DiskFull.
    """
    check_columns(table)
    with replacing(target) as path, path.open("w", encoding="utf-8", newline="\n") as file:
        for row in table.rows:
            file.write(dump_json(row_object(table, row), spaced=True) + "\n")


def check_columns(table: ResultTable) -> None:
    """Refuse columns whose names JSONL and JSON need themselves: raises ExportError."""
    for reserved in (ROW_KEY, EVIDENCE_KEY):
        if reserved in table.columns:
            raise ExportError(
                f"a column is called {reserved}, which JSONL keeps for itself", advice="Rename the field."
            )


def row_object(table: ResultTable, row: ResultRow) -> dict[str, Any]:
    """Make the object of one row. A column that was never looked for is absent from `_evidence`."""
    values = {column: plain_json(row.values.get(column)) for column in table.columns}
    evidence = {
        column: [_citation_object(citation) for citation in row.citations[column]]
        for column in table.columns
        if row.citations.get(column)
    }
    return {**values, ROW_KEY: row.id, EVIDENCE_KEY: evidence}


def _citation_object(citation: Citation) -> dict[str, Any]:
    return {
        "path": citation.path,
        "file": citation.file,
        "page": citation.page,
        "first_line": citation.first_line,
        "last_line": citation.last_line,
        "quote": citation.quote,
        "method": citation.method,
        "score": plain_json(citation.score),
    }
