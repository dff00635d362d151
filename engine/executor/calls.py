"""All calls of one operator, and the account of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from engine.executor.events import Emit, OperatorFinished, OperatorStarted, RowFailed, Warned
from engine.executor.tools import OperatorTools, Progress, RunResources
from engine.operators.base import Decision, Failed, OperatorInput, Outcome, Rejected
from engine.operators.registry import REGISTRY
from engine.operators.running import run_operator, stop_on_failure
from engine.plan.node import Node
from engine.rows import Row, RowId
from models.protocol import ModelBackend

# Check and keep the fate of every row: nothing is lost in silence (invariant 1).


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
        """Take in one call, in the order of the rows, whatever order they finished in.

        Raises LostRows if an input row has no fate, or an output no origin.
        """
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
    ids = {row.id for row in rows}
    turned_down = [item.row.id for item in outcome.rejected] + [item.row.id for item in outcome.failed]
    accounted = {parent for row in outcome.rows for parent in row.parents} | {row.id for row in outcome.rows}
    accounted.update(turned_down)
    lost = [row.id for row in rows if row.id not in accounted]
    if lost:
        raise _bug(node, f"lost {len(lost)} of {len(rows)} rows, first {lost[0]}")
    strays = [row.id for row in outcome.rows if row.id not in ids and not _is_made_of(row, ids)]
    strays += [id for id in turned_down if id not in ids]
    if strays:
        raise _bug(node, f"told of row {strays[0]}, which does not come from the {len(rows)} rows it was given")
    twice = [id for id, count in Counter(row.id for row in outcome.rows).items() if count > 1]
    if twice:
        raise _bug(node, f"put out row {twice[0]} twice")


def _is_made_of(row: Row, ids: set[RowId]) -> bool:
    return bool(row.parents) and ids.issuperset(row.parents)


def _bug(node: Node, what: str) -> LostRows:
    return LostRows(f"operator {node.name!r} ({node.kind}) {what}")


class Calls:
    """All calls of one operator."""

    def __init__(self, node: Node, resources: RunResources, backend: ModelBackend | None, emit: Emit) -> None:
        self.account = Account(node)
        self._node = node
        self._resources = resources
        self._backend = backend
        self._emit = emit
        self.progress = Progress(node.name, emit)
        emit(OperatorStarted(node.name, node.kind))

    async def call(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Run the operator over all its rows."""
        outcome = await self.outcome(rows)
        self.account.record(rows, outcome)
        return outcome.rows

    async def join(self, left: Sequence[Row], right: Sequence[Row]) -> Sequence[Row]:
        """Run a join over the rows of its two sides, which may be the same rows."""
        both = union([left, right])
        outcome = await self._run((left, right), len(both))
        self.account.record(both, outcome)
        return outcome.rows

    async def outcome(self, rows: Sequence[Row]) -> Outcome:
        """Run the operator over some rows, without recording the outcome yet."""
        taken, others = rows[: self._node.sample], rows[len(rows[: self._node.sample]) :]
        outcome = await self._run(taken, len(taken))
        unseen = [Rejected(row, f"not sampled: {self._node.name} has sample: {self._node.sample}") for row in others]
        return replace(outcome, rejected=[*outcome.rejected, *unseen]) if unseen else outcome

    async def _run(self, inputs: OperatorInput, expected: int) -> Outcome:
        tools = self.tools(expected)
        outcome = await run_operator(self._node, inputs, tools)
        self._resources.passages.update(tools.record.passages)
        self.tell(outcome)
        stop_on_failure(self._node, outcome)
        return outcome

    def tools(self, expected: int) -> OperatorTools:
        """Lend the tools of one call on so many rows."""
        return OperatorTools(self._resources, self._backend, self.progress, expected)

    def tell(self, outcome: Outcome) -> None:
        """Tell of rows that failed and of what is to be looked at, and show what came of all to whoever watches."""
        self._resources.watch(self._node.name, outcome)
        for failed in outcome.failed:
            self._emit(RowFailed(self._node.name, failed.row.id, failed.error, failed.advice))
        for warning in outcome.warnings:
            self._emit(Warned(f"{self._node.name}: {warning}"))

    def finish(self) -> None:
        """Say what became of all rows."""
        account = self.account
        self._emit(
            OperatorFinished(
                operator=self._node.name,
                rows_in=len(account.rows_in),
                rows_out=len(account.rows_out),
                rejected=len(account.rejected),
                failed=len(account.failed),
            )
        )


def union(inputs: Sequence[Sequence[Row]]) -> Sequence[Row]:
    """Put the rows of several inputs one after another; a row that comes through two of them is taken once."""
    return list({row.id: row for rows in inputs for row in rows}.values())


async def run_fused(calls: Sequence[Calls], rows: Sequence[Row]) -> Sequence[Outcome]:
    """Run neighbouring operators in one call where they can; one Outcome each."""
    nodes = [call.account.node for call in calls]
    fused = REGISTRY[nodes[0].kind].run_fused
    if fused is None:
        raise TypeError(f"operators of type {nodes[0].kind} say that they fuse, but have no run_fused")
    outcomes = await fused(nodes, rows, calls[0].tools(len(rows)))
    for call, outcome in zip(calls, outcomes, strict=True):
        call.tell(outcome)
        stop_on_failure(call.account.node, outcome)
    return outcomes
