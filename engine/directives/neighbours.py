"""What stands around a site: the split that made its chunks, and the operator that reads them next."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from engine.directives.base import Site
from engine.operators.filter import Filter
from engine.operators.gather import Gather
from engine.operators.map import Map
from engine.operators.split import Split
from engine.plan.node import Node


def reader_of(site: Site, fields: Collection[str]) -> Map | Filter | None:
    """Find the first map or filter behind a site whose prompt reads one of some fields, row by row until there."""
    for name in site.step.operators[site.place.index + 1 :]:
        node = site.plan.operator(name)
        if isinstance(node, Map | Filter) and node.prompt and node.schema and node.prompt.mentions() & set(fields):
            return node
        if not node.traits().keeps_others or node.traits().inputs == 2:
            return None
    return None


def split_of(site: Site, gather: Gather) -> Split | None:
    """Find the split earlier in the step that cut the chunks of a gather."""
    for node in before(site):
        if isinstance(node, Split) and (node.id_key, node.chunk_key) == (gather.doc_id_key, gather.content_key):
            return node
    return None


def next_of(site: Site) -> Node | None:
    """Return the operator behind the site in its step; None at the end."""
    behind = site.step.operators[site.place.index + 1 :]
    return site.plan.operator(behind[0]) if behind else None


def before(site: Site) -> Iterator[Node]:
    """Give the operators of the step in front of the site, the nearest first."""
    return (site.plan.operator(name) for name in reversed(site.step.operators[: site.place.index]))
