"""code_filter: keep the rows for which Python of the user's says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from engine.code.program import Wants
from engine.operators.base import Failed, Operator, Outcome, Rejected, Tools
from engine.operators.coding import RowCode, beyond_limit, run_fused, run_rows
from engine.plan.node import Traits
from engine.rows import Row

BATCH = 64
"""Rows that are looked at together while a limit has not been reached."""


@dataclass(frozen=True, kw_only=True)
class CodeFilter(RowCode):
    """Keep the rows for which `transform(doc)` returns what Python counts as true; the others are rejected.

    With `limit`, rows are looked at until so many have been kept, the rest is rejected.
    """

    kind: ClassVar[str] = "code_filter"
    wants: ClassVar[Wants] = "truth"

    def traits(self) -> Traits:
        """Say what it reads."""
        return Traits(
            reads=self.reading.needed,
            writes=frozenset(),
            cardinality="zero_or_one",
            row_local=self.limit is None,
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


async def run(node: CodeFilter, rows: Sequence[Row], tools: Tools) -> Outcome:
    """Call the code for all rows, or until `limit` are kept; rows that stay keep their order."""
    if node.limit is None:
        return await run_rows(node, rows, tools)
    kept: list[Row] = []
    rejected: list[Rejected] = []
    failed: list[Failed] = []
    seen = 0
    while seen < len(rows) and len(kept) < node.limit:
        outcome = await run_rows(node, rows[seen : seen + BATCH], tools)
        kept += outcome.rows
        rejected += outcome.rejected
        failed += outcome.failed
        seen += BATCH
    late = {row.parents[0] for row in kept[node.limit :]}
    rejected += beyond_limit(node, [row for row in rows[:seen] if row.id in late] + list(rows[seen:]))
    tools.progress(len(rows), len(rows))
    return Outcome(kept[: node.limit], rejected, failed)


OPERATOR = Operator(CodeFilter, run, run_fused)
