"""filter: keep the rows for which the model says yes (paper section 2.2.4)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from engine.errors import ItemError
from engine.language.expressions import RowExpression
from engine.language.position import Where
from engine.language.schema import Scalar, Schema
from engine.operators.accounting import Failure, attempt, fail, kind_of, process_rows, value_of
from engine.operators.asking import ask_reply, visible
from engine.operators.base import Operator, Outcome, Rejected, Tools
from engine.operators.bias import Bias, Verdict, log_odds_of, of_batch, votes
from engine.operators.content_free import Values
from engine.operators.deciding import DecidingNode, LeanMethod, find_bias, told_bias
from engine.operators.probabilities import check_probabilities, probabilities_of
from engine.operators.row_prompts import RowPromptNode, ask_rows, row_question
from engine.plan.frozen import FrozenMap, freeze
from engine.plan.node import Traits
from engine.rows import Row, RowId
from models.protocol import Reply

LONGEST_SHOWN = 80
"""Characters of a value that a reason shows."""


@dataclass(frozen=True, kw_only=True)
class Filter(DecidingNode, RowPromptNode):
    """Decide each row by the one boolean of `schema`; rejected rows stay in the ledger with the reason.

    Further fields, such as a quote before the boolean (evidence first), are added to the rows that stay. The boolean
    is true in all of these and left out unless `keep_decision`. `drop_keys` are dropped from the rows that stay.
    With `condition`, an expression over `input`, code decides and no model is asked:
    `input.outcome in ["sustained", "admitted"]`. With `readings`, fields that hold probabilities (map's
    output.probabilities), rows are kept whose vote over all rows (engine.operators.bias), plus the votes in the fields
    `add`, is above `margin`; `vote` names a field to write the sum to. `probabilities` names further fields of the
    rows that stay: the probability of a choice (engine.operators.probabilities), of the boolean that decides the
    corrected one (DecidingNode).
    """

    kind: ClassVar[str] = "filter"
    limit_counts: ClassVar[Literal["begun", "kept"]] = "kept"
    lean_methods: ClassVar[tuple[LeanMethod, ...]] = ("none", "content_free", "batch", "reviewed")

    condition: RowExpression | None = None
    readings: tuple[str, ...] = ()
    add: tuple[str, ...] = ()
    margin: float = 0.0
    vote: str | None = None
    keep_decision: bool = False
    probabilities: Mapping[str, str] = field(default=FrozenMap({}), metadata={"yaml": "output.probabilities"})

    def __post_init__(self) -> None:
        object.__setattr__(self, "probabilities", freeze(self.probabilities))
        if isinstance(self.condition, str):
            object.__setattr__(self, "condition", RowExpression.parse(self.condition, where=Where(operator=self.name)))
        super().__post_init__()
        check_probabilities(self, self.probabilities, self.schema)
        self._check_correction()
        self.require(
            bool(self.readings) or not (self.add or self.margin or self.vote),
            "add, margin and vote need readings",
            "Name the fields that hold probabilities: readings: [p_guilty].",
        )
        if self.readings:
            asked = self.prompt or self.schema or self.condition
            self.require(not asked, "a filter has readings, a condition or a prompt, not several")
            return
        if self.condition is not None:
            self.require(not (self.prompt or self.schema), "a filter has a condition or a prompt, not both")
            return
        self.require(
            self.prompt is not None and self.schema is not None,
            "a filter needs prompt and output.schema, a condition, or readings",
            'For example condition: input.outcome == "sustained".',
        )
        booleans, names = self._booleans, ", ".join(self.answered_fields)
        self.require(
            len(booleans) == 1,
            f"a filter's schema needs exactly one boolean field, not {len(booleans)}: {names}",
            "For example output.schema: {quote: quote, keep: boolean}.",
        )

    def _check_correction(self) -> None:
        if not self.corrects_lean:
            return
        self.require(
            self.prompt is not None,
            "correct_lean needs a prompt: a condition or readings ask no model",
            "Remove correct_lean.",
        )
        shared = "batch_prompt" if self.batch_prompt else "calibrate" if self.calibrate else ""
        self.require(
            not shared or self.correct_lean == "batch",
            f"correct_lean: {self.correct_lean} and {shared} cannot be combined",
            "Write correct_lean: batch, or remove one of them.",
        )

    @property
    def is_row_local(self) -> bool:
        """Say whether the answer about a row depends on that row alone."""
        return super().is_row_local and not self.corrects_lean

    @property
    def counted_otherwise(self) -> Mapping[str, bool]:
        """Return the keys by which answers are counted or shared in another way than by `agree`: which are set."""
        keys = {"output.probabilities": bool(self.probabilities), "correct_lean": self.corrects_lean}
        return {**keys, **super().counted_otherwise, "readings": bool(self.readings)}

    @property
    def _booleans(self) -> list[str]:
        return [f.name for f in self.schema.fields if f.type == Scalar("boolean")] if self.schema else []

    @property
    def decision(self) -> str:
        """Return the field that decides."""
        return self._booleans[0] if self._booleans else ""

    @property
    def kept(self) -> tuple[str, ...]:
        """Return the answer's fields that stay in the row."""
        return tuple(n for n in self.answered_fields if self.keep_decision or n not in self._booleans)

    def own_traits(self) -> Traits:
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
        test = self.condition
        return Traits(
            reads=test.fields("input") if test else self.prompt_reads,
            writes=frozenset((*self.kept, *self.probabilities)) - dropped,
            removes=dropped,
            cardinality="zero_or_one",
            row_local=self.is_row_local,
            calls_model=test is None,
            reads_unknown=test.reads_unknown if test else self.reads_unknown_fields,
        )

    def keep(self, row: Row, added: Mapping[str, Any]) -> Row:
        """Make the row that stays."""
        return row.derive(self.name, self.without_drop_keys({**row.values, **added}))


