"""code_filter: keep the rows for which Python of the user's says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from engine.code.program import Wants
from engine.operators.base import Operator, Rejected
from engine.operators.coding import RowCode, run_fused, run_rows
from engine.plan.node import Traits
from engine.rows import Row


@dataclass(frozen=True, kw_only=True)
class CodeFilter(RowCode):
    """Keep the rows for which `transform(doc)` returns what Python counts as true; the others are rejected.

    With `limit`, rows are looked at until so many have been kept, the rest is rejected.
    """

    kind: ClassVar[str] = "code_filter"
    limit_counts: ClassVar[Literal["begun", "kept"]] = "kept"
    wants: ClassVar[Wants] = "truth"

    def traits(self) -> Traits:
        """Say what it reads."""
        return Traits(
            reads=self.reading.needed,
            writes=frozenset(),
            cardinality="zero_or_one",
            calls_model=False,
            reads_unknown=not self.reading.is_all,
            runs_code=True,
            fuses=self.fuses,
        )

    def made_of(self, row: Row, value: Any) -> Sequence[Row] | Rejected:
        """Keep the row if `transform` said so."""
        if value:
            return [row.derive(self.name, row.values)]
        return Rejected(row, f"code_filter {self.name}: transform returned nothing that counts as true")


OPERATOR = Operator(CodeFilter, run_rows, run_fused)
