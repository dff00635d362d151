"""Check and keep the fate of every row: nothing is lost in silence (invariant 1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.operators.base import Decision, Failed, Outcome, Rejected
from engine.plan.node import Node
from engine.rows import Row, RowId


class LostRows(AssertionError):
    """An operator did not account for rows: a defect of the operator, never of the data."""


@dataclass
class Account:
    """What one operator did over all of its calls, in the order of the rows that reached it."""

    node: Node
    rows_in: list[Row] = field(default_factory=list)
    rows_out: list[Row] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    failed: list[Failed] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)

    def record(self, rows: Sequence[Row], outcome: Outcome) -> None:
        """Take in one call; raises LostRows if an input row has no fate, or an output no origin."""
        check_complete(self.node, rows, outcome)
        self.rows_in += rows
        self.rows_out += outcome.rows
        self.rejected += outcome.rejected
        self.failed += outcome.failed
        self.decisions += outcome.decisions


def check_complete(node: Node, rows: Sequence[Row], outcome: Outcome) -> None:
    """Raise LostRows unless each row is a parent of an output row (or passed on), rejected, or failed.

    Lineage must close the other way too: no output, rejection or failure without an input row behind it.
    """
    given = {row.id for row in rows}
    turned_down = [item.row.id for item in outcome.rejected] + [item.row.id for item in outcome.failed]
    accounted = {parent for row in outcome.rows for parent in row.parents} | {row.id for row in outcome.rows}
    lost = [row.id for row in rows if row.id not in accounted and row.id not in turned_down]
    if lost:
        raise _bug(node, f"lost {len(lost)} of {len(rows)} rows, first {lost[0]}")
    strays = [row.id for row in outcome.rows if row.id not in given and not _is_made_of(row, given)]
    strays += [id for id in turned_down if id not in given]
    if strays:
        raise _bug(node, f"told of row {strays[0]}, which does not come from the {len(rows)} rows it was given")
    twice = [id for id, count in Counter(row.id for row in outcome.rows).items() if count > 1]
    if twice:
        raise _bug(node, f"put out row {twice[0]} twice")


def _is_made_of(row: Row, given: set[RowId]) -> bool:
    return bool(row.parents) and given.issuperset(row.parents)


def _bug(node: Node, what: str) -> LostRows:
    return LostRows(f"operator {node.name!r} ({node.kind}) {what}")
