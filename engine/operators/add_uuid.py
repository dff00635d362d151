"""add_uuid: give each row an identifier that is the same in every run."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from engine.operators.accounting import require, row_by_row
from engine.operators.base import Operator, Tools
from engine.plan.node import Node, Traits
from engine.rows import Row, RowId

NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "redwell:row")


@dataclass(frozen=True, kw_only=True)
class AddUuid(Node):
    """Write a UUID to `id_key`, `{name}_id` if not given: version 5 of RFC 9562, from how the row was made."""

    kind: ClassVar[str] = "add_uuid"

    id_key: str | None = None

    def __post_init__(self) -> None:
        require(self, self.id_key != "", "id_key names no field", "Leave it out, or name a field.")

    @property
    def field(self) -> str:
        """Return the field that is written."""
        return self.id_key or f"{self.name_in_fields}_id"

    def traits(self) -> Traits:
        """Say what it writes."""
        return Traits(reads=frozenset(), writes=frozenset({self.field}), calls_model=False)


async def identify(node: AddUuid, row: Row, tools: Tools) -> Sequence[Row]:
    """Add the field."""
    return [row.derive(node.name, {**row.values, node.field: row_uuid(row.id)})]


def row_uuid(id: RowId) -> str:
    """Return the UUID of a row: the same for the same row of the same data, run after run."""
    return str(uuid.uuid5(NAMESPACE, id))


OPERATOR = Operator(AddUuid, row_by_row(identify))
