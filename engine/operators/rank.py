"""rank: put rows in the order of a criterion: a first order by ratings or embeddings, then windows of comparisons.

After Marcus et al., Human-powered Sorts and Joins (VLDB 2012), and DocETL's operator of that name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from engine.operators.accounting import process_rows, require, value_of
from engine.operators.asking import ModelNode
from engine.operators.base import Operator, Outcome, Tools
from engine.operators.mentions import shown
from engine.operators.rank_order import Ranked, first_order
from engine.operators.rank_windows import refine
from engine.plan.node import Traits
from engine.rows import Row

RANK = "_rank"


@dataclass(frozen=True, kw_only=True)
class Rank(ModelNode):
    """Order all rows by the criterion `prompt` (plain text), and number them from 1 in the field `_rank`.

    The first order is by ratings of 1 to 7 that the model gives to `batch_size` rows at once (`likert`), by the cosine
    of criterion and row (`embedding`), or by the ratings of a sample, carried over to the rows that are like them
    (`calibrated_embedding`). Then windows of rows are shown to the model from the bottom to the top; its
    `num_top_items_per_window` picks move to the front of the window. At most `rerank_call_budget` windows are asked
    about; 0 leaves the first order as it is. A window is as small as the budget allows for all rows to be reached, and
    has at most `window_size` rows: then those at the bottom may stay where they are. `k` says that only the first k
    places matter. `direction` desc puts what matches most first. `input_keys` are the fields compared, none: all.
    """

    kind: ClassVar[str] = "rank"

    prompt: str
    input_keys: tuple[str, ...] = ()
    direction: Literal["asc", "desc"] = "desc"
    initial_ordering_method: Literal["likert", "embedding", "calibrated_embedding"] = "likert"
    batch_size: int = 1
    num_calibration_docs: int = 5
    rerank_call_budget: int | None = None
    call_budget: int | None = None
    num_top_items_per_window: int = 3
    overlap_fraction: float = 0.5
    window_size: int | None = None
    k: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self, bool(self.prompt.strip()), "prompt says no criterion", "Write what the rows are ordered by.")
        at_least = {"batch_size": 1, "num_calibration_docs": 0, "num_top_items_per_window": 1, "k": 1, "window_size": 2}
        at_least |= {"rerank_call_budget": 0, "call_budget": 0}
        for name, least in at_least.items():
            given = getattr(self, name)
            require(self, given is None or given >= least, f"{name} must be at least {least}, not {given}")
        require(
            self,
            0 <= self.overlap_fraction < 1,
            f"overlap_fraction must be at least 0 and below 1, not {self.overlap_fraction}",
        )
        both = {self.rerank_call_budget, self.call_budget} - {None}
        require(self, len(both) < 2, "call_budget and rerank_call_budget are the same setting, given twice")

    @property
    def budget(self) -> int:
        """Return how many windows may be asked about."""
        given = (self.rerank_call_budget, self.call_budget)
        return next((n for n in given if n is not None), 10)

    @property
    def reads_embeddings(self) -> bool:
        """Say whether the first order needs the embedding model."""
        return self.initial_ordering_method != "likert"

    def traits(self) -> Traits:
        """Say what it reads and writes."""
        return Traits(
            reads=frozenset(self.input_keys),
            writes=frozenset({RANK}),
            row_local=False,
            calls_model=self.budget > 0 or self.initial_ordering_method != "embedding",
            embeds=self.reads_embeddings,
            reads_unknown=not self.input_keys,
        )


async def run(node: Rank, rows: Sequence[Row], tools: Tools) -> Outcome:
    """Put the rows in order; one that cannot be rated or read fails, the others are ranked without it."""

    async def readable(row: Row) -> Sequence[Row]:
        document_text(row, node.input_keys)
        return [row]

    there = await process_rows(node, rows, readable, tools)
    ranked = await ranked_rows(node, there.rows, tools)
    out = [row.derive(node.name, {**row.values, RANK: place}) for place, row in enumerate(ranked.rows, 1)]
    return Outcome(out, failed=[*there.failed, *ranked.failed], decisions=ranked.decisions)


async def ranked_rows(node: Rank, rows: Sequence[Row], tools: Tools) -> Ranked:
    """Return the rows that can be ranked, in order, without making new ones."""
    texts = {row.id: document_text(row, node.input_keys) for row in rows}
    first = await first_order(node, rows, texts, tools)
    order, decisions = await refine(node, first.rows, texts, tools)
    return Ranked(order, first.failed, decisions)


def document_text(row: Row, keys: Sequence[str]) -> str:
    """Write a row as the model sees it: a line `field: value` each."""
    return "\n".join(f"{key}: {shown(value_of(row, key))}" for key in keys or row.values)


OPERATOR = Operator(Rank, run)
