"""scan: begin a step with the rows of a dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from engine.operators.accounting import row_by_row
from engine.operators.base import Operator, Tools
from engine.plan.node import Node, Traits
from engine.rows import Row


@dataclass(frozen=True, kw_only=True)
class Scan(Node):
    """Give the rows of the dataset `dataset_name`: the step that begins with it reads them and needs no `input`."""

    kind: ClassVar[str] = "scan"

    dataset_name: str

    def traits(self) -> Traits:
        """Say which dataset it reads."""
        return Traits(reads=frozenset(), writes=frozenset(), calls_model=False, scans=self.dataset_name)


async def give(node: Scan, row: Row, tools: Tools) -> Sequence[Row]:
    """Pass a row on: the executor has read the dataset, as it does for every step."""
    return [row.derive(node.name, row.values)]


OPERATOR = Operator(Scan, row_by_row(give))
