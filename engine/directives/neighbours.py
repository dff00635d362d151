"""What stands around a match: the split that made its chunks, and the operator that reads them next."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from engine.directives.base import Match, step_of
from engine.operators.filter import Filter
from engine.operators.gather import Gather
from engine.operators.map import Map
from engine.operators.split import Split
from engine.plan.node import Node
from engine.plan.plan import Plan


@dataclass(frozen=True, slots=True)
class Reader:
    """A map or filter further down the step, and its index there."""

    index: int
    node: Map | Filter


def reader_of(plan: Plan, match: Match, fields: Collection[str]) -> Reader | None:
    """Find the first map or filter behind a match whose prompt reads one of some fields, row by row until there."""
    names = step_of(plan, match.step).operators
    for index in range(match.stop, len(names)):
        node = plan.operator(names[index])
        if isinstance(node, Map | Filter) and node.prompt and node.schema and node.prompt.mentions() & set(fields):
            return Reader(index, node)
        if not node.traits().keeps_others or node.traits().inputs == 2:
            return None
    return None


def split_of(plan: Plan, match: Match, gather: Gather) -> tuple[int, Split] | None:
    """Find the split earlier in the step that cut the chunks of a gather, with its index."""
    for index, node in before(plan, match):
        if isinstance(node, Split) and (node.id_key, node.chunk_key) == (gather.doc_id_key, gather.content_key):
            return index, node
    return None


def before(plan: Plan, match: Match) -> list[tuple[int, Node]]:
    """Return the operators of the step in front of the match's last one, the nearest first, with their indices."""
    names = step_of(plan, match.step).operators[: match.stop - 1]
    return [(index, plan.operator(name)) for index, name in reversed(list(enumerate(names)))]
