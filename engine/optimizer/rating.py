"""How good what a plan wrote is, from 1 (useless) to 4: by gold where enough is known, else by what code sees in it.

No model is asked for an opinion. Between plans that neither gold nor code can tell apart nothing is decided, and the
user's own stands (docs/decisions/0037; the paper, section 4.2.2, lets a model judge).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from engine.directives.item_by_item import YES_NO
from engine.errors import ItemError
from engine.language.schema import Enum, Field, Schema
from engine.operators.accounting import Failure as NoAnswer
from engine.operators.accounting import attempt_all
from engine.operators.asking import answer_format
from engine.operators.bias import log_odds_of
from engine.optimizer.agent import Agent, AgentModel, AgentQuestion, agent_prompt, as_head, joined
from engine.optimizer.gold import Gold, GoldScore
from engine.optimizer.outputs import OutputCell, PlanOutput
from engine.optimizer.packing import input_parts, pack
from engine.optimizer.pooling import pooled
from engine.optimizer.signals import COMPLETED, POOLED, WEIGHED, completed, joined_signals, lost_inputs, signals
from engine.optimizer.weighing import items_of, weighed
from engine.plan.frozen import digest_of
from engine.rows import RowId

POOLED_WEIGHT = 0.5
"""Of the agreement with other readings among what code can see, where there is one."""

HIGHEST = 4.0

MARGIN = 0.1
"""Ratings, 1 to 4, that differ by less draw."""


@dataclass(frozen=True, kw_only=True)
class Rating:
    """How good an output is. `grounds` names what the score was made of: "gold of 7 rows", or each signal, 0 to 1."""

    score: float
    grounds: tuple[tuple[str, float], ...]


def measured_rating(output: PlanOutput, metric: str) -> Rating | None:
    """Rate an output by what the user's own function makes of it; None where it was not called."""
    if output.measured is None:
        return None
    return Rating(score=1 + (HIGHEST - 1) * output.measured, grounds=((metric, output.measured),))


@dataclass(frozen=True)
class Rater:
    """Rates outputs of plans that do the same task. `model` is asked of single items of lists (`weigh`)."""

    model: AgentModel
    gold: Gold = field(default_factory=lambda: Gold({}))

    def rate(self, outputs: Sequence[PlanOutput]) -> list[Rating]:
        """Rate what plans made of the same rows, each beside the others: what several say is likely."""
        scores = [self.gold.score(output) for output in outputs]
        known = [score for score in scores if score is not None]
        if len(known) == len(outputs):
            return list(map(_gold_rating, known))
        rated = zip(scores, outputs, _agreement(outputs), strict=True)
        return [
            _code_rating(output, agreed, name) if score is None else _gold_rating(score)
            for score, output, (agreed, name) in rated
        ]

    async def weigh(self, outputs: Sequence[PlanOutput]) -> Sequence[PlanOutput]:
        """Ask of each item that the outputs list whether it belongs there; where gold tells, nobody is asked."""
        if any(self.gold.score(output) is not None for output in outputs):
            return outputs
        odds = await item_odds(Agent(self.model, "weighing"), outputs)
        return [replace(output, odds=odds) for output in outputs]


def _code_rating(output: PlanOutput, agreed: Mapping[RowId, float], agreement: str) -> Rating:
    """Rate an output by what code sees in it; `agreed` says how good it is by what all outputs say."""
    lost = lost_inputs(output)
    shares = (_seen(output, id, agreed) for id in output.inputs if id not in lost)
    known = [share for share in shares if share is not None]
    mean = sum(known) / len(known) if known else 0.0
    grounds = tuple(_grounds(output, agreed, agreement))
    return Rating(score=1 + (HIGHEST - 1) * completed(output) * mean, grounds=grounds)


def _agreement(outputs: Sequence[PlanOutput]) -> list[tuple[dict[RowId, float], str]]:
    """Return how good each output is by what all say, by row, and what that is called in the grounds of a rating.

    That is the agreement of readings, or where the odds of its items are known, these: readings of one model list the
    same wrong things.
    """
    both = zip(pooled(outputs), weighed(outputs), strict=True)
    return [({**votes, **odds}, WEIGHED if odds else POOLED) for votes, odds in both]


def _grounds(output: PlanOutput, agreed: Mapping[RowId, float], agreement: str) -> Iterator[tuple[str, float]]:
    if agreed:
        yield agreement, sum(agreed.values()) / len(agreed)
    yield from signals(output.rows, output.counts, output.optional).items()
    yield COMPLETED, completed(output)


def _seen(output: PlanOutput, source: RowId, agreed: Mapping[RowId, float]) -> float | None:
    """Join what code sees of one sample row, 0 to 1; None where it sees nothing."""
    both = agreed.get(source)
    rows = output.rows_of(source)
    if both is not None and output.odds.get(source):  # they say of an empty list, too, how good it is
        rows = tuple(replace(row, cells=tuple(c for c in row.cells if not _is_empty_list(output, c))) for row in rows)
    signal_mean = joined_signals(signals(rows, output.counts, output.optional))
    if signal_mean is None or both is None:
        return signal_mean if both is None else both
    return POOLED_WEIGHT * both + (1 - POOLED_WEIGHT) * signal_mean


def _is_empty_list(output: PlanOutput, cell: OutputCell) -> bool:
    return cell.field in output.listing and isinstance(cell.value, list | tuple) and not cell.value


def _gold_rating(score: GoldScore) -> Rating:
    grounds = ((f"gold of {score.rows} rows", score.f1), ("precision", score.precision), ("recall", score.recall))
    return Rating(score=1 + (HIGHEST - 1) * score.f1, grounds=grounds)


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

    answers = await attempt_all(items, ask)
    odds: dict[RowId, dict[str, float]] = {}
    for item, answer in zip(items, answers, strict=True):
        if not isinstance(answer, NoAnswer):
            odds.setdefault(item.source, {})[item.key] = answer
    return odds


def _items(agent: Agent, outputs: Sequence[PlanOutput]) -> list[_Item]:
    """Return the questions: of each row the items of all outputs, in an order that no output decides."""
    rows = dict.fromkeys(id for output in outputs for id in output.inputs)
    questions: list[_Item] = []
    for id in list(rows)[:MOST_WEIGHED]:
        readers = [output for output in outputs if id in output.inputs]
        items = {key: item for output in readers for key, item in items_of(output, id).items()}
        head = _whole_record(agent, readers[0], id)
        if head is None:
            continue
        for key in sorted(items, key=digest_of)[:MOST_ITEMS]:
            field, text = items[key]
            task = agent_prompt("asked", task=readers[0].listing[field])
            questions.append(_Item(id, key, _own_prompt(readers[0], field, id) or head + as_head(task), text))
    return questions


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
    """Return the user's own prompt about a sample row; "" where it cannot be filled in with what the row has.

    Behind it the answers tell right from wrong better than behind a record and a task (docs/decisions/0033).
    """
    prompt, values = output.prompts.get(field), output.inputs[source]
    if prompt is None or prompt.reads_unknown or not prompt.mentions("input") <= values.keys():
        return ""
    try:
        return as_head(prompt.render(input=values).strip())
    except ItemError:  # it reads something else in the row than is there
        return ""
