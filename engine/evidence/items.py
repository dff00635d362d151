"""Take the values of rows apart: their leaves, and the items (dictionaries) that hold them together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from engine.rows import Row
from engine.values.base import MARKS, ORIGINAL
from engine.values.cells import is_typed

LONGEST_LEAF = 5000
"""Characters. Longer strings are texts of documents, which hold no cell's value as such."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A string, number or boolean in a row's values: its path ('acts[0].date'), its last key, and its item."""

    path: str
    key: str
    value: str | int | float | bool
    item: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Item:
    """One dictionary inside the values of a row that belongs to a document, with the leaves it holds directly."""

    row: Row
    leaves: tuple[Leaf, ...]

    @cached_property
    def values(self) -> frozenset[tuple[str, object]]:
        """The identities of the leaves' values, to compare items by."""
        return frozenset(identity(leaf.value) for leaf in self.leaves)


def identity(value: str | int | float | bool) -> tuple[str, object]:
    """Make a key under which equal values are equal, and True is not 1."""
    if isinstance(value, str):
        return "text", value.strip().casefold()
    return ("boolean" if isinstance(value, bool) else "number"), value


def leaves(path: str, value: object, item: Mapping[str, Any], key: str | None = None) -> Iterator[Leaf]:
    """Walk a value down to its leaves in order; null, blank strings and empty containers have none.

    A typed value (engine.values) has one leaf, the text as it stands in the document. `key` None: it is the path.
    """
    key = path if key is None else key
    if is_typed(value):
        yield from _typed(path, key, value, item)
    elif isinstance(value, Mapping):
        for inner, below in value.items():
            yield from leaves(f"{path}.{inner}", below, value, str(inner))
    elif isinstance(value, str):
        if value.strip():
            yield Leaf(path, key, value, item)
    elif isinstance(value, Sequence):
        for position, below in enumerate(value):
            yield from leaves(f"{path}[{position}]", below, item, key)
    elif isinstance(value, bool | int | float):
        yield Leaf(path, key, value, item)
    elif value is not None:
        raise TypeError(f"{path}: a cell holds JSON values, not {type(value).__name__}")


def _typed(path: str, key: str, value: Mapping[str, Any], item: Mapping[str, Any]) -> Iterator[Leaf]:
    """Give the text that a typed value was read from; of a table, which has none, its cells.

    What code made of the text (2024-03-15) stands in no document. It belongs to the item that the value is a field of.
    """
    if value[ORIGINAL]:
        yield from leaves(f"{path}.{ORIGINAL}", value[ORIGINAL], item, key)
        return
    for name, part in value.items():
        if name not in MARKS:
            yield from leaves(f"{path}.{name}", part, value, name)


def items(row: Row) -> list[Item]:
    """List the dictionaries in a row's values, the row's own values included, that hold a leaf directly."""
    grouped: dict[int, list[Leaf]] = {}
    for column, value in row.values.items():
        for leaf in leaves(column, value, row.values):
            if not isinstance(leaf.value, str) or len(leaf.value) <= LONGEST_LEAF:
                grouped.setdefault(id(leaf.item), []).append(leaf)
    return [Item(row, tuple(group)) for group in grouped.values()]
