"""Run a step's operators: row-local ones stream row by row, the others wait for all rows.

A chain of row-local operators has no barrier between its members: while one document is being read a second time,
another is still at the first operator, so the model's batch stays full.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from engine.executor.accounts import Account
from engine.executor.events import Emit, OperatorFinished, OperatorStarted, RowFailed
from engine.executor.parallel import all_or_none
from engine.executor.tools import Lent, OperatorTools, Progress
from engine.operators.base import OperatorInput, Outcome, Rejected
from engine.operators.running import is_row_local, run_operator, stop_on_failure
from engine.plan.node import Node
from engine.plan.plan import Plan
from engine.rows import Row
from models.protocol import ModelBackend

ROWS_IN_FLIGHT = 256
"""Rows that may be inside a chain at once; bounds memory, not the model's batch."""

BackendOf = Callable[[Node], Awaitable[ModelBackend | None]]


class StageRunner:
    """Runs operators over rows and keeps an account of each."""

    def __init__(self, lent: Lent, backend_of: BackendOf, emit: Emit, keep: Callable[[Account], None]) -> None:
        """`keep` stores an operator's account when all rows have passed it."""
        self._lent = lent
        self._backend_of = backend_of
        self._emit = emit
        self._keep = keep

    async def run(self, nodes: Sequence[Node], inputs: Sequence[Sequence[Row]]) -> Sequence[Row]:
        """Run the operators in order on the rows of a step's inputs; return the last one's rows."""
        joins = bool(nodes) and nodes[0].traits().inputs == 2
        rows = await self._join(nodes[0], inputs) if joins else union(inputs)
        for stage in stages(nodes[1:] if joins else nodes):
            calls = [await self._calls(node) for node in stage]
            rows = await _run_chain(calls, rows) if is_row_local(stage[0]) else await calls[0].call(rows)
            self._finish(calls)
        return rows

    async def _join(self, node: Node, inputs: Sequence[Sequence[Row]]) -> Sequence[Row]:
        calls = await self._calls(node)
        rows = await calls.join(*inputs)
        self._finish([calls])
        return rows

    async def _calls(self, node: Node) -> _Calls:
        return _Calls(node, self._lent, await self._backend_of(node), self._emit)

    def _finish(self, calls: Sequence[_Calls]) -> None:
        for call in calls:
            call.finish()
            self._keep(call.account)


def union(inputs: Sequence[Sequence[Row]]) -> Sequence[Row]:
    """Put the rows of several inputs one after another; a row that comes through two of them is taken once."""
    return list({row.id: row for rows in inputs for row in rows}.values())


def named_apart(plan: Plan) -> dict[str, list[Node]]:
    """Return the operators of each step, all under names of their own.

    Events, ledger and lineage go by name. An operator that is used again, or named like a dataset, gets ` (2)`, ` (3)`.
    """
    taken = {dataset.name for dataset in plan.datasets}

    def apart(node: Node) -> Node:
        name, number = node.name, 1
        while name in taken:
            number += 1
            name = f"{node.name} ({number})"
        taken.add(name)
        return node if number == 1 else replace(node, name=name)

    return {step.name: [apart(node) for node in plan.nodes(step)] for step in plan.steps}


def stages(nodes: Sequence[Node]) -> Iterator[list[Node]]:
    """Cut operators into stages: maximal runs of row-local ones, and single others."""
    for local, run in groupby(nodes, key=is_row_local):
        if local:
            yield list(run)
        else:
            yield from ([node] for node in run)


class _Calls:
    """All calls of one operator."""

    def __init__(self, node: Node, lent: Lent, backend: ModelBackend | None, emit: Emit) -> None:
        self.account = Account(node)
        self._node = node
        self._lent = lent
        self._backend = backend
        self._emit = emit
        self._progress = Progress(node.name, emit)
        emit(OperatorStarted(node.name, node.kind))

    async def call(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Run the operator over all its rows."""
        outcome = await self.outcome(rows)
        self.record(rows, outcome)
        return outcome.rows

    async def join(self, left: Sequence[Row], right: Sequence[Row]) -> Sequence[Row]:
        """Run a join over the rows of its two sides, which may be the same rows."""
        both = union([left, right])
        outcome = await self._run((left, right), len(both))
        self.record(both, outcome)
        return outcome.rows

    async def outcome(self, rows: Sequence[Row]) -> Outcome:
        """Run the operator over some rows, without recording the outcome yet."""
        taken, others = rows[: self._node.sample], rows[len(rows[: self._node.sample]) :]
        outcome = await self._run(taken, len(taken))
        unseen = [Rejected(row, f"not sampled: {self._node.name} has sample: {self._node.sample}") for row in others]
        return replace(outcome, rejected=[*outcome.rejected, *unseen]) if unseen else outcome

    async def _run(self, given: OperatorInput, expected: int) -> Outcome:
        tools = OperatorTools(self._lent, self._backend, self._progress, expected)
        outcome = await run_operator(self._node, given, tools)
        self._lent.passages.update(tools.record.passages)
        for failed in outcome.failed:
            self._emit(RowFailed(self._node.name, failed.row.id, failed.error, failed.advice))
        stop_on_failure(self._node, outcome.failed)
        return outcome

    def record(self, rows: Sequence[Row], outcome: Outcome) -> None:
        """Account for rows; called in the order of the rows, whatever order they finished in."""
        self.account.record(rows, outcome)

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


async def _run_chain(calls: Sequence[_Calls], rows: Sequence[Row]) -> Sequence[Row]:
    """Take each row through all operators of the chain by itself; outcomes are recorded in the order of `rows`."""
    slots = asyncio.Semaphore(ROWS_IN_FLIGHT)

    async def one(row: Row) -> list[tuple[Sequence[Row], Outcome]]:
        steps: list[tuple[Sequence[Row], Outcome]] = []
        current: Sequence[Row] = [row]
        async with slots:
            for call in calls:
                outcome = await call.outcome(current) if current else Outcome()
                steps.append((current, outcome))
                current = outcome.rows
        return steps

    passed = await all_or_none([one(row) for row in rows])
    for steps in passed:
        for call, (given, outcome) in zip(calls, steps, strict=True):
            call.record(given, outcome)
    return [row for steps in passed for row in steps[-1][1].rows]
