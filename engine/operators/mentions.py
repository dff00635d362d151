"""Mentions: the distinct values that resolve compares, each standing for all rows that have it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from engine.operators.name_rules import is_partial_name
from engine.rows import Row
from models.protocol import canonical_json


@dataclass(frozen=True)
class Mention:
    """One distinct value of the resolved fields; `rows` are indices of the rows that have it, in order.

    `text` is the first field's value as people see it. `documents` are where it occurs, as far as known.
    """

    text: str
    values: tuple[Any, ...]
    row: Row
    rows: tuple[int, ...]
    documents: frozenset[str]


def find_mentions(rows: Sequence[Row], keys: Sequence[str], rules: Collection[str]) -> list[Mention]:
    """Group rows by the values of `keys`, in order of first appearance; rows in which all are empty are left out.

    Under the rule person_name a name that means someone only where it stands is one mention per document.
    """
    groups: dict[str, list[int]] = {}
    for index, row in enumerate(rows):
        values = [row.values.get(key) for key in keys]
        if any(value not in (None, "", [], {}) for value in values):
            partial = "person_name" in rules and is_partial_name(shown(values[0]))
            groups.setdefault(canonical_json([values, row.document_id if partial else None]), []).append(index)
    return [_mention(rows, indices, keys) for indices in groups.values()]


def shown(value: Any) -> str:
    """Write a value as a person would see it."""
    return value if isinstance(value, str) else canonical_json(value)


def _mention(rows: Sequence[Row], indices: Sequence[int], keys: Sequence[str]) -> Mention:
    first = rows[indices[0]]
    values = tuple(first.values.get(key) for key in keys)
    return Mention(
        text=shown(values[0]),
        values=values,
        row=first,
        rows=tuple(indices),
        documents=frozenset(d for i in indices if (d := rows[i].document_id)),
    )
