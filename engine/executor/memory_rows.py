"""Rows that Python hands over, as JSON holds them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from datetime import date, time
from typing import Any

from engine.errors import UsageError

Rows = tuple[Mapping[str, Any], ...]


def checked_rows(rows: Iterable[Mapping[str, Any]]) -> Rows:
    """Copy rows into plain JSON values; raises UsageError naming the row and field that no JSON can hold.

    As in data files, NaN and the infinities become null, and dates ISO text: so pandas gives what is missing. Arrays of
    numpy become lists.
    """
    return tuple(_checked(number, row) for number, row in enumerate(rows))


def _checked(number: int, row: Any) -> Mapping[str, Any]:
    if not isinstance(row, Mapping):
        raise UsageError(
            f"row {number} is {type(row).__name__}, not a mapping of fields to values",
            advice="Give dictionaries: [{'text': ...}, ...].",
        )
    _refuse_repeated(row, f"row {number}")
    return {str(key): _json_value(value, f"row {number}, field {key!r}") for key, value in row.items()}


def _refuse_repeated(row: Mapping[Any, Any], where: str) -> None:
    """Raise UsageError for keys that are one name in JSON, such as 1 and "1"."""
    names: dict[str, Any] = {}
    for key in row:
        if (other := names.setdefault(str(key), key)) is not key:
            raise UsageError(
                f"{where} has the keys {other!r} and {key!r}, which are one name in JSON", advice="Rename one of them."
            )


def _json_value(value: Any, where: str) -> Any:
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return float(value) if math.isfinite(value) else None
        case date() | time():  # a missing time of pandas is not equal to itself
            return value.isoformat() if value == value else None  # noqa: PLR0124
        case Mapping():
            _refuse_repeated(value, where)
            return {str(key): _json_value(item, where) for key, item in value.items()}
        case list() | tuple():
            return [_json_value(item, where) for item in value]
    return _json_value(_plain(value, where), where)


def _plain(value: Any, where: str) -> Any:
    """Return a value of numpy or pandas as Python has it: a number, a list for an array, None for what is missing."""
    if type(value).__name__ == "NAType":
        return None
    dtype = getattr(value, "dtype", None)
    kind = getattr(dtype, "kind", "")
    try:
        if kind in ("M", "m"):  # times: of nanoseconds numpy gives plain numbers
            is_number = type(value).__module__ == "numpy" and str(getattr(dtype, "str", "")).endswith("[ns]")
            return (value.astype(f"{kind}8[us]") if is_number else value).tolist()
        return value.tolist() if getattr(value, "ndim", 0) else json.loads(json.dumps(value.item()))
    except (AttributeError, TypeError, ValueError):
        raise UsageError(
            f"{where}: {type(value).__name__} is no JSON value",
            advice="Use text, numbers, dates, true, false, null, lists and dictionaries.",
        ) from None
