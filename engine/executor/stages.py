"""Run a step's operators: row-local ones stream row by row, the others wait for all rows.

A chain of row-local operators has no barrier between its members: while one document is being read a second time,
another is still at the first operator, so the model's batch stays full.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby

from engine.executor.calls import Account, Calls, run_fused, union
from engine.executor.events import ChainProgress, Emit
from engine.executor.tools import RunResources
from engine.operators.accounting import all_or_none
from engine.operators.base import Outcome
from engine.plan.mentions import may_read
from engine.plan.node import Node
from engine.plan.work import Work, streams
from engine.rows import Row
from models.protocol import ModelBackend

ROWS_IN_FLIGHT = 256
"""Rows that may be inside a chain at once; bounds memory, not the model's batch."""

REPLY_CHARACTERS = 1_000
"""What a row takes beside its text, in characters read: to write a short reply takes as long."""

BackendOf = Callable[[Node], Awaitable[ModelBackend | None]]


class StageRunner:
    """Runs operators over rows and keeps an account of each."""

    def __init__(
        self, resources: RunResources, backend_of: BackendOf, emit: Emit, keep: Callable[[Account], None]
    ) -> None:
        """`keep` stores an operator's account when all rows have passed it."""
        self._resources = resources
        self._backend_of = backend_of
        self._emit = emit
        self._keep = keep

    async def run(self, works: Sequence[Work], inputs: Sequence[Sequence[Row]]) -> Sequence[Row]:
        """Run the operators in order on the rows of a step's inputs; return the last one's rows."""
        joins = bool(works) and works[0].node.traits().inputs == 2
        rows = await self._join(works[0].node, inputs) if joins else union(inputs)
        for stage in stages(works[1:] if joins else works):
            rows = await self._stage(stage, rows)
        return rows

    async def _join(self, node: Node, inputs: Sequence[Sequence[Row]]) -> Sequence[Row]:
        calls = await self._calls(node)
        rows = await calls.join(*inputs)
        self._finish([calls])
        return rows

    async def _stage(self, stage: Sequence[Work], rows: Sequence[Row]) -> Sequence[Row]:
        calls = {work.node.name: await self._calls(work.node) for work in stage if not work.decides}
        last = stage[-1]
        if last.pulls:
            rows = await _pull(links(stage[:-1], calls), calls[last.node.name], rows)
        elif _is_row_local(last):
            calls[stage[0].node.name].progress.announce(len(rows))
            watch = _ChainWatch(self._emit, tuple(calls), rows)
            rows = _recorded(await _pass_all(links(stage, calls), rows, watch.take))
        else:
            rows = await calls[last.node.name].call(_narrowed(last, rows) if last.narrow else rows)
        self._finish(list(calls.values()))
        return rows

    async def _calls(self, node: Node) -> Calls:
        return Calls(node, self._resources, await self._backend_of(node), self._emit)

    def _finish(self, calls: Sequence[Calls]) -> None:
        for call in calls:
            call.finish()
            self._keep(call.account)


def stages(works: Sequence[Work]) -> Iterator[list[Work]]:
    """Cut works into stages: maximal runs of row-local ones, and single others; a limit with those it pulls."""
    pulling = next((i for i, work in enumerate(works) if work.pulls), None)
    if pulling is not None:
        start = pulling - works[pulling].pulls
        yield from stages(works[:start])
        yield list(works[start : pulling + 1])
        yield from stages(works[pulling + 1 :])
        return
    for local, run in groupby(works, key=_is_row_local):
        if local:
            yield list(run)
        else:
            yield from ([work] for work in run)


def _is_row_local(work: Work) -> bool:
    return streams(work.node)


def _narrowed(work: Work, rows: Sequence[Row]) -> Sequence[Row]:
    """Leave out fields that the operator does not read; the rows stay who they are."""
    names = {name for row in rows for name in row.values}
    kept = {name for name in names if may_read(work.node, name)}
    return [replace(row, values={k: v for k, v in row.values.items() if k in kept}) for row in rows]


Entry = tuple[Calls, Sequence[Row], Outcome]
"""What one operator did with some rows, still to be recorded."""

