"""Let rules for names and the model's odds decide which values are the same, in place of its plain yes."""

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


@dataclass(frozen=True, kw_only=True)
class SharperParams(Params):
    """What decides: rules about names of persons, and the model's odds less its lean to yes or no."""

    persons: bool
    by_odds: bool


class SharperComparisons(Directive[SharperParams]):
    """Resolve => Resolve, and the same of equijoin and link_resolve: pairs are decided with more care.

    A small model says yes to nearly every pair of short names, and one wrong yes joins two groups. Rules for names of
    persons (engine.operators.name_rules) decide most pairs without it, and the fullest name is written; else its odds
    count, less what it says of pairs without content (docs/decisions/0012).

    before: report: find -> same_officer
    after:  report: find -> same_officer
    """

    name: ClassVar[str] = "sharper_comparisons"
    purpose: ClassVar[str] = "lets rules for names, or how sure the model is, decide which values are the same"
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
        return an_object(persons=a_flag(), by_odds=a_flag())

    def default_params(self, match: Match, plan: Plan, facts: Facts) -> SharperParams:
        """Let rules decide about names of persons, and the odds about all else."""
        persons = _are_persons(_comparing(plan, match))
        return SharperParams(persons=persons, by_odds=not persons)

    def variants(self, match: Match, plan: Plan, facts: Facts) -> Sequence[SharperParams]:
        """Rules for names, where there are names; the odds; and both."""
        default = self.default_params(match, plan, facts)
        odds = SharperParams(persons=False, by_odds=True)
        return (default, odds, SharperParams(persons=True, by_odds=True)) if default.persons else (odds,)

    def complaints(self, match: Match, plan: Plan, params: SharperParams, facts: Facts) -> Sequence[str]:
        """Refuse parameters that change nothing, and rules where there are none."""
        found = [] if params.persons or params.by_odds else ["persons or by_odds must be true."]
        if params.persons and not isinstance(_comparing(plan, match), Resolve):
            found.append("persons: only resolve has rules for names.")
        return found

    def apply(self, plan: Plan, match: Match, params: SharperParams) -> Plan:
        """Return the plan that decides with more care."""
        node = _comparing(plan, match)
        if params.by_odds:
            node = replace(node, correct_lean="content_free")
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
