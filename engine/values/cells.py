"""Cells of a results table that hold a typed value: told from other objects by `original` and `problem`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard

from engine.errors import UsageError
from engine.values.base import MARKS, ORIGINAL, PROBLEM, ValueType
from engine.values.registry import names, value_type

UNREAD = "?"
"""Stands before a value that could not be read, or that needs a look."""


def is_typed(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Say whether a value of a row is a typed value."""
    return isinstance(value, Mapping) and all(mark in value for mark in MARKS)


def main_part(value: Mapping[str, Any]) -> Any:
    """Return the part of a typed value that it is sorted and compared by: the first that is known; None for none."""
    return next(parts(value), None)


def parts(value: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the parts that are known, in order."""
    yield from (part for name, part in value.items() if name not in MARKS and part not in (None, "", []))


def dated_parts(value: Mapping[str, Any]) -> Iterator[str]:
    """Yield the parts that may be days: texts of a type of one's own or of dates, no badges of people and no sums."""
    kind = _kind_of(value)
    if kind is None or kind.name in ("date", "date_range"):
        yield from (part for part in parts(value) if isinstance(part, str))


def normalised_text(value: Mapping[str, Any]) -> str:
    """Write what code read: `1200 USD per claim`; nothing where it read nothing."""
    known = {name: part for name, part in value.items() if name not in MARKS}
    if set(known) == {"headers", "rows"}:
        return _table_text(known)
    if set(known) == {"start", "end"} and any(known.values()):
        return f"{known['start'] or '…'}/{known['end'] or '…'}"
    if {"last", "first", "middle"} <= set(known):
        known = {name: known.get(name) for name in ("rank", "first", "middle", "last", "suffix", "badge")}
    return " ".join(str(part) for part in known.values() if part not in (None, "", []))


def _table_text(table: Mapping[str, Any]) -> str:
    rows = table["rows"] or []
    heads = ", ".join(map(str, table["headers"] or []))
    return f"{len(rows)} {'row' if len(rows) == 1 else 'rows'}: {heads}" if rows else ""


def cell_text(value: Mapping[str, Any]) -> str:
    """Write a typed value as people see it: what was read, then the text if it is another; `?` where to look."""
    read, original = normalised_text(value), value[ORIGINAL] or ""
    shown = read if not original or read == original else f"{read} ({original})".strip()
    return f"{UNREAD} {shown}".strip() if value[PROBLEM] else shown


def retyped(text: str, cell: Mapping[str, Any]) -> dict[str, Any]:
    """Read what a person typed in place of a typed value, by the type whose parts it has.

    Raises UsageError where the text cannot be read as one without doubt.
    """
    text = _edited_part(text, cell)
    kind = _kind_of(cell)
    if kind is None or kind.model_schema().get("type") != "string":
        raise UsageError("this value has several fields", advice="Write it as JSON, as it stands.")
    made: dict[str, Any] = kind.cell(text)
    if made[PROBLEM] and main_part(made) is None:
        raise UsageError(f"{text!r} cannot be read: {made[PROBLEM]}", advice=_ADVICE.get(kind.name, ""))
    return made


def _edited_part(text: str, cell: Mapping[str, Any]) -> str:
    """Return the part of `read (original)`, as the cell is shown, that a person has changed."""
    text = " ".join(text.split()).removeprefix(UNREAD).strip()
    read, written = (" ".join(part.split()) for part in (normalised_text(cell), str(cell[ORIGINAL] or "")))
    if read and written and text != written and text.endswith(f"({written})"):
        return text.removesuffix(f"({written})").strip() or written
    if read and text.startswith(f"{read} (") and text.endswith(")"):
        return text[len(read) + 2 : -1].strip()
    return text


_ADVICE = {
    "date": "Write it as 2024-03-15.",
    "date_range": "Write it as 2024-03-15 to 2024-03-31.",
    "amount": "Write it with the code of its currency: USD 1,200.50.",
}


def _kind_of(cell: Mapping[str, Any]) -> ValueType | None:
    wanted = {name for name in cell if name not in MARKS}
    kinds = (value_type(name) for name in names())
    return next((kind for kind in kinds if kind.part_names and set(kind.part_names) == wanted), None)
