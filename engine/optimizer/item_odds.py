"""Ask a model of each item that plans list whether it belongs there (engine.optimizer.weighing says what for)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.directives.item_by_item import YES_NO
from engine.language.schema import Enum, Field, Schema
from engine.operators.accounting import Failure as NoAnswer
from engine.operators.accounting import attempt_all
from engine.operators.lean import log_odds_of
from engine.operators.question import answer_format
from engine.optimizer.agent import Agent, AgentQuestion, agent_prompt, as_head, joined
from engine.optimizer.outputs import PlanOutput
from engine.optimizer.packing import input_parts, pack
from engine.optimizer.weighing import items_of
from engine.plan.frozen import digest_of
from engine.rows import RowId

MOST_WEIGHED = 6
"""Sample rows whose items are asked about."""

MOST_ITEMS = 24
"""Of one row."""

WEIGHED_TOKENS = 3000
"""Of a sample row, the most: what stands in a part that is left out would be held for wrong."""

REPLY_TOKENS = 24
BELONGS = "belongs"
_ANSWER = Schema((Field(BELONGS, Enum(YES_NO)),))


@dataclass(frozen=True, slots=True)
class _Item:
    """One question: of the item `key` of a sample row, shown by `head`."""

    source: RowId
    key: str
    head: str
    text: str


async def item_odds(agent: Agent, outputs: Sequence[PlanOutput]) -> Mapping[RowId, Mapping[str, float]]:
    """Return the log-odds of each item that outputs list, by sample row; rows that do not fit whole are left out.

    Raises models.errors.ModelError for what is wrong with the machine; an item without an answer is left out.
    """
    items = list(_items(agent, outputs))

    async def ask(item: _Item) -> float:
        question = AgentQuestion(
            head=item.head,
            told=joined(agent_prompt("weigh", item=item.text), answer_format(_ANSWER.describe())),
            schema=_ANSWER.json_schema(lambda _: ()),
            task="weighing an item",
            row_id=item.source,
            most_tokens=REPLY_TOKENS,
            probabilities=True,
        )
        return log_odds_of(await agent.ask(question), BELONGS, YES_NO)

    answers = await attempt_all(items, ask, lambda done, total: None)
    found: dict[RowId, dict[str, float]] = {}
    for item, answer in zip(items, answers, strict=True):
        if not isinstance(answer, NoAnswer):
            found.setdefault(item.source, {})[item.key] = answer
    return found


def _items(agent: Agent, outputs: Sequence[PlanOutput]) -> list[_Item]:
    """Return the questions: of each row the items of all outputs, in an order that no output decides."""
    rows = dict.fromkeys(id for output in outputs for id in output.inputs)
    found: list[_Item] = []
    for id in list(rows)[:MOST_WEIGHED]:
        there = [output for output in outputs if id in output.inputs]
        items = {key: item for output in there for key, item in items_of(output, id).items()}
        head = _whole_record(agent, there[0], id)
        if head is None:
            continue
        for key in sorted(items, key=digest_of)[:MOST_ITEMS]:
            field, text = items[key]
            task = agent_prompt("asked", task=there[0].listing[field])
            found.append(_Item(id, key, _own_prompt(there[0], field, id) or head + as_head(task), text))
    return found


def _whole_record(agent: Agent, output: PlanOutput, source: RowId) -> str | None:
    """Show a sample row, what prompts of the plan name first; None where it does not fit whole."""
    referenced = frozenset().union(*(node.traits().reads for node in output.plan.operators))
    frame = agent_prompt("record", record=())
    room = min(WEIGHED_TOKENS, agent.room(REPLY_TOKENS, frame))
    packed = pack(input_parts(output.inputs[source], referenced), max(0, room), agent.model.count_tokens)
    if any(part.left_out for part in packed):
        return None
    return as_head(agent_prompt("record", record=packed))


def _own_prompt(output: PlanOutput, field: str, source: RowId) -> str:
    """Return the user's own prompt about a sample row; "" where the row has not all that it shows.

    Behind it the answers tell right from wrong better than behind a record and a task (docs/decisions/0033).
    """
    prompt, values = output.prompts.get(field), output.inputs[source]
    if prompt is None or prompt.reads_unknown or not prompt.mentions("input") <= values.keys():
        return ""
    return as_head(prompt.render(input=values).strip())
