"""Ask several times and keep what the readings agree on: the value by vote, and beside it how far they agree.

Self-consistency (Wang et al. 2023, https://arxiv.org/abs/2203.11171), field by field. A share is no probability: a
model may be wrong every time in the same way. It says which rows a person should look at first.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from engine.operators.accounting import Failure, attempt_all
from engine.operators.asking.model_node import Agree, ModelNode
from engine.operators.asking.question import Question
from engine.operators.asking.validating import failing
from engine.operators.base import Tools
from engine.text.normalise import fold, plain
from engine.values.base import MARKS
from engine.values.cells import is_typed, main_part
from models.protocol import Reply, canonical_json

AnswerOnce = Callable[[ModelNode, Question, Tools], Awaitable[Reply]]

BY = "agree"
"""The key that a note of the ledger names."""


async def ask_to_agree(
    node: ModelNode, agree: Agree, question: Question, tools: Tools, answer_once: AnswerOnce
) -> Reply:
    """Ask `agree.times` times; return the reply by vote, and note how far the readings agree in `tools.record`.

    The first reading is the operator's own, at its own temperature; so where no two agree, the answer is the one that
    it would give without. Readings that fail are counted; raises ItemError where all do.
    """

    async def read(number: int) -> tuple[Reply, Mapping[str, Any]]:
        """Ask for one reading: what the model wrote, and what it was read as."""
        asking, again = replace(node, agree=None), question
        if number:
            again = replace(question, sample=question.sample + number, model=agree.model or question.model)
            asking = replace(asking, temperature=agree.temperature if agree.model is None else node.temperature)
        reply = await answer_once(asking, again, tools)
        return reply, again.answer(reply)

    asked = await attempt_all(range(agree.times), read)
    readings = [reading for reading in asked if not isinstance(reading, Failure)]
    if not readings:
        first = next(reading for reading in asked if isinstance(reading, Failure))
        raise first.as_error(f"all {agree.times} readings failed; the first: ")
    voted = {name: vote([values.get(name) for _, values in readings]) for name in readings[0][1]}
    failed = agree.times - len(readings)
    tools.record.agreed(question.row_id, {name: _told(result, failed) for name, result in voted.items()})
    _note(tools, question.row_id, voted, failed)
    replies = [reply for reply, _ in readings]
    combined = _combined(replies, voted)
    # Each reading satisfies validate; what is put together of several may not.
    return _nearest(replies, voted) if combined is None or failing(node, question, combined) else combined


def _told(result: Vote, failed: int) -> dict[str, Any]:
    """Return what is kept beside the answer about one field; a reading that failed agrees with none."""
    total = sum(count for _, count in result.values)
    share = round(result.share * total / (total + failed), 4)
    values = [{"value": value, "readings": count} for value, count in result.values]
    return {"share": share, "values": values, **({"failed": failed} if failed else {})}


def _note(tools: Tools, row_id: str, voted: Mapping[str, Vote], failed: int) -> None:
    apart = [f"{name} {result.share:.0%}" for name, result in voted.items() if result.share < 1]
    if failed:
        apart.append(f"{failed} {'reading' if failed == 1 else 'readings'} failed")
    if apart:
        tools.record.note(row_id, "disagree", BY, ", ".join(apart))


def _combined(replies: Sequence[Reply], voted: Mapping[str, Vote]) -> Reply | None:
    """Put the winning readings of the fields together; None where the model wrote other fields."""
    first = replies[0]
    if not all(isinstance(reply.value, Mapping) and set(reply.value) == set(voted) for reply in replies):
        return None
    value = {name: replies[voted[name].winner].value[name] for name in first.value}
    return first if value == first.value else replace(first, value=value, text=canonical_json(value))


def _nearest(replies: Sequence[Reply], voted: Mapping[str, Vote]) -> Reply:
    """Choose the reading with most winning fields, the first of equals."""
    wins = [sum(result.winner == place for result in voted.values()) for place in range(len(replies))]
    return replies[wins.index(max(wins))]


@dataclass(frozen=True, slots=True)
class Vote:
    """What several readings say of one field.

    `winner` is the place of the reading that is nearest to all, the first of equals. `share` is how alike all are to
    it on average, itself included: of three readings of which two say the same, two thirds. `values` are the different
    readings with how many say each, most first.
    """

    winner: int
    share: float
    values: tuple[tuple[Any, int], ...]


def vote(readings: Sequence[Any]) -> Vote:
    """Choose among readings of one field (the medoid: for values that are equal or not, the majority)."""
    alike = [[same_reading(one, other) for other in readings] for one in readings]
    sums = [sum(row) for row in alike]
    winner = max(range(len(readings)), key=lambda place: (round(sums[place], 9), -place))
    groups: list[tuple[Any, int]] = []
    for reading in readings:
        at = next((n for n, (known, _) in enumerate(groups) if same_reading(known, reading) == 1), None)
        if at is None:
            groups.append((reading, 1))
        else:
            groups[at] = (groups[at][0], groups[at][1] + 1)
    ordered = sorted(groups, key=lambda group: -group[1])
    return Vote(winner, round(sums[winner] / len(readings), 4), tuple(ordered))


def same_reading(one: Any, other: Any) -> float:
    """Compare two values: texts without case, accents and space, typed values by what was read of them.

    Lists by the items they share, in any order (Dice: twice the shared ones by all), objects by their fields.
    """
    if is_typed(one) and is_typed(other) and main_part(one) is not None and main_part(other) is not None:
        # By their parts, whichever words these were read from.
        mine, others = ({name: part for name, part in value.items() if name not in MARKS} for value in (one, other))
        return same_reading(mine, others)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        names = one.keys() | other.keys()
        return sum(same_reading(one.get(name), other.get(name)) for name in names) / len(names) if names else 1.0
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return _shared(one, other)
    if isinstance(one, str) and isinstance(other, str):
        return float(fold(plain(one)) == fold(plain(other)))
    return float(isinstance(one, bool) == isinstance(other, bool) and one == other)


def _shared(items: Sequence[Any], others: Sequence[Any]) -> float:
    if not items and not others:
        return 1.0
    left, shared = list(others), 0.0
    for item in items:
        scores = [same_reading(item, rest) for rest in left]
        best = max(scores, default=0.0)
        if best > 0:
            left.pop(scores.index(best))
            shared += best
    return 2 * shared / (len(items) + len(others))
