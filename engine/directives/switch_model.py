"""Ask another model that is installed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

from engine.directives.base import Blocked, Directive, Facts, Match, Params, Place
from engine.directives.proposals import an_object, one_of
from engine.directives.splicing import spliced
from engine.operators.model_node import ModelNode
from engine.plan.plan import Plan


@dataclass(frozen=True, kw_only=True)
class SwitchParams(Params):
    """The name of the other model, one of `Facts.models`."""

    model: str


class SwitchModel(Directive[SwitchParams]):
    """Any operator that asks a model => the same operator asking another one.

    before: report: keep
    after:  report: keep
    """

    name: ClassVar[str] = "switch_model"
    purpose: ClassVar[str] = "asks another installed model"
    needs: ClassVar[frozenset[str]] = frozenset(
        {"map", "filter", "parallel_map", "extract", "reduce", "resolve", "equijoin", "link_resolve", "rank", "topk"}
    )
    params_type = SwitchParams

    def _match(self, plan: Plan, place: Place, facts: Facts) -> Match | Blocked:
        match = Match.at(place)
        node = _node(plan, match)
        if not node.traits().calls_model:
            return Blocked(f"{node.name} asks no model")
        return match if _others(plan, match, facts) else Blocked("no other model is installed")

    def params_schema(self, match: Match, plan: Plan, facts: Facts) -> dict[str, Any]:
        """Return the JSON Schema of the parameters."""
        return an_object(model=one_of(_others(plan, match, facts)))

    def default_params(self, match: Match, plan: Plan, facts: Facts) -> SwitchParams:
        """Take the best of the others."""
        return SwitchParams(model=_others(plan, match, facts)[0])

    def complaints(self, match: Match, plan: Plan, params: SwitchParams, facts: Facts) -> Sequence[str]:
        """Refuse a model that is not there, or the same."""
        others = _others(plan, match, facts)
        return [] if params.model in others else [f"model: {params.model!r} is none of {', '.join(others)}."]

    def apply(self, plan: Plan, match: Match, params: SwitchParams) -> Plan:
        """Return the plan with the other model."""
        return spliced(plan, match, [replace(_node(plan, match), model=params.model)])


def _node(plan: Plan, match: Match) -> ModelNode:
    return cast("ModelNode", match.nodes(plan)[-1])


def _others(plan: Plan, match: Match, facts: Facts) -> list[str]:
    own = _node(plan, match).model or plan.default_model
    return [model for model in facts.models if model != own]
