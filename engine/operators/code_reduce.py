"""code_reduce: one row per group of rows, made by Python of the user's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from engine.operators.accounting import process, value_of
from engine.operators.base import Operator, Outcome, Tools
from engine.operators.coding import CodeNode, call
from engine.operators.grouping import ALL, GroupingNode, group_rows
from engine.plan.node import Traits
from engine.rows import Row


@dataclass(frozen=True, kw_only=True)
class CodeReduce(GroupingNode, CodeNode):
    """Make one row of each group with equal values of `reduce_key` (`_all`: one group of everything).

    The row has the keys, with `pass_through` the first row's other fields, and what `transform(items)` returns, which
    wins over both. With `limit`, only the smallest groups are worked on; rows of the others are rejected.
    """

    kind: ClassVar[str] = "code_reduce"

    reduce_key: tuple[str, ...] = (ALL,)
    pass_through: bool = False

    def traits(self) -> Traits:
        """Say what it reads and writes; what the code writes is known only when it runs."""
        return Traits(
            reads=frozenset(self.keys),
            writes=frozenset(self.keys) | self.declared,
            keeps_others=self.pass_through,
            cardinality="many_to_one",
            row_local=False,
            calls_model=False,
            opens=True,
            reads_unknown=True,
            runs_code=True,
        )


async def run(node: CodeReduce, rows: Sequence[Row], tools: Tools) -> Outcome:
    """Call the code for all groups; they come out in the order in which each first appeared."""

    async def transform(group: Sequence[Row]) -> Sequence[Row]:
        keys = {key: value_of(group[0], key) for key in node.keys}
        passed = group[0].values if node.pass_through else {}
        made = await call(node, [row.values for row in group], tools)
        return [Row.combine(node.name, group, {**keys, **passed, **made})]

    return await process(node, group_rows(rows, node.keys), transform, tools)


OPERATOR = Operator(CodeReduce, run)
