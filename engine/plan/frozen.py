"""Hashable JSON values for plan nodes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any


class FrozenMap(Mapping[str, Any]):
    """A mapping that never changes and can be hashed; the order of keys is kept but does not count."""

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[str, Any]) -> None:
        self._items = {key: freeze(value) for key, value in items.items()}

    def __getitem__(self, key: str) -> Any:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))

    def __repr__(self) -> str:
        return f"FrozenMap({self._items!r})"


def freeze(value: Any) -> Any:
    """Turn dictionaries into FrozenMap and lists into tuples, at every depth."""
    if isinstance(value, FrozenMap):
        return value
    if isinstance(value, Mapping):
        return FrozenMap(value)
    if isinstance(value, list | tuple):
        return tuple(freeze(item) for item in value)
    return value


def thaw(value: Any) -> Any:
    """Undo `freeze`: plain dictionaries and lists, as JSON and YAML writers need them."""
    if isinstance(value, Mapping):
        return {key: thaw(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [thaw(item) for item in value]
    return value


def digest_of(value: Any) -> str:
    """Identify a plan, a node or any value in one by its content: SHA-256, hexadecimal."""
    body = json.dumps(_canonical(value), ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(body.encode()).hexdigest()


def _canonical(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        body = {f.name: _canonical(getattr(value, f.name)) for f in fields(value)}
        return [getattr(value, "kind", type(value).__name__), body]
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}"
    if isinstance(value, Mapping):
        return {str(key): _canonical(item) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(_canonical(item) for item in value)
    if isinstance(value, list | tuple):
        return [_canonical(item) for item in value]
    return value
