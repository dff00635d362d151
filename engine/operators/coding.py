"""What the operators code_map, code_filter and code_reduce share: the code, its bounds, and a limit on the rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.code.pool import MOST_WORKERS
from engine.code.program import Program, Reading, Wants, problem_of, reading_of
from engine.language.schema import Schema
from engine.operators.accounting import require
from engine.operators.base import Rejected, Tools
from engine.operators.error_keys import OnErrorNode
from engine.plan.frozen import thaw
from engine.rows import Row

SMALLEST_MEMORY = 2**25


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
        require(self, not problem, problem, "Write code: with a function def transform(...): that returns its result.")
        count = self.concurrent_thread_count
        require(self, count is None or count >= 1, f"concurrent_thread_count must be at least 1, not {count}")
        require(self, self.limit is None or self.limit >= 1, f"limit must be at least 1, not {self.limit}")
        require(self, self.timeout_seconds > 0, f"timeout_seconds must be above 0, not {self.timeout_seconds:g}")
        require(
            self,
            self.memory_bytes >= SMALLEST_MEMORY,
            f"memory_bytes must be at least {SMALLEST_MEMORY}, not {self.memory_bytes}",
        )

    @property
    def declared(self) -> frozenset[str]:
        """Return the fields that `schema` declares."""
        return frozenset(self.schema.names if self.schema else ())

    @property
    def reading(self) -> Reading:
        """Return the fields that the code surely reads of its argument."""
        return reading_of(self.code)


async def call(node: CodeNode, given: Any, tools: Tools, *, wants: Wants = "mapping") -> Any:
    """Call `transform`; raises ItemError for what goes wrong in it, PipelineError when the code is not trusted."""
    program = Program(
        operator=node.name,
        source=node.code,
        wants=wants,
        timeout_seconds=node.timeout_seconds,
        memory_bytes=node.memory_bytes,
        workers=min(node.concurrent_thread_count or MOST_WORKERS, MOST_WORKERS),
        seed=tools.seed,
    )
    return await tools.call_code(program, thaw(given))


def beyond_limit(node: CodeNode, rows: Iterable[Row]) -> list[Rejected]:
    """Turn down rows that come after the limit."""
    return [Rejected(row, f"{node.kind} {node.name}: not taken, the limit is {node.limit}") for row in rows]


def within_limit(node: CodeNode, rows: Sequence[Row]) -> tuple[Sequence[Row], list[Rejected]]:
    """Part the first `limit` rows from the others, which are turned down."""
    return rows[: node.limit], beyond_limit(node, rows[len(rows[: node.limit]) :])
