"""What the operators code_map, code_filter and code_reduce share: the code and its bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

from engine.code.pool import MOST_WORKERS
from engine.code.program import Program, Reading, Wants, can_share, problem_of, reading_of
from engine.errors import PipelineError
from engine.language.schema import Schema
from engine.operators.accounting import Failure, attempt_all, process_rows, row_by_row
from engine.operators.base import OnErrorNode, Outcome, Rejected, Tools
from engine.plan.frozen import thaw
from engine.rows import Row

SMALLEST_MEMORY = 2**25
MOST_MEMORY = 2**50
MOST_SECONDS = 1_000_000


@dataclass(frozen=True, kw_only=True)
class CodeNode(OnErrorNode):
    """An operator that calls `transform` of its `code`, in a process that sees nothing but its argument.

    `schema` declares fields that the code writes, for the operators after it; values are not held to it.
    `concurrent_thread_count` processes run at once, as many as there are cores if not given. One call may compute for
    `timeout_seconds` and take `memory_bytes`.
    """

    code: str
    schema: Schema | None = field(default=None, metadata={"yaml": "output.schema"})
    concurrent_thread_count: int | None = None
    limit: int | None = None
    timeout_seconds: float = 60.0
    memory_bytes: int = 2**30

    def __post_init__(self) -> None:
        super().__post_init__()
        problem = problem_of(self.code)
        self.require(not problem, problem, "Write code: with a function def transform(...): that returns its result.")
        self.require_at_least(concurrent_thread_count=1, limit=1, memory_bytes=SMALLEST_MEMORY)
        memory = f"memory_bytes must be at most {MOST_MEMORY}, not {self.memory_bytes}"
        self.require(self.memory_bytes <= MOST_MEMORY, memory)
        seconds = f"timeout_seconds must be above 0 and at most {MOST_SECONDS}, not {self.timeout_seconds:g}"
        self.require(0 < self.timeout_seconds <= MOST_SECONDS, seconds)

    @property
    def declared(self) -> frozenset[str]:
        """Return the fields that `schema` declares."""
        return frozenset(self.schema.names if self.schema else ())

    @property
    def reading(self) -> Reading:
        """Return the fields that the code surely reads of its argument."""
        return reading_of(self.code)


@dataclass(frozen=True, kw_only=True)
class RowCode(CodeNode):
    """An operator that calls `transform` for each row, and makes at most one row of it."""

    wants: ClassVar[Wants] = "mapping"

    @property
    def drops(self) -> tuple[str, ...]:
        """Return the fields that are left out of its rows."""
        return ()

    @property
    def fuses(self) -> str:
        """Name what it can be called with: code of the same bounds, none of which changes what the others see."""
        bounds = f"{self.timeout_seconds!r} s, {self.memory_bytes} bytes, {self.concurrent_thread_count} at once"
        return f"code: {bounds}" if can_share(self.code) else ""

    def made_of(self, row: Row, value: Any) -> Sequence[Row] | Rejected:
        """Make the row that follows from what `transform` gave."""
        raise TypeError(f"{type(self).__name__} must define made_of()")


async def _run_row(node: RowCode, row: Row, tools: Tools) -> Sequence[Row] | Rejected:
    return node.made_of(row, await call(node, row.values, tools, wants=node.wants))


run_rows = row_by_row(_run_row)
"""Call the code for all rows."""


async def run_fused(nodes: Sequence[RowCode], rows: Sequence[Row], tools: Tools) -> Sequence[Outcome]:
    """Call the code of several operators once per row, in one process.

    Only what succeeds there counts. From the first operator that fails, the row is taken through the others one by one,
    each in a process and bounds of its own: what is told of it is what would be told without this.
    """
    results = await attempt_all(rows, partial(_travel, nodes, tools))
    trips = {row.id: [] if isinstance(v, Failure) else v for row, v in zip(rows, results, strict=True)}
    outcomes: list[Outcome] = []

    async def work(node: RowCode, row: Row) -> Sequence[Row] | Rejected:
        trip = trips[row.id]
        value = trip.pop(0) if trip else await call(node, row.values, tools, wants=node.wants)
        made = node.made_of(row, value)
        if not isinstance(made, Rejected):
            trips.update((new.id, trip) for new in made)
        return made

    for node in nodes:
        outcomes.append(await process_rows(node, rows, partial(work, node), tools))
        rows = outcomes[-1].rows
    return outcomes


async def _travel(nodes: Sequence[RowCode], tools: Tools, row: Row) -> list[Any]:
    """Return what the code of the operators gives for a row, as far as it succeeds."""
    first, *others = (_program(node, tools, node.wants, node.drops) for node in nodes)
    try:
        values = await tools.call_code(replace(first, then=tuple(others)), thaw(row.values))
    except PipelineError:
        return []  # the operator whose code cannot be read will say so itself, if a row reaches it
    kinds = [bool if node.wants == "truth" else dict for node in nodes]
    sound = isinstance(values, list) and all(type(v) is kind for v, kind in zip(values, kinds, strict=False))
    return values[: len(nodes)] if sound else []


async def call(node: CodeNode, given: Any, tools: Tools, *, wants: Wants = "mapping") -> Any:
    """Call `transform`; raises ItemError for what goes wrong in it, PipelineError when the code is not trusted."""
    return await tools.call_code(_program(node, tools, wants), thaw(given))


def _program(node: CodeNode, tools: Tools, wants: Wants, drops: tuple[str, ...] = ()) -> Program:
    return Program(
        operator=node.name,
        source=node.code,
        wants=wants,
        timeout_seconds=node.timeout_seconds,
        memory_bytes=node.memory_bytes,
        workers=min(node.concurrent_thread_count or MOST_WORKERS, MOST_WORKERS),
        seed=tools.seed,
        drops=drops,
    )
