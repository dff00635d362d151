"""compute: figures from extracted values, by code and never by the model: arithmetic, conversion, days between."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from engine.errors import ItemError
from engine.language.computation import Computation
from engine.operators.accounting import row_by_row
from engine.operators.base import Operator, Tools
from engine.plan.frozen import freeze
from engine.plan.node import Node, Traits
from engine.rows import Row
from engine.values.rates import Rate

BASIS = "_basis"
"""What follows a field's name in that of the field which says how it was computed."""


@dataclass(frozen=True, kw_only=True)
class Compute(Node):
    """Add a field for each expression of `fields`, in written order: `output` is the row with those before it.

    `rates` is the table that `convert` uses. With `basis`, `NAME_basis` says of the field NAME by which expression and
    which rates it was computed, and why it is null.
    """

    kind: ClassVar[str] = "compute"

    fields: Mapping[str, Computation]
    rates: tuple[Rate, ...] = ()
    basis: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", freeze(self.fields))
        self.require(bool(self.fields), "compute has no fields", "Write fields: {total: output.fee.value * 12}.")
        both = [name + BASIS for name in self.fields if self.basis and name + BASIS in self.fields]
        self.require(
            not both,
            f"the field {both[0] if both else ''!r} has the name of another one's basis",
            "Give it another name, or write basis: false.",
        )

    def traits(self) -> Traits:
        """Say what it reads and writes."""
        reads: set[str] = set()
        known: set[str] = set()
        for name, expression in self.fields.items():
            reads |= expression.fields("input") | (expression.fields("output") - known)
            known |= {name, name + BASIS} if self.basis else {name}
        return Traits(
            reads=frozenset(reads),
            writes=frozenset(self.written_fields()),
            calls_model=False,
            reads_unknown=any(expression.reads_unknown for expression in self.fields.values()),
        )

    def written_fields(self) -> tuple[str, ...]:
        """Return the computed fields, each with its basis behind it."""
        return tuple(each for name in self.fields for each in ((name, name + BASIS) if self.basis else (name,)))


async def compute(node: Compute, row: Row, tools: Tools) -> Sequence[Row]:
    """Compute the fields of a row; raises ItemError where an expression goes wrong."""
    values = dict(row.values)
    for name, expression in node.fields.items():
        try:
            made = expression.compute(values, row.values, node.rates)
        except ItemError as error:
            advice = error.advice or "Correct the expression, or filter such rows out before."
            raise ItemError(f"{name}: {error}", advice=advice) from error
        values[name] = made.value
        if node.basis:
            rates = [used.to_json() for used in made.rates]
            values[name + BASIS] = {"expression": expression.text, "rates": rates, "reason": made.reason}
    return [row.derive(node.name, values)]


OPERATOR = Operator(Compute, row_by_row(compute))
