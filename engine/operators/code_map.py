"""code_map: add what Python of the user's makes of each row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from engine.operators.base import Operator
from engine.operators.coding import RowCode, run_fused, run_rows
from engine.plan.node import Traits
from engine.rows import Row


@dataclass(frozen=True, kw_only=True)
class CodeMap(RowCode):
    """Add the dictionary that `transform(doc)` returns to each row, then drop `drop_keys`.

    With `limit`, only the first rows are worked on; the others are rejected.
    """

    kind: ClassVar[str] = "code_map"

    drop_keys: tuple[str, ...] = ()

    @property
    def drops(self) -> tuple[str, ...]:
        """Return the fields that are left out of its rows."""
        return self.drop_keys

    def traits(self) -> Traits:
        """Say what it reads and writes; what the code writes is known only when it runs."""
        return Traits(
            reads=self.reading.needed,
            writes=self.declared - frozenset(self.drop_keys),
            removes=frozenset(self.drop_keys),
            cardinality="one_to_one" if self.limit is None else "zero_or_one",
            calls_model=False,
            opens=True,
            reads_unknown=not self.reading.is_all,
            runs_code=True,
            fuses=self.fuses,
        )

    def made_of(self, row: Row, value: Any) -> Sequence[Row]:
        """Add what `transform` returned to the row."""
        values = {**row.values, **value}
        return [row.derive(self.name, {k: v for k, v in values.items() if k not in self.drop_keys})]


OPERATOR = Operator(CodeMap, run_rows, run_fused)
