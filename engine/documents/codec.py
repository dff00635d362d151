"""Documents as JSON and back, exactly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.documents.document import Box, Document, Hidden, Line, OutlineEntry, Page, Table
from engine.rows import DocumentId, Span

FORMAT = 1


def document_to_json(document: Document) -> dict[str, Any]:
    """Return the document as a JSON object; `document_from_json` gives an equal document back.

    Lines are lists `[page, text, box, source, confidence]` in order, so their numbers are implied; `bold` numbers the
    bold ones, `hidden` has a pair `[number, how]` for each hidden one (both absent in cases of versions that did not
    look).
    """
    return {
        "format": FORMAT,
        "id": document.id,
        "filename": document.filename,
        "kind": document.kind,
        "size_bytes": document.size_bytes,
        "pages": [_page_to_json(page) for page in document.pages],
        "lines": [[ln.page, ln.text, box_to_json(ln.box), ln.source, ln.confidence] for ln in document.lines],
        "bold": [ln.number for ln in document.lines if ln.bold],
        "hidden": [[ln.number, ln.hidden] for ln in document.lines if ln.hidden],
        "tables": [[t.page, box_to_json(t.box), [list(r) for r in t.rows], t.has_header] for t in document.tables],
        "outline": [[entry.level, entry.title, entry.page] for entry in document.outline],
        "metadata": dict(document.metadata),
        "warnings": list(document.warnings),
    }


def document_from_json(value: Mapping[str, Any]) -> Document:
    """Rebuild a document written by `document_to_json`; raise ValueError for another format."""
    _check_format(value)
    return Document(
        id=DocumentId(value["id"]),
        filename=value["filename"],
        kind=value["kind"],
        size_bytes=value["size_bytes"],
        pages=tuple(_page_from_json(number, page) for number, page in enumerate(value["pages"], 1)),
        lines=lines_from_json(value, 1, len(value["lines"])),
        tables=tuple(_table_from_json(table) for table in value["tables"]),
        outline=tuple(OutlineEntry(*entry) for entry in value["outline"]),
        metadata=tuple(value["metadata"].items()),
        warnings=tuple(value["warnings"]),
    )


def page_from_json(value: Mapping[str, Any], number: int) -> Page:
    """Rebuild one page of a document written by `document_to_json`; raise ValueError for another format."""
    _check_format(value)
    return _page_from_json(number, value["pages"][number - 1])


def lines_from_json(value: Mapping[str, Any], first: int, last: int) -> tuple[Line, ...]:
    """Rebuild some lines of a document written by `document_to_json`, both inclusive, and no others."""
    bold = frozenset(value.get("bold", ()))
    hidden = dict(value.get("hidden", ()))
    return tuple(
        _line_from_json(number, line, bold=number in bold, hidden=hidden.get(number))
        for number, line in enumerate(value["lines"][first - 1 : last], first)
    )


def box_to_json(box: Box | None) -> list[float] | None:
    """Return `[x0, y0, x1, y1]`, or None."""
    return None if box is None else [box.x0, box.y0, box.x1, box.y1]


def box_from_json(value: list[float] | None) -> Box | None:
    """Read what `box_to_json` wrote."""
    return None if value is None else Box(*value)


def _page_to_json(page: Page) -> dict[str, Any]:
    return {
        "width": page.width,
        "height": page.height,
        "source": page.source,
        "reason": page.reason,
        "lines": None if page.lines is None else [page.lines.first, page.lines.last],
        "rotation": page.rotation,
    }


def _page_from_json(number: int, value: Mapping[str, Any]) -> Page:
    lines = value["lines"]
    return Page(
        number=number,
        width=value["width"],
        height=value["height"],
        source=value["source"],
        reason=value["reason"],
        lines=None if lines is None else Span(*lines),
        rotation=value["rotation"],
    )


def _check_format(value: Mapping[str, Any]) -> None:
    if value.get("format") != FORMAT:
        raise ValueError(f"a stored document of format {value.get('format')!r}; this program reads format {FORMAT}")


def _line_from_json(number: int, value: list[Any], *, bold: bool, hidden: Hidden | None) -> Line:
    page, text, box, source, confidence = value
    return Line(number, page, text, box_from_json(box), source, confidence, bold, hidden)


def _table_from_json(value: list[Any]) -> Table:
    page, box, rows, has_header = value
    return Table(page, Box(*box), tuple(tuple(row) for row in rows), has_header)
