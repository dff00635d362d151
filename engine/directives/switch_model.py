"""Ask another model that is installed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from engine.directives.base import Directive, Params, Site
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

    def _blocked(self, site: Site) -> str:
        node = site.node(ModelNode)
        if not node.traits().calls_model:
            return f"{node.name} asks no model"
        return "" if _others(site) else "no other model is installed"

    def params_schema(self, site: Site) -> dict[str, Any]:
        """Return the JSON Schema of the parameters."""
        return an_object(model=one_of(_others(site)))

    def default_params(self, site: Site) -> SwitchParams:
        """Take the best of the others."""
        return SwitchParams(model=_others(site)[0])

    def apply(self, site: Site, params: SwitchParams) -> Plan:
        """Return the plan with the other model."""
        return spliced(site, [replace(site.node(ModelNode), model=params.model)])


def _others(site: Site) -> list[str]:
    current = site.node(ModelNode).model or site.plan.default_model
    return [model for model in site.facts.models if model != current]
