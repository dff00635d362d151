"""Let rules for names or likeness decide which values are the same before a model is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from engine.directives.base import Blocked, Directive, Params, Site
from engine.directives.person_fields import holds_persons
from engine.directives.proposals import a_flag, an_object
from engine.directives.splicing import spliced
from engine.operators.resolve import Resolve
from engine.plan.plan import Plan

ALIKE = 0.7
"""Cosine of the embeddings of two values, -1 to 1, from which on the model is asked about them (decision 0029)."""


@dataclass(frozen=True, kw_only=True)
class SharperParams(Params):
    """What decides: rules about names of persons; or the model, asked only about values whose embeddings are alike."""

    persons: bool


class SharperComparisons(Directive[SharperParams]):
    """Resolve => Resolve: pairs are decided with more care.

    One wrong yes joins two groups. Rules for names of persons (engine.operators.name_rules) decide most pairs without
    a model, and the fullest name is written. Of all else it is asked about what is alike only: a threshold that is
    found by a model that says yes to everything (paper, section 4.2.1) lets everything through.

    before: report: find -> same_officer
    after:  report: find -> same_officer
    """

    name: ClassVar[str] = "sharper_comparisons"
    purpose: ClassVar[str] = "lets rules for names decide which values are the same, or asks only about those alike"
    needs: ClassVar[frozenset[str]] = frozenset({"resolve"})
    prior: ClassVar[float] = 0.85
    is_settled: ClassVar[bool] = True

    def _match(self, site: Site) -> Site | Blocked:
        node = site.node(Resolve)
        if node.comparison_prompt is None:
            return Blocked(f"{node.name} asks no model about pairs")
        if node.rules:
            return Blocked(f"{node.name} goes by rules already")
        if not _are_persons(node) and not _seeks_threshold(node):
            return Blocked(f"{node.name} says itself which pairs are compared")
        return site

    def params_schema(self, site: Site) -> dict[str, Any]:
        """Return the JSON Schema of the parameters."""
        return an_object(persons=a_flag())

    def default_params(self, site: Site) -> SharperParams:
        """Let rules decide about names of persons; of other values ask about those that are alike."""
        return SharperParams(persons=_are_persons(site.node(Resolve)))

    def complaints(self, site: Site, params: SharperParams) -> Sequence[str]:
        """Refuse a threshold where the plan says which pairs are compared."""
        node = site.node(Resolve)
        problem = f"persons: {node.name} says itself which pairs are compared; only rules are left."
        return [] if params.persons or _seeks_threshold(node) else [problem]

    def apply(self, site: Site, params: SharperParams) -> Plan:
        """Return the plan that decides with more care."""
        node = site.node(Resolve)
        if params.persons:
            node = replace(node, rules=("person_name",), canonical="longest", resolution_prompt=None)
        else:
            node = replace(node, blocking_threshold=ALIKE)
        return spliced(site, [node])


def _are_persons(node: Resolve) -> bool:
    return all(holds_persons(field, (node.comparison_prompt, node.resolution_prompt)) for field in node.fields)


def _seeks_threshold(node: Resolve) -> bool:
    """Say whether it finds out by the model which values are worth comparing."""
    return node.blocking_threshold is None and not node.blocking_conditions
