"""map: ask the model about each row and add its answer's fields (paper section 2.2.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from engine.operators.accounting import process_rows
from engine.operators.base import Operator, Outcome, Tools
from engine.operators.citing import cited_row
from engine.operators.probabilities import check_probabilities, probabilities_of
from engine.operators.row_prompts import RowPromptNode, ask_rows
from engine.plan.frozen import FrozenMap, freeze
from engine.plan.node import Traits
from engine.rows import Row
from models.protocol import Reply, Sampling

SAMPLES_TEMPERATURE = 0.7
"""The temperature of several samples where neither the operator nor the pipeline sets one: at 0 all are the same."""


@dataclass(frozen=True, kw_only=True)
class Map(RowPromptNode):
    """Add the fields of `schema` to each row, in written order; then drop `drop_keys`.

    `samples` answers make as many rows of each row. Without a prompt, map only drops keys.
    `probabilities` names further fields: the probability of a choice (engine.operators.probabilities).
    With `cite`, each field names the lines of the text that it comes from, and is null where they do not hold it.
    A field of `schema` may be in `drop_keys`: it is written for the model's benefit and kept in no row.
    """

    kind: ClassVar[str] = "map"

    probabilities: Mapping[str, str] = field(default=FrozenMap({}), metadata={"yaml": "output.probabilities"})
    samples: int = field(default=1, metadata={"yaml": "output.n"})
    cite: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(
            (self.prompt is None) == (self.schema is None),
            "map needs prompt and output.schema together",
            "Write both, or neither and drop_keys.",
        )
        self.require(bool(self.prompt or self.drop_keys), "map has nothing to do", "Write prompt and output.schema.")
        object.__setattr__(self, "probabilities", freeze(self.probabilities))
        check_probabilities(self, self.probabilities, self.schema)
        self._check_samples()
        self._check_cite()

    def _check_cite(self) -> None:
        """Refuse cite where the lines of an answer could not be checked, or its form is another."""
        if not self.cite:
            return
        self.require(self.prompt is not None, "cite needs a prompt", "Write prompt and output.schema.")
        others = {"output.n": self.samples > 1, "output.probabilities": bool(self.probabilities)}
        others |= {"examples": bool(self.examples), "calibrate": self.calibrate, "too_long": self.too_long != "error"}
        self.require_alone("cite", {**others, "batch_prompt": bool(self.batch_prompt)}, "Remove one of them.")

    def _check_samples(self) -> None:
        self.require(self.samples >= 1, f"output.n must be at least 1, not {self.samples}")
        if self.samples == 1:
            return
        self.require(self.prompt is not None, "output.n needs a prompt", "Write prompt and output.schema.")
        self.require(self.batch_prompt is None, "output.n and batch_prompt cannot be combined", "Remove one of them.")
        self.require(
            self.temperature != 0,
            f"at temperature 0 all {self.samples} answers of output.n would be the same",
            f"Write a temperature above 0, or none: then it is {SAMPLES_TEMPERATURE}.",
        )

    @property
    def counted_otherwise(self) -> Mapping[str, bool]:
        """Return the keys by which answers are counted or shared in another way than by `agree`: which are set."""
        keys = {"output.n": self.samples > 1, "output.probabilities": bool(self.probabilities)}
        return {**keys, **super().counted_otherwise}

    def sampling(self, tools: Tools) -> Sampling:
        """Return the pipeline's sampling with what this operator overrides; several samples are never greedy."""
        sampling = super().sampling(tools)
        if self.samples > 1 and sampling.temperature == 0:
            return replace(sampling, temperature=SAMPLES_TEMPERATURE)
        return sampling

    def own_traits(self) -> Traits:
        """Say what it reads and writes."""
        names = frozenset((*self.answered_fields, *self.probabilities))
        return Traits(
            reads=self.prompt_reads,
            writes=names - frozenset(self.drop_keys),
            removes=frozenset(self.drop_keys),
            cardinality="one_to_many" if self.samples > 1 else "one_to_one",
            row_local=self.is_row_local,
            calls_model=self.prompt is not None,
            reads_unknown=self.reads_unknown_fields,
        )


async def run(node: Map, rows: Sequence[Row], tools: Tools) -> Outcome:
    """Ask about all rows at once; rows keep their order, document and span."""
    schema = node.schema
    if schema is None:
        return await process_rows(node, rows, lambda row: _drop(node, row), tools)
    if node.cite:
        return await process_rows(node, rows, lambda row: cited_row(node, row, tools), tools)

    def made(row: Row, index: int, reply: Reply) -> Row:
        answer = schema.read(reply.value)
        sure = probabilities_of(node.probabilities, schema, answer, reply)
        return row.derive(node.name, node.without_drop_keys({**row.values, **answer, **sure}), index=index)

    def answered(row: Row, replies: Sequence[Reply]) -> Sequence[Row]:
        return [made(row, index, reply) for index, reply in enumerate(replies)]

    return await ask_rows(node, rows, answered, tools, samples=node.samples, probabilities=bool(node.probabilities))


async def _drop(node: Map, row: Row) -> Sequence[Row]:
    return [row.derive(node.name, node.without_drop_keys(row.values))]


OPERATOR = Operator(Map, run)