async def run(node: Filter, rows: Sequence[Row], tools: Tools) -> Outcome:
    """Ask about all rows at once; rows that stay keep their order."""
    if node.readings:
        return await _by_vote(node, rows, tools)
    schema = node.schema
    if (test := node.condition) is not None:
        return await process_rows(node, rows, lambda row: _by_condition(node, test, row), tools)
    assert schema is not None  # __post_init__

    if node.corrects_lean:
        return await _by_probability(node, schema, rows, tools)

    def decided(row: Row, replies: Sequence[Reply]) -> Sequence[Row] | Rejected:
        return _decided(node, schema, row, replies[0])

    return await ask_rows(node, rows, decided, tools, probabilities=bool(node.probabilities))


def _decided(
    node: Filter, schema: Schema, row: Row, reply: Reply, verdict: Verdict | None = None
) -> Sequence[Row] | Rejected:
    """Follow the model's answer, or the corrected `verdict`."""
    answer = schema.read(reply.value)
    if verdict is not None and verdict.yes != answer[node.decision]:
        answer = {**answer, node.decision: verdict.yes}
    if not answer[node.decision]:
        return Rejected(row, _reason(node, answer) + (f" ({verdict.detail})" if verdict else ""))
    sure = probabilities_of(node.probabilities, schema, schema.read(reply.value), reply)
    if verdict is not None:
        sure |= {name: verdict.probability for name, field in node.probabilities.items() if field == node.decision}
    return [node.keep(row, {**{name: answer[name] for name in node.kept}, **sure})]


async def _by_probability(node: Filter, schema: Schema, rows: Sequence[Row], tools: Tools) -> Outcome:
    """Decide by how sure the model is, corrected for its bias; all rows are asked about first."""
    said: dict[RowId, tuple[Reply, float]] = {}

    def note(row: Row, replies: Sequence[Reply]) -> Sequence[Row]:
        said[row.id] = replies[0], log_odds_of(replies[0], node.decision)
        return [row]

    asked = await ask_rows(node, rows, note, tools, probabilities=True)
    bias = await attempt(lambda given: _bias(node, schema, given, said, tools), asked.rows)
    if isinstance(bias, Failure):
        return Outcome(failed=[*asked.failed, *fail(node, asked.rows, bias)])
    kept: list[Row] = []
    rejected: list[Rejected] = []
    changed = 0
    for row in asked.rows:
        reply, log_odds = said[row.id]
        verdict = Verdict.of(log_odds, bias)
        changed += verdict.yes != reply.value[node.decision]
        match _decided(node, schema, row, reply, verdict):
            case Rejected() as turned_down:
                rejected.append(turned_down)
            case made:
                kept += made
    decisions = [told_bias(node, bias, changed, len(asked.rows))] if asked.rows else []
    return Outcome(kept, rejected, asked.failed, decisions)


async def _bias(
    node: Filter, schema: Schema, rows: Sequence[Row], said: Mapping[RowId, tuple[Reply, float]], tools: Tools
) -> Bias:
    if node.correct_lean == "batch":
        return of_batch([said[row.id][1] for row in rows])
    asking = replace(node, validate=(), gleaning=None)

    async def read(values: Values, task: str) -> float:
        assert node.prompt is not None  # __post_init__
        row = Row.source(node.name, task, values["input"])
        question = row_question(row, node.prompt, schema, visible(row.values, node.input), layout=node.layout)
        question = replace(question, probabilities=True, task=task, row_id="")
        return log_odds_of(await ask_reply(asking, question, tools), node.decision)

    seen = [{"input": {**row.values}} for row in rows]
    return await find_bias(node, seen, read, tools.seed) if rows else Bias()


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
    for row, ballot in zip(checked.rows, cast, strict=True):
        vote = ballot + sum(row.values[name] for name in node.add)
        if vote > node.margin:
            kept.append(node.keep(row, {node.vote: vote} if node.vote else {}))
        else:
            seen = ", ".join(f"{name} = {row.values[name]:.3g}" for name in (*node.readings, *node.add))
            rejected.append(Rejected(row, f"filter {node.name}: vote {vote:.2f}, margin {node.margin:g} ({seen})"))
    return Outcome(kept, rejected, checked.failed)


async def _by_condition(node: Filter, test: RowExpression, row: Row) -> Sequence[Row] | Rejected:
    if test.holds(row.values):
        return [node.keep(row, {})]
    seen = ", ".join(f"{key} = {shown(row.values.get(key))}" for key in sorted(test.mentions("input")))
    return Rejected(row, f"filter {node.name}: {test.text} does not hold" + (f" ({seen})" if seen else ""))


def _reason(node: Filter, answer: Mapping[str, Any]) -> str:
    """Say why a row was left out: its decision, and the first text the model gave with it."""
    names = ("reason", *node.answered_fields)
    texts = [answer[name] for name in names if isinstance(answer.get(name), str) and answer[name].strip()]
    verdict = f"filter {node.name}: {node.decision} is false"
    return f"{verdict}: {texts[0].strip()}" if texts else verdict


def shown(value: Any) -> str:
    """Write a value as JSON, shortened for a reason."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "…"


OPERATOR = Operator(Filter, run)
