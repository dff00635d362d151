"""What a plan wrote on sample documents, as judges and signals look at it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.plan.plan import Plan
from engine.rows import RowId


@dataclass(frozen=True, kw_only=True)
class OutputCell:
    """One field of one output row.

    `located` is the share of the value's parts that were found in the sample rows it comes from, `verbatim` that of the
    parts found word for word where the task asks for quotes; both 0 to 1. None where nothing could be looked for: what
    has no place in a source, such as a number computed, or a choice of the schema.
    """

    field: str
    value: Any
    located: float | None = None
    verbatim: float | None = None


@dataclass(frozen=True, kw_only=True)
class OutputRow:
    """One output row. `sources` are the sample rows that it was made from, by id, in their order."""

    id: RowId
    cells: tuple[OutputCell, ...]
    sources: tuple[RowId, ...]

    @property
    def values(self) -> dict[str, Any]:
        """Return the row as a JSON object."""
        return {cell.field: cell.value for cell in self.cells}


@dataclass(frozen=True, kw_only=True)
class PlanOutput:
    """What one plan made of sample rows: `inputs` by id, in order; `rows` in the order of the result.

    `failed` are the rows that failed, each in a line; `seconds` what the plan would take with an empty cache, from
    tokens and rates; `tokens` are those read and written, cached or not.
    """

    plan: Plan
    inputs: Mapping[RowId, Mapping[str, Any]]
    rows: tuple[OutputRow, ...]
    failed: tuple[str, ...] = ()
    seconds: float = 0.0
    tokens: int = 0
    rejected: Mapping[RowId, str] = field(default_factory=dict)
    """Sample rows that a filter turned down, with the reason."""
    limits: Mapping[str, int] = field(default_factory=dict)
    """How many items the user allows in the list of a field."""

    def rows_of(self, source: RowId) -> tuple[OutputRow, ...]:
        """Return the output rows that a sample row has a part in."""
        return tuple(row for row in self.rows if source in row.sources)
