"""Let a judge have the answers about rows or about groups improved (paper section 3.2.1, equations 7 and 8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from engine.directives.base import Directive, Params, Site
from engine.directives.fields import fields_before
from engine.directives.prompt_checks import ProposedPrompt
from engine.directives.proposals import a_number, a_prompt, an_object
from engine.directives.splicing import spliced
from engine.directives.wording import worded
from engine.language.templates import Template
from engine.operators.asking import Gleaning, ModelNode
from engine.plan.plan import Plan

MOST_ROUNDS = 3


@dataclass(frozen=True, kw_only=True)
class GleaningParams(Params):
    """How often an answer is judged and improved at most (k), and what the judge is asked."""

    num_rounds: int
    validation_prompt: str


class _GleaningDirective(Directive[GleaningParams]):
    """Give an operator a judge. `judged` are the variables that the judge's prompt may use."""

    judged: ClassVar[tuple[str, ...]] = ("output",)

    def _blocked(self, site: Site) -> str:
        node = site.node(ModelNode)
        if not node.answered_fields or not node.traits().calls_model:
            return f"{node.name} asks no model for fields"
        if node.gleaning is not None:
            return f"{node.name} has gleaning already"
        return ""

    def params_schema(self, site: Site) -> dict[str, Any]:
        """Return the JSON Schema of the parameters."""
        return an_object(num_rounds=a_number(1, MOST_ROUNDS), validation_prompt=a_prompt())

    def default_params(self, site: Site) -> GleaningParams:
        """Ask once, field by field, for what is missing or invented."""
        prompt = worded("judge", fields=site.node(ModelNode).answered_fields)
        return GleaningParams(num_rounds=1, validation_prompt=prompt)

    def prompts(self, site: Site, params: GleaningParams) -> Sequence[ProposedPrompt]:
        """Return what the judge is asked; the judge sees the whole chat, so it must show nothing."""
        fields = fields_before(site).with_names(*site.node(ModelNode).answered_fields)
        text = params.validation_prompt
        return [ProposedPrompt(name="validation_prompt", text=text, variables=self.judged, fields=fields.closed)]

    def apply(self, site: Site, params: GleaningParams) -> Plan:
        """Return the plan with a judge."""
        judge = Template(params.validation_prompt, frozenset({"output", "input"}))
        gleaning = Gleaning(validation_prompt=judge, num_rounds=params.num_rounds)
        return spliced(site, [replace(site.node(ModelNode), gleaning=gleaning)])


class GleaningMap(_GleaningDirective):
    """Map => Map -> (Map_v -> Map_i)^{<= k} (7), as the operator's key `gleaning`.

    before: report: find
    after:  report: find
    """

    name: ClassVar[str] = "gleaning_map"
    equation: ClassVar[str] = "7"
    purpose: ClassVar[str] = "lets a judge look at each answer and has it improved"
    needs: ClassVar[frozenset[str]] = frozenset({"map", "filter", "parallel_map"})
    prior: ClassVar[float] = 0.2
    judged: ClassVar[tuple[str, ...]] = ("output", "input")


class GleaningReduce(_GleaningDirective):
    """Reduce => Reduce -> (Map_v -> Reduce_i)^{<= k} (8), as the operator's key `gleaning`.

    before: report: acts -> by_officer
    after:  report: acts -> by_officer
    """

    name: ClassVar[str] = "gleaning_reduce"
    equation: ClassVar[str] = "8"
    purpose: ClassVar[str] = "lets a judge look at the answer about each group and has it improved"
    needs: ClassVar[frozenset[str]] = frozenset({"reduce"})
    prior: ClassVar[float] = 0.2
