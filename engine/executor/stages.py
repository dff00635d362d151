"""Run a step's operators: row-local ones stream row by row, the others wait for all rows.

A chain of row-local operators has no barrier between its members: while one document is being read a second time,
another is still at the first operator, so the model's batch stays full. The fate of every row is checked and kept:
nothing is lost in silence.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby

from engine.executor.events import ChainProgress, Emit, OperatorFinished, OperatorStarted, RowFailed, Warned
from engine.executor.tools import OperatorTools, Progress, RunResources
from engine.operators.accounting import all_or_none
from engine.operators.asking import ModelNode
from engine.operators.base import Decision, Failed, OperatorInput, Outcome, Rejected
from engine.operators.registry import REGISTRY
from engine.operators.running import run_operator, stop_on_failure
from engine.plan.mentions import may_read
from engine.plan.node import Node
from engine.plan.work import Work, streams
from engine.rows import Row, RowId
from models.protocol import ModelBackend

ROWS_IN_FLIGHT = 256
"""Rows that may be inside a chain at once; bounds memory, not the model's batch."""

REPLY_CHARACTERS = 1_000
"""What a row takes beside its text, in characters read: to write a short reply takes as long."""

BackendOf = Callable[[Node], Awaitable[ModelBackend | None]]


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
    assert fused is not None  # operators have it whose traits say that they fuse
    outcomes = await fused(nodes, rows, calls[0].tools(len(rows)))
    for call, outcome in zip(calls, outcomes, strict=True):
        call.tell(outcome)
        stop_on_failure(call.account.node, outcome)
    return outcomes


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
        elif streams(last.node):
            calls[stage[0].node.name].progress.announce(len(rows))
            watch = _ChainWatch(self._emit, [call.account.node for call in calls.values()], rows)
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
    for local, run in groupby(works, key=lambda work: streams(work.node)):
        if local:
            yield list(run)
        else:
            yield from ([work] for work in run)


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

    def __init__(self, emit: Emit, nodes: Sequence[Node], rows: Sequence[Row]) -> None:
        self._emit = emit
        names = tuple(node.name for node in nodes)
        self._told = ChainProgress(names, 0, len(rows), 0, sum(map(_size, rows)), readings=_readings(nodes))
        emit(self._told)

    def take(self, row: Row, entries: Sequence[Entry]) -> None:
        progress = self._told
        done, size = progress.rows_done + 1, progress.size_done + _size(row)
        ids = dict.fromkeys([row.id, *(given.id for _, rows, _ in entries for given in rows)])
        self._told = replace(progress, rows_done=done, size_done=size, row_ids=tuple(ids))
        self._emit(self._told)


def _readings(nodes: Sequence[Node]) -> int:
    """Count how often the text of a row is read on its way: by each operator that asks, unless about replies alone.

    Operators with `layout: document_first` read it once together.
    """
    replies: set[str] = set()
    readers: set[str] = set()
    for node in nodes:
        traits = node.traits()
        if traits.calls_model and (traits.reads_unknown or traits.reads - replies):
            is_shared = isinstance(node, ModelNode) and node.layout == "document_first"
            readers.add("" if is_shared else node.name)
        replies |= traits.writes if traits.calls_model else frozenset()
    return max(len(readers), 1)


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
