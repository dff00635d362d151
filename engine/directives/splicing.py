"""Put other operators in the place of a run, under names and fields that are free."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from engine.directives.base import Site, step_of
from engine.directives.fields import fields_before
from engine.operators.map import Map
from engine.plan.node import Node
from engine.plan.plan import Plan, Step


def free_name(plan: Plan, wanted: str, taken: Collection[str] = ()) -> str:
    """Return `wanted`, or `wanted_2`, ..., as no operator, step or dataset is called."""
    return _free(wanted, {*_all_names(plan), *taken})


def free_field(site: Site, wanted: str) -> str:
    """Return `wanted`, or `wanted_2`, ..., as no operator reads, writes or drops, and no row has a field already."""
    named = {name for node in site.plan.operators for name in _named(node)}
    given = {name for names in site.facts.source_fields.values() for name in names}
    return _free(wanted, named | given | fields_before(site).names)


def spliced(site: Site, nodes: Sequence[Node], *, others: Sequence[Node] = ()) -> Plan:
    """Replace the run by `nodes`, in the plan's list of operators too; `others` are changed elsewhere, by name."""
    step = step_of(site.plan, site.step)
    names = tuple(node.name for node in nodes)
    changed = replace(step, operators=(*step.operators[: site.first], *names, *step.operators[site.stop :]))
    return with_steps(site, nodes, [changed], others=others)


def with_steps(site: Site, nodes: Sequence[Node], steps: Sequence[Step], *, others: Sequence[Node] = ()) -> Plan:
    """Replace the run's step by `steps`, and its operators by `nodes`."""
    at = [s.name for s in site.plan.steps].index(site.step)
    after = (*site.plan.steps[:at], *steps, *site.plan.steps[at + 1 :])
    used = {name for s in after for name in s.operators}
    gone = {node.name for node in site.nodes} - used
    new = {node.name: node for node in (*nodes, *others)}
    return replace(site.plan, operators=_listed(site, list(new.values()), gone), steps=after)


def without_fields(name: str, fields: Sequence[str]) -> list[Node]:
    """Return an operator that drops fields; none where there are none."""
    return [Map(name=name, drop_keys=tuple(fields))] if fields else []


def _listed(site: Site, new: Sequence[Node], gone: Collection[str]) -> tuple[Node, ...]:
    """List the operators: new ones where the run's first one stood, in order; changed ones in their old places."""
    run = {node.name for node in site.nodes}
    here = [node for node in new if node.name in run or node.name not in {n.name for n in site.plan.operators}]
    elsewhere = {node.name: node for node in new if node not in here}
    listed: list[Node] = []
    for node in site.plan.operators:
        if node.name in run and here:
            listed += here
            here = []
        if node.name not in gone and node.name not in {n.name for n in listed}:
            listed.append(elsewhere.get(node.name, node))
    return tuple(listed)


def _named(node: Node) -> set[str]:
    traits = node.traits()
    return {*traits.reads, *traits.reads_right, *traits.writes, *traits.removes}


def _all_names(plan: Plan) -> set[str]:
    return {thing.name for things in (plan.operators, plan.steps, plan.datasets, plan.retrievers) for thing in things}


def _free(wanted: str, taken: Collection[str]) -> str:
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted}_{number}"
    return name
