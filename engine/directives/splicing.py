"""Put other operators in the place of one, under names and fields that are free."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from engine.directives.base import Site
from engine.directives.fields import fields_before
from engine.language.schema import Field, Schema
from engine.language.templates import Template
from engine.operators.asking import ModelNode
from engine.operators.map import Map
from engine.operators.split import Split
from engine.plan.node import Node
from engine.plan.plan import Plan, Step, numbered


def free_name(plan: Plan, wanted: str) -> str:
    """Return `wanted`, or `wanted_2`, ..., as no operator, step or dataset is called."""
    taken = {thing.name for things in (plan.operators, plan.steps, plan.datasets, plan.retrievers) for thing in things}
    return numbered(wanted, taken)


def free_field(site: Site, wanted: str) -> str:
    """Return `wanted`, or `wanted_2`, ..., as no operator reads, writes or drops, and no row has a field already."""
    named = {name for node in site.plan.operators for name in _named(node)}
    given = {name for names in site.facts.source_fields.values() for name in names}
    return numbered(wanted, named | given | fields_before(site).names)


def spliced(site: Site, nodes: Sequence[Node], *, others: Sequence[Node] = ()) -> Plan:
    """Replace the operator by `nodes`, in the plan's list of operators too; `others` are changed elsewhere, by name."""
    step, at = site.step, site.place.index
    names = (*step.operators[:at], *(node.name for node in nodes), *step.operators[at + 1 :])
    return with_steps(site, nodes, [replace(step, operators=names)], others=others)


def with_steps(site: Site, nodes: Sequence[Node], steps: Sequence[Step], *, others: Sequence[Node] = ()) -> Plan:
    """Replace the operator by `nodes`, and its step by `steps`; `others` are changed elsewhere, by name."""
    at = site.plan.steps.index(site.step)
    changed = {node.name: node for node in others}
    listed: list[Node] = []
    for node in site.plan.operators:
        listed += nodes if node.name == site.operator.name else [changed.get(node.name, node)]
    after = (*site.plan.steps[:at], *steps, *site.plan.steps[at + 1 :])
    return replace(site.plan, operators=tuple(listed), steps=after)


def cutting(site: Site, part: str, key: str, tokens: int) -> Split:
    """Cut a field into chunks of at most so many tokens; the operator is named after the site's and `part`."""
    name = free_name(site.plan, f"{site.operator.name}_{part}")
    return Split(name=name, split_key=key, method="token_count", num_tokens=tokens)


def asking(name: str, like: ModelNode, prompt: str, *fields: Field, **keys: Any) -> Map:
    """Ask the model that an operator asks; rows that are too long are treated as its own are."""
    return Map(
        name=name, model=like.model, too_long=like.too_long, prompt=Template(prompt), schema=Schema(fields), **keys
    )


def without_fields(name: str, fields: Sequence[str]) -> list[Node]:
    """Return an operator that drops fields; none where there are none."""
    return [Map(name=name, drop_keys=tuple(fields))] if fields else []


def _named(node: Node) -> set[str]:
    traits = node.traits()
    return {*traits.reads, *traits.reads_right, *traits.writes, *traits.removes}
