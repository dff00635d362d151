"""add_uuid: give each row an identifier that is the same in every run."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from engine.operators.accounting import row_by_row
from engine.operators.base import Operator, Tools
from engine.plan.node import Node, Traits
from engine.rows import Row

NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "redwell:row")


@dataclass(frozen=True, kw_only=True)
class AddUuid(Node):
    """Write a UUID to `id_key`, `{name}_id` if not given: version 5 of RFC 9562, from how the row was made."""

    kind: ClassVar[str] = "add_uuid"

    id_key: str | None = None

    def __post_init__(self) -> None:
        self.require(self.id_key != "", "id_key names no field", "Leave it out, or name a field.")

    @property
    def field(self) -> str:
        """Return the field that is written."""
        return self.id_key or f"{self.name_in_fields}_id"

    def traits(self) -> Traits:
        """Say what it writes."""
        return Traits(reads=frozenset(), writes=frozenset({self.field}), calls_model=False)


async def identify(node: AddUuid, row: Row, tools: Tools) -> Sequence[Row]:
    """Add the field: the same for the same row of the same data, run after run."""
    return [row.derive(node.name, {**row.values, node.field: str(uuid.uuid5(NAMESPACE, row.id))})]


OPERATOR = Operator(AddUuid, row_by_row(identify))
