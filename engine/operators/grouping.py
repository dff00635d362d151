"""Group rows by their values: what reduce, code_reduce, sample and topk have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.operators.accounting import require
from engine.plan.node import Node
from engine.rows import Row
from models.protocol import canonical_json

ALL = "_all"
"""The reduce key of one group of all rows."""


def reduce_keys(node: Node, written: str | Sequence[str]) -> tuple[str, ...]:
    """Read `reduce_key`, one field or several; raises PipelineError for none, and for ALL beside others."""
    keys = (written,) if isinstance(written, str) else tuple(written)
    require(node, bool(keys), "reduce_key names no field", f"Write {ALL} to make one group of all rows.")
    require(node, ALL not in keys or len(keys) == 1, f"{ALL} cannot be combined with other keys")
    return keys


def group_rows(rows: Sequence[Row], keys: Sequence[str]) -> list[list[Row]]:
    """Group by equal JSON values, groups and rows in order. Rows that lack a key are groups that will fail.

    The order of a list does not count, as in DocETL.
    """
    groups: dict[str, list[Row]] = {}
    for row in rows:
        address = written_alike([_unordered(row.values[key]) for key in keys]) if _has(row, keys) else row.id
        groups.setdefault(address, []).append(row)
    return list(groups.values())


def by_size(groups: Sequence[list[Row]], keys: Sequence[str]) -> list[list[Row]]:
    """Return the groups that a `limit` counts, the smallest first (as DocETL): those of rows that have the keys."""
    return sorted((group for group in groups if _has(group[0], keys)), key=len)


def _has(row: Row, keys: Sequence[str]) -> bool:
    return all(key in row.values for key in keys)


def _unordered(value: Any) -> Any:
    return sorted(value, key=written_alike) if isinstance(value, list | tuple) else value


def written_alike(value: Any) -> str:
    """Write a value as JSON, equal ones alike: keys in order, whole numbers without a fraction."""
    return canonical_json(_plain(value))


def _plain(value: Any) -> Any:
    match value:
        case Mapping():
            return {key: _plain(value[key]) for key in sorted(value)}
        case list() | tuple():
            return [_plain(item) for item in value]
        case float() if value.is_integer():
            return int(value)
    return value