Passed = tuple[list[Entry], Sequence[Row]]
"""The outcome for the rows of a call or chain: ledger records, and the rows for the next operator."""

Link = Callable[[Sequence[Row]], Awaitable[Passed]]
"""One call in a chain."""


def links(works: Sequence[Work], calls: dict[str, Calls]) -> list[Link]:
    """Make the calls of a chain: one per work, but one for all that are fused."""
    made: list[Link] = []
    for work in works:
        node_calls = calls[work.node.name]
        if work.decides:
            made.append(partial(_decide, node_calls))
        elif work.fused:
            index = works.index(work)
            del made[len(made) - work.fused :]
            made.append(partial(_fused, [calls[w.node.name] for w in works[index - work.fused : index + 1]]))
        else:
            made.append(partial(_whole, node_calls))
    return made


async def _whole(call: Calls, rows: Sequence[Row]) -> Passed:
    outcome = await call.outcome(rows) if rows else Outcome()
    return [(call, rows, outcome)], outcome.rows


async def _decide(call: Calls, rows: Sequence[Row]) -> Passed:
    """Let the operator turn rows down; the others go on as they came."""
    outcome = await call.outcome(rows) if rows else Outcome()
    ended = {item.row.id for item in outcome.rejected} | {item.row.id for item in outcome.failed}
    turned_down = Outcome((), outcome.rejected, outcome.failed, outcome.decisions if ended else ())
    return [(call, [row for row in rows if row.id in ended], turned_down)], [row for row in rows if row.id not in ended]


async def _fused(calls: Sequence[Calls], rows: Sequence[Row]) -> Passed:
    outcomes = await run_fused(calls, rows) if rows else [Outcome() for _ in calls]
    inputs = [rows, *(outcome.rows for outcome in outcomes[:-1])]
    return list(zip(calls, inputs, outcomes, strict=True)), outcomes[-1].rows


class _ChainWatch:
    """Tells how many rows have passed a chain."""

    def __init__(self, emit: Emit, operators: tuple[str, ...], rows: Sequence[Row]) -> None:
        self._emit = emit
        self._told = ChainProgress(operators, 0, len(rows), 0, sum(map(_size, rows)))
        emit(self._told)

    def take(self, row: Row, entries: Sequence[Entry]) -> None:
        progress = self._told
        done, size = progress.rows_done + 1, progress.size_done + _size(row)
        ids = dict.fromkeys([row.id, *(given.id for _, rows, _ in entries for given in rows)])
        self._told = replace(progress, rows_done=done, size_done=size, row_ids=tuple(ids))
        self._emit(self._told)


def _size(row: Row) -> int:
    return REPLY_CHARACTERS + sum(len(value) for value in row.values.values() if isinstance(value, str))


async def _pull(chain: Sequence[Link], limit: Calls, rows: Sequence[Row]) -> Sequence[Row]:
    """Take rows through the chain, as many as the limit still needs at a time; it is given the others as they are."""
    wanted = limit.account.node.traits().keeps_first or 0
    out: list[Row] = []
    reached = 0
    while len(out) < wanted and reached < len(rows):
        wave = rows[reached : reached + wanted - len(out)]
        out += _recorded(await _pass_all(chain, wave))
        reached += len(wave)
    return await limit.call([*out, *rows[reached:]])


async def _pass_all(
    chain: Sequence[Link],
    rows: Sequence[Row],
    watch: Callable[[Row, Sequence[Entry]], None] = lambda row, entries: None,
) -> list[Passed]:
    """Take each row through all operators of the chain by itself."""
    slots = asyncio.Semaphore(ROWS_IN_FLIGHT)

    async def one(row: Row) -> Passed:
        entries: list[Entry] = []
        current: Sequence[Row] = [row]
        async with slots:
            for link in chain:
                new_entries, current = await link(current)
                entries += new_entries
        watch(row, entries)
        return entries, current

    return await all_or_none([one(row) for row in rows])


def _recorded(passed: Sequence[Passed]) -> list[Row]:
    for entries, _ in passed:
        for call, inputs, outcome in entries:
            call.account.record(inputs, outcome)
    return [row for _, rows in passed for row in rows]
