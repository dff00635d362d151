"""Let rules for names, likeness and the model's odds decide which values are the same, in place of its plain yes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from engine.directives.base import Blocked, Directive, Facts, Match, Params, Place
from engine.directives.person_fields import holds_persons
from engine.directives.proposals import a_flag, an_object
from engine.directives.splicing import spliced
from engine.operators.blocking import ComparingNode
from engine.operators.resolve import Resolve
from engine.plan.plan import Plan

ALIKE = 0.7
"""Cosine of the embeddings of two values, -1 to 1, from which on the model is asked about them (decision 0029)."""


@dataclass(frozen=True, kw_only=True)
class SharperParams(Params):
    """What decides: rules about names of persons, and the model's odds less its lean to yes or no.

    `alike`: the model is only asked about values whose embeddings are alike.
    """

    persons: bool
    by_odds: bool
    alike: bool


class SharperComparisons(Directive[SharperParams]):
    """Resolve => Resolve, and the same of equijoin and link_resolve: pairs are decided with more care.

    A small model says yes to nearly every pair of short names, and one wrong yes joins two groups. Rules for names of
    persons (engine.operators.name_rules) decide most pairs without it, and the fullest name is written. Of all else it
    is asked about what is alike only: a threshold that is found by a model that says yes to everything (paper, section
    4.2.1) lets everything through. Or its odds count, less what it says of pairs without content (docs/decisions/0012).

    before: report: find -> same_officer
    after:  report: find -> same_officer
    """

    name: ClassVar[str] = "sharper_comparisons"
    purpose: ClassVar[str] = "lets rules for names, likeness, or how sure the model is decide which values are the same"
    needs: ClassVar[frozenset[str]] = frozenset({"resolve", "equijoin", "link_resolve"})
    is_settled: ClassVar[bool] = True
    compares_variants: ClassVar[bool] = True
    params_type = SharperParams

    def _match(self, plan: Plan, place: Place, facts: Facts) -> Match | Blocked:
        match = Match.at(place)
        node = _comparing(plan, match)
        if node.corrects_lean:
            return Blocked(f"{node.name} goes by the model's odds already")
        if isinstance(node, Resolve) and node.comparison_prompt is None:
            return Blocked(f"{node.name} asks no model about pairs")
        if isinstance(node, Resolve) and node.rules:
            return Blocked(f"{node.name} goes by rules already")
        return match

    def params_schema(self, match: Match, plan: Plan, facts: Facts) -> dict[str, Any]:
        """Return the JSON Schema of the parameters."""
        return an_object(persons=a_flag(), by_odds=a_flag(), alike=a_flag())

    def default_params(self, match: Match, plan: Plan, facts: Facts) -> SharperParams:
        """Let rules decide about names of persons, of other values ask about those that are alike, else the odds."""
        node = _comparing(plan, match)
        persons = _are_persons(node)
        alike = not persons and _seeks_threshold(node)
        return SharperParams(persons=persons, by_odds=not (persons or alike), alike=alike)

    def variants(self, match: Match, plan: Plan, facts: Facts) -> Sequence[SharperParams]:
        """Try what is done by default, and the odds; of names of persons both, too."""
        default = self.default_params(match, plan, facts)
        odds = SharperParams(persons=False, by_odds=True, alike=False)
        both = [replace(default, by_odds=True)] if default.persons else []
        return tuple(dict.fromkeys([default, odds, *both]))

    def complaints(self, match: Match, plan: Plan, params: SharperParams, facts: Facts) -> Sequence[str]:
        """Refuse parameters that change nothing, and rules where there are none."""
        node = _comparing(plan, match)
        found = [] if params.persons or params.by_odds or params.alike else ["persons, by_odds or alike must be true."]
        if params.persons and not isinstance(node, Resolve):
            found.append("persons: only resolve has rules for names.")
        if params.persons and params.alike:
            found.append("persons, alike: rules propose the pairs themselves; choose one.")
        if params.alike and not _seeks_threshold(node):
            found.append(f"alike: {node.name} is no resolve, or says itself which pairs are compared.")
        return found

    def apply(self, plan: Plan, match: Match, params: SharperParams) -> Plan:
        """Return the plan that decides with more care."""
        node = _comparing(plan, match)
        if params.by_odds:
            node = replace(node, correct_lean="content_free")
        if params.alike:
            node = replace(node, blocking_threshold=ALIKE)
        if params.persons and isinstance(node, Resolve):
            node = replace(node, rules=("person_name",), canonical="longest", resolution_prompt=None)
        return spliced(plan, match, [node])


def _comparing(plan: Plan, match: Match) -> ComparingNode:
    node = match.nodes(plan)[-1]
    assert isinstance(node, ComparingNode)  # needs
    return node


def _are_persons(node: ComparingNode) -> bool:
    prompts = (node.comparison_prompt, node.resolution_prompt) if isinstance(node, Resolve) else ()
    return isinstance(node, Resolve) and all(holds_persons(field, prompts) for field in node.fields)


def _seeks_threshold(node: ComparingNode) -> bool:
    """Say whether it is a resolve that finds out by the model which values are worth comparing."""
    return isinstance(node, Resolve) and node.blocking_threshold is None and not node.blocking_conditions
