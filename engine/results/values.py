"""Cells as people read, count, compare and type them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from engine.errors import UsageError
from engine.text.dates import PartialDate, parse_date
from engine.values.base import ORIGINAL
from engine.values.cells import cell_text as typed_text
from engine.values.cells import is_typed, main_part, normalised_text, parts, retyped
from storage.export.cells import JOINER, cell_text

_LONGEST_DATE = 60


def is_empty(value: Any) -> bool:
    """Say whether a cell holds nothing: null, the empty text, list or object."""
    return value is None or value in ("", [], {})


def shown(value: Any) -> str:
    """Write a cell on one line as people see it: yes or no, lists joined by `; `, typed values by what they mean."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if is_typed(value):
        return " ".join(typed_text(value).split())
    if isinstance(value, list | tuple) and value and all(map(is_typed, value)):
        return JOINER.join(shown(item) for item in value)
    return " ".join(cell_text(value, "joined").split())


def items(value: Any) -> Iterator[str]:
    """Yield what a cell names, each as text: the items of a list, else the value; nothing for an empty cell."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from items(item)
    elif is_typed(value):
        yield normalised_text(value) or value[ORIGINAL] or shown(value)
    elif not is_empty(value):
        yield shown(value)


def leaves(value: Any) -> Iterator[Any]:
    """Yield the plain values inside a cell: of a typed value what was read, not the text."""
    if is_typed(value):
        for part in parts(value):
            yield from leaves(part)
    elif isinstance(value, dict):
        for inner in value.values():
            yield from leaves(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from leaves(inner)
    elif not is_empty(value):
        yield value


def number_of(value: Any) -> float | None:
    """Read a number: one, a text that is nothing else, or a typed value that begins with one; else None."""
    if is_typed(value):
        main = main_part(value)
        return number_of(main) if isinstance(main, int | float) else None
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    try:
        return float(str(value).replace(",", "")) if isinstance(value, str) else None
    except ValueError:
        return None


def date_of(value: Any) -> tuple[int, int, int] | None:
    """Read a text that is a date: year, month and day, 0 for what it does not say; None where the year is unknown."""
    if is_typed(value):
        value = main_part(value)
    if not isinstance(value, str) or len(value) > _LONGEST_DATE or not any(map(str.isdigit, value)):
        return None
    parsed: PartialDate | None = parse_date(value)
    if parsed is None:
        return None
    return None if parsed.year is None else (parsed.year, parsed.month or 0, parsed.day or 0)


def sort_key(value: Any) -> tuple[int, Any]:
    """Order values that are not empty: numbers, dates, text without regard to letters' case, typed values not read."""
    if isinstance(value, bool):
        return 0, int(value)
    if is_typed(value) and main_part(value) is None:
        return 3, shown(value).casefold()
    if (number := number_of(value)) is not None:
        return 0, number
    if (date := date_of(value)) is not None:
        return 1, date
    return 2, shown(value).casefold()


def typed(text: str, original: Any) -> Any:
    """Read what a person typed in place of `original`, as a value of its kind; empty text is null.

    A list may be typed as JSON or with `; ` between items. Raises UsageError for what is no value of the kind.
    """
    text = text.strip()
    if not text:
        return None
    if isinstance(original, bool):
        if text.casefold() in ("true", "yes", "false", "no"):
            return text.casefold() in ("true", "yes")
        raise UsageError(f"{text!r} is neither yes nor no", advice="Write yes or no.")
    if isinstance(original, int | float):
        number = number_of(text)
        if number is None:
            raise UsageError(f"{text!r} is not a number", advice="Write a number, or nothing.")
        return int(number) if number.is_integer() and "." not in text else number
    if is_typed(original) and not text.startswith("{"):
        return retyped(text, original)
    if isinstance(original, list | dict):
        return _typed_json(text, original)
    return text


def _typed_json(text: str, original: list[Any] | dict[str, Any]) -> Any:
    kind, name = (list, "list") if isinstance(original, list) else (dict, "object")
    try:
        value = json.loads(text)
    except ValueError as error:
        if isinstance(original, list) and not text.startswith("["):
            return [part.strip() for part in text.split(";") if part.strip()]
        raise UsageError(f"this is not a {name}: {error}", advice="Write it as JSON.") from error
    if not isinstance(value, kind):
        if isinstance(original, list):
            return [part.strip() for part in text.split(";") if part.strip()]
        raise UsageError(f"this is not a {name}", advice="Write it as JSON.")
    return value
