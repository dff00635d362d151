"""JSON of the worker becomes the dataclasses that were written as it.

Both sides are of one version and the worker's types are checked, so texts and numbers are taken as they come; a key
that a dataclass does not have, or lacks, raises TypeError.
"""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Literal

Decoder = Callable[[Any], Any]


@functools.cache
def decoder(kind: Any) -> Decoder:
    """Return what makes a value of a type from JSON; types are looked at once. Raises TypeError for one it cannot."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        return _of_union(parts)
    if origin is tuple:
        return _of_tuple(parts)
    if origin is list:
        item = decoder(parts[0])
        return _as_it_is if item is _as_it_is else lambda values: [item(value) for value in values]
    if origin in (dict, Mapping):
        item = decoder(parts[1])
        return _as_it_is if item is _as_it_is else lambda values: {key: item(value) for key, value in values.items()}
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _of_dataclass(kind)
    if origin is Literal or kind in (str, int, float, bool, type(None), Any):
        return _as_it_is
    raise TypeError(f"no JSON becomes {kind}")


def _as_it_is(value: Any) -> Any:
    return value


def _of_tuple(parts: tuple[Any, ...]) -> Decoder:
    if parts[-1] is Ellipsis:
        item = decoder(parts[0])
        return tuple if item is _as_it_is else lambda values: tuple([item(value) for value in values])
    items = [decoder(part) for part in parts]
    return lambda values: tuple([item(value) for item, value in zip(items, values, strict=True)])


def _of_union(parts: tuple[Any, ...]) -> Decoder:
    """Choose by what JSON tells apart: null, and among dataclasses the one that has the keys."""
    others = [part for part in parts if part is not type(None)]
    made = [decoder(part) for part in others]
    if all(read is _as_it_is for read in made):
        return _as_it_is
    if len(others) == 1:
        return lambda value: None if value is None else made[0](value)
    keys = [frozenset(field.name for field in dataclasses.fields(part)) for part in others]

    def decode(value: Any) -> Any:
        if value is None:
            return None
        return next(read(value) for read, known in zip(made, keys, strict=True) if known.issuperset(value))

    return decode


def _of_dataclass(kind: type[Any]) -> Decoder:
    hints = typing.get_type_hints(kind)
    decoders = {field.name: decoder(hints[field.name]) for field in dataclasses.fields(kind)}
    changed = [(name, read) for name, read in decoders.items() if read is not _as_it_is]
    if not changed:
        return lambda value: kind(**value)

    def decode(value: dict[str, Any]) -> Any:
        return kind(**value | {name: read(value[name]) for name, read in changed if name in value})

    return decode
