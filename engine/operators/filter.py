"""filter: keep the rows for which the model says yes (paper section 2.2.4)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

from engine.errors import ItemError
from engine.language.position import Where
from engine.language.schema import Scalar
from engine.language.templates import Template
from engine.operators.accounting import kind_of, process_rows, require, value_of
from engine.operators.asking import reads_of
from engine.operators.base import Operator, Outcome, Rejected, Tools
from engine.operators.row_answers import ask_rows
from engine.operators.row_prompts import RowPromptNode
from engine.operators.vote import votes
from engine.plan.node import Traits
from engine.rows import Row
from models.protocol import Reply

LONGEST_SHOWN = 80
"""Characters of a value that a reason shows."""


@dataclass(frozen=True, kw_only=True)
class Filter(RowPromptNode):
    """Decide each row by the one boolean of `schema`; rejected rows stay in the ledger with the reason.

    Further fields, such as a quote before the boolean (evidence first), are added to the rows that stay. The boolean
    is true in all of these and left out unless `keep_decision`. `drop_keys` are dropped from the rows that stay.
    With `condition`, an expression of the template language over `input`, code decides and no model is asked:
    `input.outcome in ["sustained", "admitted"]`. With `readings`, fields that hold probabilities (map's
    output.probabilities), rows are kept whose vote over all rows (engine.operators.vote), plus the votes in the fields
    `add`, is above `margin`; `vote` names a field to write the sum to.
    """

    kind: ClassVar[str] = "filter"
    limit_counts: ClassVar[Literal["begun", "kept"]] = "kept"

    condition: str | None = None
    readings: tuple[str, ...] = ()
    add: tuple[str, ...] = ()
    margin: float = 0.0
    vote: str | None = None
    keep_decision: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        require(
            self,
            bool(self.readings) or not (self.add or self.margin or self.vote),
            "add, margin and vote need readings",
            "Name the fields that hold probabilities: readings: [p_guilty].",
        )
        if self.readings:
            asked = self.prompt or self.schema or self.condition
            require(self, not asked, "a filter has readings, a condition or a prompt, not several")
            return
        if self.condition is not None:
            require(self, not (self.prompt or self.schema), "a filter has a condition or a prompt, not both")
            self._test.check(Where(operator=self.name))
            return
        require(
            self,
            self.prompt is not None and self.schema is not None,
            "a filter needs prompt and output.schema, a condition, or readings",
            'For example condition: input.outcome == "sustained".',
        )
        booleans = self._booleans
        require(
            self,
            len(booleans) == 1,
            f"a filter's schema needs exactly one boolean field, not {len(booleans)}: {', '.join(self._names)}",
            "For example output.schema: {quote: quote, keep: boolean}.",
        )

    @property
    def _names(self) -> tuple[str, ...]:
        return self.schema.names if self.schema else ()

    @property
    def _booleans(self) -> list[str]:
        return [f.name for f in self.schema.fields if f.type == Scalar("boolean")] if self.schema else []

    @cached_property
    def _test(self) -> Template:
        return Template("{% if " + (self.condition or "true") + " %}1{% endif %}")

    @property
    def decision(self) -> str:
        """Return the field that decides."""
        return self._booleans[0]

    @property
    def kept(self) -> tuple[str, ...]:
        """Return the answer's fields that stay in the row."""
        return tuple(n for n in self._names if self.keep_decision or n not in self._booleans)

    def traits(self) -> Traits:
        """Say what it reads and writes."""
        dropped = frozenset(self.drop_keys)
        if self.readings:
            return Traits(
                reads=frozenset((*self.readings, *self.add)),
                writes=frozenset([self.vote] if self.vote else ()) - dropped,
                removes=dropped,
                cardinality="zero_or_one",
                row_local=False,
                calls_model=False,
            )
        by_condition = self.condition is not None
        return Traits(
            reads=reads_of(self._test, "input", None) if by_condition else self.prompt_reads,
            writes=frozenset(self.kept) - dropped,
            removes=dropped,
            cardinality="zero_or_one",
            row_local=self.is_row_local,
            calls_model=not by_condition,
            reads_unknown=self._test.reads_unknown if by_condition else self.reads_unknown_fields,
        )

    def keep(self, row: Row, added: Mapping[str, Any]) -> Row:
        """Make the row that stays."""
        return row.derive(self.name, self.without_drop_keys({**row.values, **added}))


async def run(node: Filter, rows: Sequence[Row], tools: Tools) -> Outcome:
    """Ask about all rows at once; rows that stay keep their order."""
    if node.readings:
        return await _by_vote(node, rows, tools)
    schema = node.schema
    if schema is None:
        return await process_rows(node, rows, lambda row: _by_condition(node, row), tools)

    def decided(row: Row, replies: Sequence[Reply]) -> Sequence[Row] | Rejected:
        answer = schema.read(replies[0].value)
        if not answer[node.decision]:
            return Rejected(row, _reason(node, answer))
        return [node.keep(row, {name: answer[name] for name in node.kept})]

    return await ask_rows(node, rows, decided, tools)


async def _by_vote(node: Filter, rows: Sequence[Row], tools: Tools) -> Outcome:
    async def read(row: Row) -> Sequence[Row]:
        for name in (*node.readings, *node.add):
            value = value_of(row, name)
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise ItemError(
                    f"field {name!r} is {kind_of(value)}, not a number",
                    advice="The model may not report probabilities; a local llama.cpp model does.",
                )
            if name in node.readings and not 0 <= value <= 1:
                raise ItemError(f"field {name!r} is {value}, no probability between 0 and 1")
        return [row]

    checked = await process_rows(node, rows, read, tools)
    cast = votes([[row.values[name] for name in node.readings] for row in checked.rows])
    kept: list[Row] = []
    rejected: list[Rejected] = []
    for row, own in zip(checked.rows, cast, strict=True):
        vote = own + sum(row.values[name] for name in node.add)
        if vote > node.margin:
            kept.append(node.keep(row, {node.vote: vote} if node.vote else {}))
        else:
            seen = ", ".join(f"{name} = {row.values[name]:.3g}" for name in (*node.readings, *node.add))
            rejected.append(Rejected(row, f"filter {node.name}: vote {vote:.2f}, margin {node.margin:g} ({seen})"))
    return Outcome(kept, rejected, checked.failed)


async def _by_condition(node: Filter, row: Row) -> Sequence[Row] | Rejected:
    if node._test.render(input=row.values):
        return [node.keep(row, {})]
    seen = ", ".join(f"{key} = {shown(row.values.get(key))}" for key in sorted(node._test.mentions("input")))
    return Rejected(row, f"filter {node.name}: {node.condition} does not hold" + (f" ({seen})" if seen else ""))


def _reason(node: Filter, answer: Mapping[str, Any]) -> str:
    """Say why a row was turned down: its decision, and the first text the model gave with it."""
    texts = [answer[n] for n in ("reason", *node._names) if isinstance(answer.get(n), str) and answer[n].strip()]
    verdict = f"filter {node.name}: {node.decision} is false"
    return f"{verdict}: {texts[0].strip()}" if texts else verdict


def shown(value: Any) -> str:
    """Write a value as JSON, shortened for a reason."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "…"


OPERATOR = Operator(Filter, run)
