"""Ask several times and keep what the readings agree on: the value by vote, and beside it how far they agree.

Self-consistency (Wang et al. 2023, https://arxiv.org/abs/2203.11171), field by field. A share is no probability: a
model may be wrong every time in the same way. It says which rows a person should look at first.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from engine.errors import ItemError
from engine.operators.accounting import Failure, attempt_all
from engine.operators.base import Tools
from engine.operators.model_node import Agree, ModelNode
from engine.operators.question import Question
from engine.values.likeness import Vote, vote
from models.protocol import Reply, canonical_json

AnswerOnce = Callable[[ModelNode, Question, Tools], Awaitable[Reply]]

BY = "agree"
"""The key that a note of the ledger names."""


@dataclass(frozen=True, slots=True)
class _Reading:
    """One answer: what the model wrote, and what it was read as."""

    reply: Reply
    values: Mapping[str, Any]


async def ask_to_agree(
    node: ModelNode, agree: Agree, question: Question, tools: Tools, answer_once: AnswerOnce
) -> Reply:
    """Ask `agree.times` times; return the reply by vote, and note how far the readings agree in `tools.record`.

    The first reading is the operator's own, at its own temperature; so where no two agree, the answer is the one that
    it would give without. Readings that fail are counted; raises ItemError where all do.
    """
    asked = await attempt_all(
        list(range(agree.times)),
        functools.partial(_one, node, agree, question, tools, answer_once),
        lambda done, total: None,
    )
    readings = [found for found in asked if not isinstance(found, Failure)]
    if not readings:
        first = next(found for found in asked if isinstance(found, Failure))
        told = f"all {agree.times} readings failed; the first: {first.error}"
        raise ItemError(told, advice=first.advice, raw_reply=first.raw_reply)
    voted = {name: vote([reading.values.get(name) for reading in readings]) for name in readings[0].values}
    failed = agree.times - len(readings)
    tools.record.agreed(question.row_id, {name: _told(found, failed) for name, found in voted.items()})
    _note(tools, question.row_id, voted, failed)
    return _chosen(readings, voted)


async def _one(
    node: ModelNode, agree: Agree, question: Question, tools: Tools, answer_once: AnswerOnce, number: int
) -> _Reading:
    if number:
        node = replace(node, agree=None, temperature=agree.temperature if agree.model is None else node.temperature)
        question = replace(question, sample=question.sample + number, model=agree.model or question.model)
    else:
        node = replace(node, agree=None)
    reply = await answer_once(node, question, tools)
    return _Reading(reply, question.answer(reply))


def _told(found: Vote, failed: int) -> dict[str, Any]:
    """Return what is kept beside the answer about one field; a reading that failed agrees with none."""
    there = sum(count for _, count in found.values)
    share = round(found.share * there / (there + failed), 4)
    values = [{"value": value, "readings": count} for value, count in found.values]
    return {"share": share, "values": values, **({"failed": failed} if failed else {})}


def _note(tools: Tools, row_id: str, voted: Mapping[str, Vote], failed: int) -> None:
    apart = [f"{name} {found.share:.0%}" for name, found in voted.items() if found.share < 1]
    if failed:
        apart.append(f"{failed} {'reading' if failed == 1 else 'readings'} failed")
    if apart:
        tools.record.note(row_id, "disagree", BY, ", ".join(apart))


def _chosen(readings: Sequence[_Reading], voted: Mapping[str, Vote]) -> Reply:
    """Put the winning readings of the fields together; where the model wrote other fields, take the nearest whole."""
    first = readings[0].reply
    if all(isinstance(r.reply.value, Mapping) and set(r.reply.value) == set(voted) for r in readings):
        value = {name: readings[voted[name].winner].reply.value[name] for name in first.value}
        return first if value == first.value else replace(first, value=value, text=canonical_json(value))
    wins = [sum(found.winner == place for found in voted.values()) for place in range(len(readings))]
    return readings[wins.index(max(wins))].reply
