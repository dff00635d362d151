"""Ask another model that is installed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from engine.directives.base import Blocked, Directive, Facts, Match, Params
from engine.directives.proposals import an_object, one_of
from engine.directives.splicing import spliced
from engine.operators.asking import ModelNode
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
    prior: ClassVar[float] = 0.05

    def _match(self, plan: Plan, match: Match, facts: Facts) -> Match | Blocked:
        node = match.node(plan, ModelNode)
        if not node.traits().calls_model:
            return Blocked(f"{node.name} asks no model")
        return match if _others(plan, match, facts) else Blocked("no other model is installed")

    def params_schema(self, match: Match, plan: Plan, facts: Facts) -> dict[str, Any]:
        """Return the JSON Schema of the parameters."""
        return an_object(model=one_of(_others(plan, match, facts)))

    def default_params(self, match: Match, plan: Plan, facts: Facts) -> SwitchParams:
        """Take the best of the others."""
        return SwitchParams(model=_others(plan, match, facts)[0])

    def apply(self, plan: Plan, match: Match, params: SwitchParams) -> Plan:
        """Return the plan with the other model."""
        return spliced(plan, match, [replace(match.node(plan, ModelNode), model=params.model)])


def _others(plan: Plan, match: Match, facts: Facts) -> list[str]:
    own = match.node(plan, ModelNode).model or plan.default_model
    return [model for model in facts.models if model != own]
