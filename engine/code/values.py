"""What may pass between a pipeline's code and the engine: plain JSON values. Standard library only."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

DEEPEST = 100
"""Levels of lists and dictionaries inside each other."""

LARGEST_BITS = 1024
"""Bits of a whole number: as many as a float can tell the size of."""

_REMEDIES = {
    "set": "return sorted(...) or list(...)",
    "frozenset": "return sorted(...) or list(...)",
    "bytes": "return ....decode()",
    "date": "return ....isoformat()",
    "datetime": "return ....isoformat()",
    "Decimal": "return float(...) or str(...)",
    "Fraction": "return float(...) or str(...)",
    "generator": "return list(...)",
    "coroutine": "write def, not async def",
}


class NotPlain(ValueError):
    """A value that JSON cannot hold; the message says where it is."""


def plain(value: Any, path: str = "result", depth: int = 0) -> Any:
    """Copy a value as plain JSON: tuples become lists, whole numbers as keys become text; raises NotPlain."""
    if value is None or value is True or value is False:
        return value
    if depth >= DEEPEST and isinstance(value, Mapping | list | tuple):
        raise NotPlain(f"the result is nested deeper than {DEEPEST} levels, or contains itself")
    match value:
        case str():
            return _text(value, path)
        case int():
            return _whole(value, path)
        case float():
            return _number(value, path)
        case Mapping():
            return _dictionary(value, path, depth)
        case list() | tuple():
            return [plain(item, f"{path}[{index}]", depth + 1) for index, item in enumerate(value)]
    name = type(value).__name__
    remedy = f"; {_REMEDIES[name]}" if name in _REMEDIES else ""
    raise NotPlain(f"{path} is of type {name}, which JSON cannot hold{remedy}")


def _text(value: str, path: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise NotPlain(f"{path} has half a surrogate pair at character {error.start}, which is no text") from error
    return str.__str__(value)


def _whole(value: int, path: str) -> int:
    if value.bit_length() > LARGEST_BITS:
        raise NotPlain(f"{path} is a number of {value.bit_length()} bits; at most {LARGEST_BITS} can be kept")
    return int(value)


def _number(value: float, path: str) -> float:
    if not math.isfinite(value):
        raise NotPlain(f"{path} is {float(value)}, which JSON cannot hold; return None")
    return float(value)


def _dictionary(value: Mapping[Any, Any], path: str, depth: int) -> dict[str, Any]:
    copied: dict[str, Any] = {}
    for key, item in value.items():
        if isinstance(key, bool) or not isinstance(key, str | int):
            raise NotPlain(f"{path} has a key of type {type(key).__name__}; keys are text")
        name = _text(key if isinstance(key, str) else str(_whole(key, path)), f"a key of {path}")
        if name in copied:
            raise NotPlain(f"{path} has the key {name!r} twice, as a number and as text")
        copied[name] = plain(item, f"{path}[{name!r}]", depth + 1)
    return copied
