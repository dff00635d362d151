"""What stands around a site: the split that made its chunks, and the operator that reads them next."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from engine.directives.base import Site, step_of
from engine.operators.filter import Filter
from engine.operators.gather import Gather
from engine.operators.map import Map
from engine.operators.split import Split
from engine.plan.node import Node


@dataclass(frozen=True, slots=True)
class Reader:
    """A map or filter further down the step, and its index there."""

    index: int
    node: Map | Filter


def reader_of(site: Site, fields: Collection[str]) -> Reader | None:
    """Find the first map or filter behind a match whose prompt reads one of some fields, row by row until there."""
    names = step_of(site.plan, site.step).operators
    for index in range(site.stop, len(names)):
        node = site.plan.operator(names[index])
        if isinstance(node, Map | Filter) and node.prompt and node.schema and node.prompt.mentions() & set(fields):
            return Reader(index, node)
        if not node.traits().keeps_others or node.traits().inputs == 2:
            return None
    return None


def split_of(site: Site, gather: Gather) -> tuple[int, Split] | None:
    """Find the split earlier in the step that cut the chunks of a gather, with its index."""
    for index, node in before(site):
        if isinstance(node, Split) and (node.id_key, node.chunk_key) == (gather.doc_id_key, gather.content_key):
            return index, node
    return None


def before(site: Site) -> list[tuple[int, Node]]:
    """Return the operators of the step in front of the site's last one, the nearest first, with their indices."""
    names = step_of(site.plan, site.step).operators[: site.stop - 1]
    return [(index, site.plan.operator(name)) for index, name in reversed(list(enumerate(names)))]
