"""Read CSV, JSON and JSONL as rows."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine.documents.drafts import Contents, LineDraft, PageDraft
from engine.documents.encoding import decode
from engine.errors import DocumentError

_DELIMITERS = ",;\t|"
_LONGEST_FIELD = 64 * 1024 * 1024


def read_rows(path: Path, kind: str | None = None) -> Iterator[dict[str, Any]]:
    """Yield the rows of a CSV, JSON or JSONL file; `kind` is csv, json or jsonl, by default from the name.

    CSV: the first row names the columns (an unnamed or repeated one gets `column_3`, `name_2`), values are strings,
    missing cells are empty, surplus cells get columns of their own. JSON: a list of objects, or one object. A value
    that is no object becomes `{"value": ...}`. Raise DocumentError (unreadable, empty, corrupt with line and column).
    """
    kind = kind or {".csv": "csv", ".tsv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl"}.get(
        path.suffix.lower(), "json"
    )
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DocumentError(
            f"{path} cannot be opened: {error.strerror}",
            reason="unreadable",
            advice="Check that the file exists and that you may read it.",
        ) from error
    text, _, _ = decode(data)
    if not text.strip():
        raise DocumentError(f"{path.name} holds no rows", reason="empty")
    yield from _READERS[kind](text, path.name)


def parse_records(path: Path, name: str, kind: str) -> Contents:
    """Read a CSV, JSON or JSONL file as a document: one line per row, `column: value; column: value`."""
    _, encoding, warnings = decode(path.read_bytes())
    rows = list(read_rows(path, kind))
    lines = [LineDraft(_as_line(row)) for row in rows]
    page = PageDraft(lines, reason=f"{kind.upper()} file, one line per row")
    return Contents([page], metadata=[("encoding", encoding), ("rows", len(rows))], warnings=warnings)


def _as_line(row: dict[str, Any]) -> str:
    cells = (f"{key}: {_as_text(value)}" for key, value in row.items() if value not in (None, ""))
    return " ".join("; ".join(cells).split())


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _csv_rows(text: str, name: str) -> Iterator[dict[str, Any]]:
    csv.field_size_limit(_LONGEST_FIELD)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text), strict=True)
    header: list[str] | None = None
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if header is None:
                header = _column_names(cells)
                continue
            header += [f"column_{number}" for number in range(len(header) + 1, len(cells) + 1)]
            yield dict(zip(header, cells + [""] * (len(header) - len(cells)), strict=True))
    except csv.Error as error:
        raise DocumentError(
            f"{name}, line {reader.line_num}: {error}", reason="corrupt", advice="Mend the quotes on this line."
        ) from error


def _delimiter(text: str) -> str:
    """Take the delimiter that occurs most in the first line with any, outside quotes."""
    for line in text.splitlines()[:20]:
        bare = "".join(line.split('"')[::2])
        best = max(_DELIMITERS, key=bare.count)
        if best in bare:
            return best
    return ","


def _column_names(cells: list[str]) -> list[str]:
    names: list[str] = []
    for number, cell in enumerate(cells, 1):
        base = cell.strip() or f"column_{number}"
        name, copy = base, 1
        while name in names:
            copy += 1
            name = f"{base}_{copy}"
        names.append(name)
    return names


def _json_rows(text: str, name: str) -> Iterator[dict[str, Any]]:
    value = _load(text, name, 0)
    for item in value if isinstance(value, list) else [value]:
        yield _as_object(item)


def _jsonl_rows(text: str, name: str) -> Iterator[dict[str, Any]]:
    # Only \n ends a record: JSON strings may hold U+2028 and the other marks that splitlines() knows.
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield _as_object(_load(line, name, number - 1))


def _load(text: str, name: str, lines_before: int) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        place = f"line {lines_before + error.lineno}, column {error.colno}"
        raise DocumentError(
            f"{name}, {place}: {error.msg}", reason="corrupt", advice="Mend the JSON at this place."
        ) from error
    except RecursionError as error:
        raise DocumentError(f"{name}: nested too deeply", reason="corrupt") from error


def _as_object(item: Any) -> dict[str, Any]:
    return item if isinstance(item, dict) else {"value": item}


_READERS = {"csv": _csv_rows, "json": _json_rows, "jsonl": _jsonl_rows}
