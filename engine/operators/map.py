"""map: ask the model about each row and add its answer's fields (paper section 2.2.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from engine.language.schema import Schema
from engine.language.templates import Template
from engine.operators.accounting import process_rows, require
from engine.operators.asking import ModelNode, Question, ask_reply, quote_source, reads_of, texts_of, visible
from engine.operators.base import Operator, Outcome, Tools
from engine.operators.probabilities import check_probabilities, probabilities_of
from engine.plan.frozen import FrozenMap, freeze
from engine.plan.node import Traits
from engine.rows import Row


@dataclass(frozen=True, kw_only=True)
class Map(ModelNode):
    """Add the fields of `schema` to each row, in written order; then drop `drop_keys`.

    `input` lists the fields the prompt may see (empty: all). Without a prompt, map only drops keys.
    `probabilities` names further fields: the probability of a choice (engine.operators.probabilities).
    A field of `schema` may be in `drop_keys`: it is written for the model's benefit and kept in no row.
    """

    kind: ClassVar[str] = "map"

    prompt: Template | None = None
    schema: Schema | None = field(default=None, metadata={"yaml": "output.schema"})
    probabilities: Mapping[str, str] = field(default=FrozenMap({}), metadata={"yaml": "output.probabilities"})
    input: tuple[str, ...] = ()
    drop_keys: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        require(
            self,
            (self.prompt is None) == (self.schema is None),
            "map needs prompt and output.schema together",
            "Write both, or neither and drop_keys.",
        )
        require(self, bool(self.prompt or self.drop_keys), "map has nothing to do", "Write prompt and output.schema.")
        object.__setattr__(self, "probabilities", freeze(self.probabilities))
        check_probabilities(self, self.probabilities, self.schema)

    def traits(self) -> Traits:
        """Say what it reads and writes."""
        names = frozenset(self.schema.names if self.schema else ()) | frozenset(self.probabilities)
        return Traits(
            reads=reads_of(self.prompt, "input", self.schema) | frozenset(self.input),
            writes=names - frozenset(self.drop_keys),
            removes=frozenset(self.drop_keys),
            calls_model=self.prompt is not None,
            reads_unknown=self.prompt is not None and self.prompt.reads_unknown and not self.input,
        )


async def run(node: Map, rows: Sequence[Row], tools: Tools) -> Outcome:
    """Ask about all rows at once; rows keep their order, document and span."""

    async def answer(row: Row) -> Sequence[Row]:
        values = {**row.values, **await _fields(node, row, tools)}
        return [row.derive(node.name, {k: v for k, v in values.items() if k not in node.drop_keys})]

    return await process_rows(node, rows, answer, tools)


async def _fields(node: Map, row: Row, tools: Tools) -> dict[str, Any]:
    if node.prompt is None or node.schema is None:
        return {}
    question = row_question(row, node.prompt, node.schema, visible(row.values, node.input))
    question = replace(question, probabilities=bool(node.probabilities))
    reply = await ask_reply(node, question, tools)
    values = question.read(reply.value)
    return {**values, **probabilities_of(node.probabilities, node.schema, values, reply)}


def row_question(row: Row, prompt: Template, schema: Schema, seen: Mapping[str, Any]) -> Question:
    """Put a prompt about one row, of which it sees the values `seen`; quotes come from all of the row."""
    return Question(
        prompt=prompt.render(input=seen),
        json_schema=schema.json_schema(quote_source([row.values], prompt)),
        form=schema.describe(),
        read=schema.read,
        texts=texts_of(seen, prompt),
        row_id=row.id,
        values=row.values,
    )


OPERATOR = Operator(Map, run)
