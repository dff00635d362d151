"""Group rows by their values: what reduce, code_reduce, sample and topk have in common."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from engine.operators.base import OnErrorNode
from engine.rows import Row
from models.protocol import canonical_json

ALL = "_all"
"""The reduce key of one group of all rows."""


class GroupingNode(OnErrorNode):
    """An operator that makes a row of each group of rows with equal values of `reduce_key`, one field or several."""

    reduce_key: tuple[str, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        keys = (self.reduce_key,) if isinstance(self.reduce_key, str) else tuple(self.reduce_key)
        self.require(bool(keys), "reduce_key names no field", f"Write {ALL} to make one group of all rows.")
        self.require(ALL not in keys or len(keys) == 1, f"{ALL} cannot be combined with other keys")
        object.__setattr__(self, "reduce_key", keys)

    @property
    def keys(self) -> tuple[str, ...]:
        """Return the fields rows are grouped by; none for `_all`."""
        return () if self.reduce_key == (ALL,) else self.reduce_key

    def work_items(self, rows: Sequence[Row]) -> Sequence[Sequence[Row]]:
        """Give the groups of rows that have the keys, the smallest first (as DocETL)."""
        groups = group_rows(rows, self.keys)
        return sorted((group for group in groups if _has(group[0], self.keys)), key=len)


def group_rows(rows: Sequence[Row], keys: Sequence[str]) -> list[list[Row]]:
    """Group by equal JSON values, groups and rows in order. Rows that lack a key are groups that will fail.

    The order of a list does not count, as in DocETL.
    """
    groups: dict[str, list[Row]] = {}
    for row in rows:
        address = written_alike([_unordered(row.values[key]) for key in keys]) if _has(row, keys) else row.id
        groups.setdefault(address, []).append(row)
    return list(groups.values())


def _has(row: Row, keys: Sequence[str]) -> bool:
    return all(key in row.values for key in keys)


def _unordered(value: Any) -> Any:
    return sorted(value, key=written_alike) if isinstance(value, list | tuple) else value


def written_alike(value: Any) -> str:
    """Write a value as JSON, equal ones alike: keys in order, whole numbers without a fraction.

    A letter may be stored with its accent, or with the accent as a character of its own: nobody sees which.
    """
    return canonical_json(_plain(value))


def _plain(value: Any) -> Any:
    match value:
        case Mapping():
            return {key: _plain(value[key]) for key in sorted(value)}
        case list() | tuple():
            return [_plain(item) for item in value]
        case float() if value.is_integer():
            return int(value)
        case str():
            return unicodedata.normalize("NFC", value)
    return value
