"""filter: keep the rows for which the model says yes (paper section 2.2.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from engine.language.schema import Scalar, Schema
from engine.language.templates import Template
from engine.operators.accounting import process_rows, require
from engine.operators.asking import ModelNode, ask, reads_of, visible
from engine.operators.base import Operator, Outcome, Rejected, Tools
from engine.operators.map import row_question
from engine.plan.node import Traits
from engine.rows import Row


@dataclass(frozen=True, kw_only=True)
class Filter(ModelNode):
    """Decide each row by the one boolean of `schema`; rejected rows stay in the ledger with the reason.

    Further fields, such as a quote before the boolean (evidence first), are added to the rows that stay. The boolean
    is true in all of these and left out unless `keep_decision`. `input` lists the fields the prompt may see.
    """

    kind: ClassVar[str] = "filter"

    prompt: Template
    schema: Schema = field(metadata={"yaml": "output.schema"})
    input: tuple[str, ...] = ()
    keep_decision: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        booleans = self._booleans
        require(
            self,
            len(booleans) == 1,
            f"a filter's schema needs exactly one boolean field, not {len(booleans)}: {', '.join(self.schema.names)}",
            "For example output.schema: {quote: quote, keep: boolean}.",
        )

    @property
    def _booleans(self) -> list[str]:
        return [f.name for f in self.schema.fields if f.type == Scalar("boolean")]

    @property
    def decision(self) -> str:
        """Return the field that decides."""
        return self._booleans[0]

    @property
    def kept(self) -> tuple[str, ...]:
        """Return the answer's fields that stay in the row."""
        return tuple(n for n in self.schema.names if self.keep_decision or n != self.decision)

    def traits(self) -> Traits:
        """Say what it reads and writes."""
        return Traits(
            reads=reads_of(self.prompt, "input", self.schema) | frozenset(self.input),
            writes=frozenset(self.kept),
            cardinality="zero_or_one",
            reads_unknown=self.prompt.reads_unknown and not self.input,
        )


async def run(node: Filter, rows: Sequence[Row], tools: Tools) -> Outcome:
    """Ask about all rows at once; rows that stay keep their order."""

    async def decide(row: Row) -> Sequence[Row] | Rejected:
        question = row_question(row, node.prompt, node.schema, visible(row.values, node.input))
        answer = await ask(node, question, tools)
        if not answer[node.decision]:
            return Rejected(row, _reason(node, answer))
        return [row.derive(node.name, {**row.values, **{name: answer[name] for name in node.kept}})]

    return await process_rows(node, rows, decide, tools)


def _reason(node: Filter, answer: Mapping[str, Any]) -> str:
    """Say why a row was turned down: its decision, and the first text the model gave with it."""
    texts = [answer[n] for n in ("reason", *node.schema.names) if isinstance(answer.get(n), str) and answer[n].strip()]
    verdict = f"filter {node.name}: {node.decision} is false"
    return f"{verdict}: {texts[0].strip()}" if texts else verdict


OPERATOR = Operator(Filter, run)
