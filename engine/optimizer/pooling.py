"""Agreement of plans that read the same rows in different ways, in place of a label.

As pooling in the evaluation of search engines (TREC): nobody knows all that is right, but what independent readings
find alike mostly is, and what only one says mostly is not. So a plan can be told to miss something without a label.
Why, and how far: docs/decisions/0026.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.evidence.items import leaves
from engine.language.binding import parts_of
from engine.language.templates import Template
from engine.optimizer.outputs import PlanOutput
from engine.optimizer.values import Leaf, likeness
from engine.plan.frozen import digest_of
from engine.plan.plan import Plan
from engine.rows import RowId

FEWEST_READINGS = 3
"""Of two that disagree nobody knows which is right."""

FEWEST_VOICES = 2
"""So many readings must say a thing for it to be held for true."""

SAME = 0.5
"""Likeness of two things, 0 to 1, above which they are one: of a record with two fields, both must be alike."""

LONG_WORDS = 5
"""Words from which on a text may be told in other words."""


@dataclass(frozen=True)
class Unit:
    """One thing that an answer says: an item of a list, or a whole value; its leaves by their path within it.

    `is_echo`: it repeats the prompt, which many readings do alike, and is true for that of none.
    """

    field: str
    leaves: Mapping[str, Leaf]
    is_listed: bool
    is_echo: bool = False


@dataclass
class Told:
    """A thing, the readings that say it, and the plans by number."""

    unit: Unit
    readings: set[str] = field(default_factory=set)
    plans: set[int] = field(default_factory=set)


def pooled(outputs: Sequence[PlanOutput]) -> list[dict[RowId, float]]:
    """Return for each output how far it agrees with the others, by sample row: an F1 from 0 to 1.

    Recall is the share of the things that `FEWEST_VOICES` readings found; precision the share of a plan's things that
    others confirm. Where rows were made of several sample rows, the things are who is grouped with whom. Plans that ask
    the same questions, or group alike, are one reading. Rows of which too little is agreed are left out; with fewer
    than `FEWEST_READINGS` readings nothing is said at all.
    """
    if any(len(row.sources) > 1 for output in outputs for row in output.rows):
        return _pooled_groups(outputs)
    readings = [reading_of(output.plan) for output in outputs]
    agreements: list[dict[RowId, float]] = [{} for _ in outputs]
    if len(set(readings)) < FEWEST_READINGS:
        return agreements
    for id in dict.fromkeys(id for output in outputs for id in output.inputs):
        readers = [number for number, output in enumerate(outputs) if id in output.inputs]
        if len({readings[number] for number in readers}) < FEWEST_READINGS:
            continue
        claims = told_by([(number, readings[number], list(units_of(outputs[number], id))) for number in readers])
        likely = _likely(claims)
        for number in readers if likely else ():
            claimed = sum(number in claim.plans for claim in claims)
            right = sum(number in claim.plans for claim in likely)
            agreements[number][id] = 2 * right / (claimed + len(likely))
    return agreements


def _pooled_groups(outputs: Sequence[PlanOutput]) -> list[dict[RowId, float]]:
    """Return how far each plan groups a sample row with those that several groupings put it together with."""
    groupings = [companions(output) for output in outputs]
    distinct: list[Mapping[RowId, frozenset[RowId]]] = []
    for grouping in groupings:
        if grouping not in distinct:
            distinct.append(grouping)
    agreements: list[dict[RowId, float]] = [{} for _ in outputs]
    if len(distinct) < FEWEST_READINGS:
        return agreements
    for id in dict.fromkeys(id for output in outputs for id in output.inputs):
        voices = Counter(other for grouping in distinct for other in grouping.get(id, ()))
        likely = {other for other, count in voices.items() if count >= FEWEST_VOICES}
        for number, grouping in enumerate(groupings if likely else ()):
            group = grouping.get(id, frozenset())
            agreements[number][id] = 2 * len(group & likely) / (len(group) + len(likely))
    return agreements


def companions(output: PlanOutput) -> dict[RowId, frozenset[RowId]]:
    """Return the sample rows that are in one output row with each, itself among them."""
    groups: dict[RowId, set[RowId]] = {}
    for row in output.rows:
        for id in row.sources:
            groups.setdefault(id, set()).update(row.sources)
    return {id: frozenset(others) for id, others in groups.items()}


def reading_of(plan: Plan) -> str:
    """Identify what a plan asks a model, in which words.

    Plans that differ only in what code does with the answers read alike, and so do those that hold the same answers to
    other types: what one overlooks, the other does.
    """
    asking = [node for node in plan.operators if node.traits().calls_model]
    models = [node.model for node in asking]
    prompts = [[prompt.text for _, prompt in parts_of(node, Template)] for node in asking]
    return digest_of([[node.kind for node in asking], models, prompts])


def units_of(output: PlanOutput, id: RowId) -> Iterator[Unit]:
    """Give the things that an output says of a sample row."""
    rows = output.rows_of(id)
    for row in rows:
        for cell in row.cells:
            items = cell.value if isinstance(cell.value, list | tuple) else [cell.value]
            for item in items:
                item_leaves = _leaves_of(item)
                if item_leaves:
                    is_listed = isinstance(cell.value, list | tuple) or len(rows) > 1
                    is_echo = any(output.repeats_prompt(value, id) for value in item_leaves.values())
                    yield Unit(cell.field, item_leaves, is_listed, is_echo)


def _leaves_of(item: Any) -> dict[str, Leaf]:
    return {leaf.path: leaf.value for leaf in leaves("item", item, {})}


def told_by(plans: Sequence[tuple[int, str, list[Unit]]]) -> list[Told]:
    """Put together what plans say alike, each thing once."""
    claims: list[Told] = []
    in_words: dict[str, Told] = {}  # most is said in the same words, and nothing is more alike
    for number, reading, units in plans:
        for unit in units:
            words = repr((unit.field, unit.leaves))
            claim = in_words.get(words) or _nearest(claims, unit)
            if claim is None:
                claim = in_words[words] = Told(unit)
                claims.append(claim)
            claim.readings.add(reading)
            claim.plans.add(number)
    return claims


def _nearest(claims: Sequence[Told], unit: Unit) -> Told | None:
    """Return what says the same in other words; None where nothing does."""
    nearest = max(claims, key=lambda other: _alike(other.unit, unit), default=None)
    return None if nearest is None or _alike(nearest.unit, unit) <= SAME else nearest


def _likely(claims: Sequence[Told]) -> list[Told]:
    """Return the things that enough readings say, echoes apart; of a single value only what most of them say."""
    several = [claim for claim in claims if len(claim.readings) >= FEWEST_VOICES and not claim.unit.is_echo]
    most: dict[str, int] = {}
    for claim in claims:
        most[claim.unit.field] = max(most.get(claim.unit.field, 0), len(claim.readings))
    return [claim for claim in several if claim.unit.is_listed or len(claim.readings) == most[claim.unit.field]]


def _alike(left: Unit, right: Unit) -> float:
    """Say how far two things are the same, 0 to 1: the mean over their leaves, of which all short ones must be alike.

    A number, a name or a kind tells things apart; what is told in many words may be told in others.
    """
    if left.field != right.field:
        return 0.0
    paths = left.leaves.keys() | right.leaves.keys()
    total = 0.0
    for path in sorted(left.leaves.keys() & right.leaves.keys(), key=lambda path: len(str(left.leaves[path]))):
        left_leaf, right_leaf = left.leaves[path], right.leaves[path]
        same = likeness(left_leaf, right_leaf)
        if not same and _is_short(left_leaf) and _is_short(right_leaf):
            return 0.0
        total += same
    return total / len(paths)


def _is_short(value: Leaf) -> bool:
    return not isinstance(value, str) or len(value.split()) < LONG_WORDS
