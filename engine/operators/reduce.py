"""reduce: one row per group of rows with equal keys (paper section 2.2.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from engine.errors import PipelineError
from engine.language.schema import Schema
from engine.language.templates import Template
from engine.operators.accounting import process, require, value_of
from engine.operators.aggregates import Aggregate, parse_aggregates
from engine.operators.asking import ModelNode, ask, reads_of
from engine.operators.base import Operator, Outcome, Tools
from engine.operators.folding import Fold, fold_rows, needs_folding
from engine.plan.frozen import FrozenMap, freeze
from engine.plan.node import Traits
from engine.rows import Row
from models.protocol import canonical_json

ALL = "_all"


@dataclass(frozen=True, kw_only=True)
class Reduce(ModelNode):
    """Make one row of each group with equal values of `reduce_key` (`_all`: one group of everything).

    The row has the keys, with `pass_through` the first row's other fields, then the fields of `schema`, which the model
    writes from `prompt` (`inputs`, `reduce_key`), then those of `aggregate`, which code computes. Either may be absent:

        aggregate: {acts: collect, first_date: {min: date}, records: {count: filename}}

    A group larger than `fold_batch_size`, or than the context, is folded in order with `fold_prompt` (`inputs`,
    `output`, `reduce_key`); without one, the fold prompt is made from `prompt`. Rows keep their order in all cases, so
    `associative: false` only forbids the optimizer to reorder. A group that fails, fails all its rows.
    """

    kind: ClassVar[str] = "reduce"

    reduce_key: tuple[str, ...]
    prompt: Template | None = field(default=None, metadata={"variables": ("inputs", "reduce_key")})
    schema: Schema | None = field(default=None, metadata={"yaml": "output.schema"})
    fold_prompt: Template | None = field(default=None, metadata={"variables": ("inputs", "output", "reduce_key")})
    fold_batch_size: int | None = None
    pass_through: bool = False
    associative: bool = True
    aggregate: Mapping[str, Any] = FrozenMap({})

    def __post_init__(self) -> None:
        super().__post_init__()
        keys = (self.reduce_key,) if isinstance(self.reduce_key, str) else tuple(self.reduce_key)
        object.__setattr__(self, "reduce_key", keys)
        object.__setattr__(self, "aggregate", freeze(self.aggregate))
        try:
            parse_aggregates(self.aggregate)
        except ValueError as error:
            raise PipelineError(str(error), operator=self.name) from error
        require(self, bool(self.reduce_key), "reduce_key names no field", f"Write {ALL} to make one group of all rows.")
        require(
            self, ALL not in self.reduce_key or len(self.reduce_key) == 1, f"{ALL} cannot be combined with other keys"
        )
        self._check_prompts()
        self._check_fields()

    def _check_prompts(self) -> None:
        require(
            self,
            (self.prompt is None) == (self.schema is None),
            "reduce needs prompt and output.schema together",
            "Write both, or neither and aggregate: {field: collect}.",
        )
        require(
            self, bool(self.prompt or self.aggregate), "reduce has nothing to compute", "Write prompt or aggregate."
        )
        alone = self.prompt is not None or (self.fold_prompt is None and self.fold_batch_size is None)
        require(self, alone, "fold_prompt and fold_batch_size need a prompt, which the first batch is asked with")
        size = self.fold_batch_size
        require(self, size is None or size >= 1, f"fold_batch_size must be at least 1, not {size}")

    def _check_fields(self) -> None:
        others = {*self.keys, *(self.schema.names if self.schema else ())}
        twice = sorted(others & set(self.aggregate))
        require(self, not twice, f"aggregate would overwrite {', '.join(twice)}", "Give the aggregate another name.")

    @property
    def keys(self) -> tuple[str, ...]:
        """Return the fields rows are grouped by; none for `_all`."""
        return () if self.reduce_key == (ALL,) else self.reduce_key

    @cached_property
    def aggregates(self) -> tuple[Aggregate, ...]:
        """Return what code computes."""
        return parse_aggregates(self.aggregate)

    def traits(self) -> Traits:
        """Say what it reads and writes; with `pass_through` the first row's fields survive."""
        reads = reads_of(self.prompt, "inputs", self.schema) | reads_of(self.fold_prompt, "inputs", None)
        prompts = [p for p in (self.prompt, self.fold_prompt) if p]
        return Traits(
            reads=reads | frozenset(self.keys) | {a.source for a in self.aggregates},
            writes=frozenset({*self.keys, *(self.schema.names if self.schema else ()), *self.aggregate}),
            keeps_others=self.pass_through,
            cardinality="many_to_one",
            row_local=False,
            calls_model=self.prompt is not None,
            reads_unknown=any(p.reads_unknown for p in prompts),
        )

    def work_items(self, rows: Sequence[Row]) -> Sequence[Sequence[Row]]:
        """Give the groups: `limit` counts them."""
        return group_rows(rows, self.keys)

    def written_fields(self) -> tuple[str, ...]:
        """Return the keys, the schema's fields and the aggregates."""
        names = self.schema.names if self.schema else ()
        return tuple(dict.fromkeys([*self.keys, *names, *self.aggregate]))


async def run(node: Reduce, rows: Sequence[Row], tools: Tools) -> Outcome:
    """Reduce all groups at once; they come out in the order in which each first appeared."""

    async def reduce_group(group: Sequence[Row]) -> Sequence[Row]:
        keys = {key: value_of(group[0], key) for key in node.keys}
        passed = group[0].values if node.pass_through else {}
        answer = await _answer(node, group, keys, tools)
        computed = {a.field: a.compute(group) for a in node.aggregates}
        return [Row.combine(node.name, group, {**keys, **passed, **answer, **computed})]

    return await process(node, group_rows(rows, node.keys), reduce_group, tools)


def group_rows(rows: Sequence[Row], keys: Sequence[str]) -> list[list[Row]]:
    """Group by equal JSON values, groups and rows in order. Rows that lack a key are groups that will fail."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        lacks = any(key not in row.values for key in keys)
        address = f"lacks a key: {row.id}" if lacks else canonical_json([row.values[key] for key in keys])
        groups.setdefault(address, []).append(row)
    return list(groups.values())


async def _answer(node: Reduce, group: Sequence[Row], keys: dict[str, Any], tools: Tools) -> dict[str, Any]:
    if node.prompt is None or node.schema is None:
        return {}
    fold = Fold(node, group, keys, node.prompt, node.fold_prompt, node.schema, node.fold_batch_size)
    if needs_folding(fold, tools):
        return await fold_rows(fold, tools)
    return await ask(node, fold.question(), tools)


OPERATOR = Operator(Reduce, run)
