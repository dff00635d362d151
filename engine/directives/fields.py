"""Which fields the rows have at one place of a plan, and of what type those are that operators write."""

from __future__ import annotations

from dataclasses import dataclass, replace

from engine.directives.base import Site
from engine.language.binding import parts_of
from engine.language.checks import known_after
from engine.language.schema import Schema, Type
from engine.language.schema_types import bare_type
from engine.plan.node import Node
from engine.plan.plan import Step

_PROBE = "\ue000probe"


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields that are known; `is_open` says that there may be others."""

    names: frozenset[str]
    is_open: bool = False

    def with_names(self, *names: str) -> Fields:
        """Add fields that a rewrite writes."""
        return replace(self, names=self.names | set(names))

    @property
    def closed(self) -> frozenset[str] | None:
        """Return the fields where they are all known, else None."""
        return None if self.is_open else self.names


def fields_before(site: Site) -> Fields:
    """Return the fields of the rows that reach the operator (of a join: of both sides)."""
    return _after(site, replace(site.step, name=_PROBE, operators=site.step.operators[: site.place.index]))


def fields_of_input(site: Site, name: str) -> Fields:
    """Return the fields of one input of the site's step."""
    return _after(site, Step(_PROBE, (name,), ()))


def type_of_field(site: Site, name: str) -> Type | None:
    """Return the type of a field as the last operator before the site declares it, null apart; None if none does."""
    for node in reversed(nodes_before(site)):
        for _, schema in parts_of(node, Schema):
            for field in schema.fields:
                if field.name == name:
                    return bare_type(field.type)
        if name in node.traits().writes:
            return None
    return None


def nodes_before(site: Site) -> list[Node]:
    """Return the operators that rows come through on their way to the site, in order."""
    found: list[Node] = []
    wanted = {site.place.step}
    for step in reversed(site.plan.steps):
        if step.name in wanted:
            wanted |= set(step.inputs)
            names = step.operators[: site.place.index] if step.name == site.place.step else step.operators
            found = [*(site.plan.operator(name) for name in names), *found]
    return found


def _after(site: Site, probe: Step) -> Fields:
    """Return the fields after the step `probe`, put in the place of the site's step."""
    plan = site.plan
    earlier = plan.steps[: plan.steps.index(site.step)]
    sources = {d.name for d in plan.datasets} | {s.name for s in earlier}
    retrievers = tuple(r for r in plan.retrievers if r.source in sources)
    probed = replace(plan, steps=(*earlier, probe), retrievers=retrievers)
    return Fields(*known_after(probed, _PROBE, source_fields=dict(site.facts.source_fields)))
