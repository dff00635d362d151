"""JSON that comes from another program, read as the types that a function or a dataclass declares."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

from engine.errors import UsageError
from engine.language.position import did_you_mean
from models.paths import expanded

Made = TypeVar("Made")

_NAMES = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
_NAME_FILES = ("case", "pipeline")
"""Keys that name a file."""


def read_dataclass(where: str, kind: type[Made], value: Mapping[str, Any]) -> Made:
    """Read an object as a dataclass; `where` begins each message. Raises UsageError."""
    fields = dataclasses.fields(kind)  # type: ignore[arg-type]
    wanted = {f.name: f.default is f.default_factory is dataclasses.MISSING for f in fields}
    return kind(**read_object(where, wanted, typing.get_type_hints(kind), value))


def read_object(
    where: str, wanted: Mapping[str, bool], hints: Mapping[str, Any], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Read an object's keys by their types; `wanted` says of each key whether it must be there. Raises UsageError."""
    for key in given:
        if key not in wanted:
            advice = did_you_mean(key, tuple(wanted)) or "It takes none."
            raise UsageError(f"{where}: unknown key {key!r}", advice=advice)
    for key, is_needed in wanted.items():
        if is_needed and key not in given:
            raise UsageError(f"{where}: the key {key!r} is missing", advice=f"Keys: {', '.join(wanted)}.")
        if key in _NAME_FILES and isinstance(path := given.get(key), str):
            _refuse_no_file(f"{where}: {key}", path, is_needed=is_needed)
    return {key: _value(f"{where}: {key}", hints[key], value) for key, value in given.items()}


def _refuse_no_file(where: str, path: str, *, is_needed: bool) -> None:
    if (path or is_needed) and not Path(path).name:
        raise UsageError(f"{where} must be a file, not {path!r}", advice="Name a file.")


def _value(where: str, hint: Any, value: Any) -> Any:
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return None if value is None else _value(where, next(part for part in parts if part is not type(None)), value)
    if origin is Literal:
        if value not in parts:
            raise UsageError(f"{where} is {value!r}", advice=f"Write one of {', '.join(map(str, parts))}.")
        return value
    if origin is tuple:
        return tuple(_value(where, parts[0], item) for item in _list(where, parts[0], value))
    is_record = dataclasses.is_dataclass(hint)
    if is_record or origin in (dict, Mapping):
        if not isinstance(value, dict):
            raise UsageError(f"{where} must be an object")
        return read_dataclass(where, hint, value) if is_record else value
    if hint is Path:
        return expanded(_plain(where, str, value))
    return _plain(where, hint, value)


def _list(where: str, kind: Any, value: Any) -> list[Any]:
    """Return a list; a single text stands for the list that holds it."""
    holds_texts = kind in (str, Path)
    if holds_texts and isinstance(value, str):
        return [value]
    if not isinstance(value, list):
        raise UsageError(f"{where} must be {'text or a list of texts' if holds_texts else 'a list'}, not {value!r}")
    return value


def _plain(where: str, kind: Any, value: Any) -> Any:
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if kind is Any or (isinstance(value, kind) and (kind is bool or not isinstance(value, bool))):
        return value
    raise UsageError(f"{where} must be {_NAMES.get(kind, kind)}, not {value!r}")
