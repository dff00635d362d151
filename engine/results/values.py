"""Cells as people read, count, compare and type them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from engine.errors import UsageError
from engine.text.dates import PartialDate, parse_date
from engine.values.base import ORIGINAL
from engine.values.cells import cell_text as typed_text
from engine.values.cells import is_typed, main_part, normalised_text, parts, retyped
from storage.export.cells import JOINER, cell_text

_MARK = JOINER.strip()
_LONGEST_DATE = 60
_LONGEST_NUMBER = 300
"""Characters; a whole number of more digits may be beyond what a double holds."""
_NUMBER = re.compile(r"[+-]?(?:(?:[1-9]\d{0,2}(?:,\d{3})+|\d+)(?:\.\d*)?|\.\d+)(?:[Ee][+-]?\d+)?", re.ASCII)


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
        yield " ".join((normalised_text(value) or value[ORIGINAL] or shown(value)).split())
    elif not is_empty(value) and (text := shown(value)):
        yield text


def leaves(value: Any, read: Callable[[Mapping[str, Any]], Iterable[Any]] = parts) -> Iterator[Any]:
    """Yield the plain values inside a cell: of a typed value what `read` gives, by default all of its parts."""
    if is_typed(value):
        for part in read(value):
            yield from leaves(part, read)
    elif isinstance(value, dict):
        for inner in value.values():
            yield from leaves(inner, read)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from leaves(inner, read)
    elif not is_empty(value):
        yield value


def number_of(value: Any) -> float | None:
    """Read a number: one, a text that is nothing else, or a typed value that begins with one; else None.

    Thousands may be set apart by commas. What is not finite is none.
    """
    if is_typed(value):
        main = main_part(value)
        return number_of(main) if isinstance(main, int | float) else None
    if isinstance(value, str):
        return _read_number(value.strip())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _read_number(text: str) -> float | None:
    if len(text) > _LONGEST_NUMBER or not _NUMBER.fullmatch(text):
        return None
    plain = text.replace(",", "")
    if plain.lstrip("+-").isdigit():
        return int(plain)
    number = float(plain)
    return number if math.isfinite(number) else None


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
    main = main_part(value) if is_typed(value) else None
    if isinstance(main, str):
        return 2, f"{shown(main)}\0{shown(value)}".casefold()
    return 2, shown(value).casefold()


def typed(text: str, original: Any) -> Any:
    """Read what a person typed in place of `original`, as a value of its kind; empty text is null.

    A list may be typed as JSON or with `; ` between items; objects and lists in it are JSON. Raises UsageError for
    what is no value of the kind.
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
            raise UsageError(f"{text!r} is not a number", advice="Write it as 1234.5 or 1,234.5, or write nothing.")
        return int(number) if "." not in text and number == int(number) else number
    if is_typed(original) and not text.startswith("{"):
        return retyped(text, original)
    if isinstance(original, list):
        return _typed_list(text, original)
    return _typed_object(text) if isinstance(original, dict) else text


def _typed_list(text: str, original: list[Any]) -> list[Any]:
    """Read the items of a list; those of several kinds, objects and lists are JSON."""
    kinds = {_kind(item) for item in original if item is not None}
    is_json = text.startswith("[") or (kinds == {dict} and text.startswith("{"))
    is_plain = all(map(is_typed, original)) or (len(kinds) < 2 and kinds.isdisjoint((dict, list)))
    if is_json or not is_plain:
        return _json_items(text, kinds)
    known = {shown(item): item for item in original if not is_empty(item)}
    written = _cut(" ".join(text.split()), known)
    like = next((item for item in original if item is not None), "")
    likes = original if len(written) == len(original) else [like] * len(written)
    return [
        known[part] if part in known else typed(part, like if same is None else same)
        for part, same in zip(written, likes, strict=True)
    ]


def _cut(text: str, known: Collection[str]) -> list[str]:
    """Cut a list, typed with `;` between its items, into them; an item that was there may itself hold a `;`.

    Raises UsageError where one that was there holds a `;` and is not in the text as it was.
    """
    parts: list[str] = []
    missing = {item for item in known if _MARK in item}
    longest_first = sorted(missing, key=len, reverse=True)
    while text:
        whole = next((item for item in longest_first if f"{text};".startswith(f"{item};")), None)
        part = text.partition(_MARK)[0] if whole is None else whole
        missing.discard(part)
        parts.append(part.strip())
        text = text[len(part) + 1 :].lstrip()
    if missing:
        raise UsageError("an item of this list holds a ;, which parts its items", advice=_ITEMS_ADVICE)
    return [part for part in parts if part]


def _kind(value: Any) -> type:
    """Return the type of a JSON value, the same for all numbers."""
    return float if type(value) is int else type(value)


def _json_items(text: str, kinds: set[type]) -> list[Any]:
    """Read a JSON list, or its items with `;` between them; `kinds` are those of its items, empty for any."""
    try:
        items = list(_json_values(text))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"this is not a list: {error}", advice=_ITEMS_ADVICE) from error
    whole = items[0]
    if len(items) == 1 and isinstance(whole, list) and (list not in kinds or all(isinstance(i, list) for i in whole)):
        items = whole
    if kinds and not {_kind(item) for item in items if item is not None} <= kinds:
        raise UsageError("the items of the list are of another kind", advice=_ITEMS_ADVICE)
    return items


def _json_values(text: str) -> Iterator[Any]:
    """Yield JSON values that have `;` between them; raises ValueError for other text."""
    at = 0
    while at < len(text):
        value, end = _JSON.raw_decode(text, at)
        between = _BETWEEN.match(text, end)
        if between is None:
            raise ValueError(f"a ; belongs at character {end + 1}")
        yield value
        at = between.end()


def _typed_object(text: str) -> dict[str, Any]:
    try:
        value = _JSON.decode(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"this is not an object: {error}", advice="Write it as JSON.") from error
    if not isinstance(value, dict):
        raise UsageError("this is not an object", advice="Write it as JSON.")
    return value


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large, or is no number")
    return number


_JSON = json.JSONDecoder(parse_float=_finite, parse_constant=_finite)
_BETWEEN = re.compile(r"\s*(?:;\s*|$)")
_ITEMS_ADVICE = "Write its items as JSON, as they stood there, with ; between them."
