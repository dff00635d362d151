"""Keep, of items that a list says twice, the first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from engine.directives.base import Blocked, Directive, Params, Site
from engine.directives.fitting import computed_next, row_node
from engine.directives.proposals import a_list, an_object, one_of
from engine.directives.splicing import free_name, spliced
from engine.language.computation import Computation
from engine.language.schema import ListOf, Quote, Record, Scalar, Text, Type
from engine.language.template_text import field_expression
from engine.operators.compute import Compute
from engine.plan.frozen import FrozenMap
from engine.plan.plan import Plan


@dataclass(frozen=True, kw_only=True)
class DistinctParams(Params):
    """The lists of which each item is to be there once."""

    fields: tuple[str, ...]


class DistinctItems(Directive[DistinctParams]):
    """Map => Map -> Compute: an item that a list has already, but for case and white space, is left out, by code.

    A small model that was asked for many items says the same ones again when it knows no more. Lists of numbers are
    left alone: two payments may be alike.

    before: report: find
    after:  report: find -> find_distinct
    """

    name: ClassVar[str] = "distinct_items"
    purpose: ClassVar[str] = "leaves out items that a list says again, by code"
    needs: ClassVar[frozenset[str]] = frozenset({"map"})
    prior: ClassVar[float] = 0.88
    is_settled: ClassVar[bool] = True

    def _match(self, site: Site) -> Site | Blocked:
        node, lists = row_node(site), _lists(site)
        if not lists:
            return Blocked(f"{node.name} writes no list of texts or of records")
        if reason := computed_next(site.plan, site.place, lists):
            return Blocked(reason)
        if not _repeating(site):
            return Blocked(f"no list of {node.name} says an item twice")
        return site

    def params_schema(self, site: Site) -> dict[str, Any]:
        """Return the JSON Schema of the parameters."""
        lists = _lists(site)
        return an_object(fields=a_list(one_of(lists), 1, len(lists)))

    def default_params(self, site: Site) -> DistinctParams:
        """Take the lists in which items were seen twice, and those that were not seen."""
        return DistinctParams(fields=tuple(_repeating(site)))

    def apply(self, site: Site, params: DistinctParams) -> Plan:
        """Return the plan that leaves repeated items out."""
        [node] = site.nodes
        records = _lists_of_records(site)
        keeping = Compute(
            name=free_name(site.plan, f"{node.name}_distinct"),
            fields=FrozenMap(
                {name: Computation(_distinct(name, holds_records=name in records)) for name in params.fields}
            ),
            basis=False,
        )
        return spliced(site, [node, keeping])


def _distinct(field: str, *, holds_records: bool) -> str:
    """Write the expression that keeps the first of items that are alike: records in all of their fields."""
    items = field_expression(field)
    keys = f"[' '.join(item.casefold().split()) for item in {items}]"
    if holds_records:
        part = "' '.join(part.casefold().split()) if isinstance(part, str) else part"
        keys = f"[[{part} for part in item.values()] for item in {items}]"
    return f"[item for told in [{keys}] for at, item in enumerate({items}) if told[at] not in told[:at]]"


def _lists(site: Site) -> list[str]:
    """Return the lists of texts or records that the operator writes."""
    node = row_node(site)
    fields = node.schema.fields if node.schema else ()
    return [f.name for f in fields if _holds_things(f.type) and f.name not in node.drop_keys]


def _lists_of_records(site: Site) -> frozenset[str]:
    node = row_node(site)
    fields = node.schema.fields if node.schema else ()
    return frozenset(f.name for f in fields if isinstance(f.type, ListOf) and isinstance(f.type.item, Record))


def _holds_things(kind: Type) -> bool:
    return isinstance(kind, ListOf) and (kind.item == Scalar("string") or isinstance(kind.item, Text | Quote | Record))


def _repeating(site: Site) -> list[str]:
    return [name for name in _lists(site) if site.facts.repeats.get(name, 1.0) > 0]
