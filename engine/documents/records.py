"""Read CSV, JSON and JSONL as rows."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

from engine.documents.drafts import Contents, LineDraft, PageDraft
from engine.documents.encoding import decode, encoding_of, well_formed
from engine.errors import DocumentError

_DELIMITERS = ",;\t|"
_LONGEST_FIELD = 64 * 1024 * 1024
_BLOCK = 64 * 1024
_HALF_OF_PAIR = re.compile(r"\\u[dD][89a-fA-F]")
_LOOKED_AT_ROWS = 20
_NAMED_DELIMITER = re.compile(r'"?sep=([^\w\s"\x00-\x1f]|\t)"?\s*', re.IGNORECASE)
"""The first line of some files, for Excel."""


def read_rows(path: Path, kind: str | None = None, *, strict: bool = False) -> Iterator[dict[str, Any]]:
    """Yield the rows of a CSV, JSON or JSONL file; `kind` is csv, json or jsonl, by default from the name.

    CSV: the first row names the columns (an unnamed or repeated one gets `column_3`, `name_2`), values are strings,
    missing cells are empty, surplus cells get columns of their own. JSON: a list of objects, or one object. A value
    that is no object becomes `{"value": ...}`; NaN and the infinities become null. `strict` refuses what only looks
    like rows: a key written twice in an object, and objects beside other values. CSV and JSONL are read line by line.
    Raise DocumentError (unreadable, empty, corrupt with line and column).
    """
    kind = kind or kind_of_rows(path)
    try:
        with path.open(encoding=encoding_of(path), errors="replace", newline="") as file:
            rows = _READERS[kind](file, path.name, _Decoder(strict))
            first = next(rows, None)
            if first is None and _is_blank(file):
                raise DocumentError(f"{path.name} holds no rows", reason="empty", advice="Ask for the file again.")
            if first is not None:
                yield first
            yield from rows
    except OSError as error:
        raise DocumentError(
            f"{path} cannot be opened: {error.strerror}",
            reason="unreadable",
            advice="Check that the file exists and that you may read it.",
        ) from error


def kind_of_rows(path: Path) -> str:
    """Name the format of a data file by its suffix: csv, jsonl, else json."""
    kinds = {".csv": "csv", ".tsv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
    return kinds.get(path.suffix.lower(), "json")


def _is_blank(file: TextIO) -> bool:
    file.seek(0)
    return not any(block.strip() for block in iter(lambda: file.read(_BLOCK), ""))


def parse_records(path: Path, kind: str) -> Contents:
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


def _csv_rows(file: TextIO, name: str, decoder: _Decoder) -> Iterator[dict[str, Any]]:
    csv.field_size_limit(_LONGEST_FIELD)
    delimiter = _delimiter(file.read(_BLOCK), first="\t" if name.lower().endswith(".tsv") else "")
    file.seek(0)
    if (named := _NAMED_DELIMITER.fullmatch(file.readline(_BLOCK))) is None:
        file.seek(0)
    else:
        delimiter = named[1]
    reader = csv.reader(file, delimiter=delimiter, strict=True)
    header: list[str] | None = None
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if header is None:
                header = column_names(cells)
                continue
            header = with_surplus(header, len(cells))
            yield dict(zip(header, cells + [""] * (len(header) - len(cells)), strict=True))
    except csv.Error as error:
        raise DocumentError(
            f"{name}, line {reader.line_num + (named is not None)}: {error}",
            reason="corrupt",
            advice="Correct the quotes on this line.",
        ) from error


def _delimiter(text: str, *, first: str) -> str:
    """Take the delimiter that makes most cells of the header: `first` if it makes two, "," where none does.

    One that makes as many of half of the rows goes before others: a header may hold `status (open|closed|pending)`.
    """

    def cells(delimiter: str) -> tuple[bool, int]:
        records = csv.reader(text.lstrip("\r\n").splitlines(keepends=True), delimiter=delimiter)
        counts = [len(record) for record in islice((r for r in records if "".join(r).strip()), _LOOKED_AT_ROWS)]
        header, *rows = counts or [0]
        return header > 1 and 2 * rows.count(header) >= len(rows), header

    return first if first and cells(first)[1] > 1 else max(_DELIMITERS, key=cells)


def column_names(cells: list[str]) -> list[str]:
    """Name columns by the cells of the first row, each differently; one without a name gets its number."""
    names: list[str] = []
    for number, cell in enumerate(cells, 1):
        base = cell.strip() or f"column_{number}"
        name, copy = base, 1
        while name in names:
            copy += 1
            name = f"{base}_{copy}"
        names.append(name)
    return names


def with_surplus(names: list[str], count: int) -> list[str]:
    """Name columns that the first row does not, up to `count` in all."""
    return column_names([*names, *[""] * (count - len(names))]) if count > len(names) else names


def _json_rows(file: TextIO, name: str, decoder: _Decoder) -> Iterator[dict[str, Any]]:
    text = file.read()
    if not text.strip():
        return
    value = decoder.read(text, name, 0)
    for number, item in enumerate(value if isinstance(value, list) else [value], 1):
        yield decoder.row(item, f"{name}, item {number}")


def _jsonl_rows(file: TextIO, name: str, decoder: _Decoder) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(file, 1):
        if line.strip():
            yield decoder.row(decoder.read(line.rstrip("\r\n"), name, number - 1), f"{name}, line {number}")


class _Decoder:
    """Reads the JSON values of one file."""

    def __init__(self, strict: bool) -> None:
        self._pairs = _refuse_repeats if strict else _keep_repeats
        self._strict = strict
        self._first: type | None = None

    def read(self, text: str, name: str, lines_before: int) -> Any:
        try:
            value = json.loads(text, object_pairs_hook=self._pairs, parse_constant=lambda _: None, parse_float=_finite)
            return _well_formed(value) if _HALF_OF_PAIR.search(text) else value
        except json.JSONDecodeError as error:
            place = f"line {lines_before + error.lineno}, column {error.colno}"
            raise DocumentError(
                f"{name}, {place}: {error.msg}", reason="corrupt", advice="Correct the JSON at this place."
            ) from error
        except _RepeatedKey as error:
            place = f", line {lines_before + 1}" if lines_before or "\n" not in text.strip() else ""
            raise DocumentError(
                f"{name}{place}: an object has the key {error.args[0]!r} twice",
                reason="corrupt",
                advice="Rename one of the two: only one of the values could be read.",
            ) from error
        except (RecursionError, ValueError) as error:
            what = "nested too deeply" if isinstance(error, RecursionError) else f"{error}"
            raise DocumentError(f"{name}: {what}", reason="corrupt", advice="Correct the file.") from error

    def row(self, item: Any, place: str) -> dict[str, Any]:
        """Make a row of an item; `strict` wants all items to be objects, or none."""
        kind = dict if isinstance(item, dict) else object
        self._first = self._first or kind
        if self._strict and kind is not self._first:
            raise DocumentError(
                f"{place}: here is {'an object' if kind is dict else 'no object'}, unlike the items before it",
                reason="corrupt",
                advice="Write each row as an object: {...}.",
            )
        return item if isinstance(item, dict) else {"value": item}


def _finite(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


def _well_formed(value: Any) -> Any:
    """Return a value whose texts and keys can be written as UTF-8."""
    if isinstance(value, dict):
        return {well_formed(key): _well_formed(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_well_formed(inner) for inner in value]
    return well_formed(value) if isinstance(value, str) else value


class _RepeatedKey(Exception):
    """An object has a key twice; the argument is the key."""


def _refuse_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _RepeatedKey(key)
            seen.add(key)
    return mapping


def _keep_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object; a key that is there again gets a number, as a column does (`name_2`)."""
    mapping = dict(pairs)
    if len(mapping) == len(pairs):
        return mapping
    return dict(zip(column_names([key for key, _ in pairs]), (value for _, value in pairs), strict=True))


_READERS = {"csv": _csv_rows, "json": _json_rows, "jsonl": _jsonl_rows}
