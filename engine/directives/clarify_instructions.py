"""Say more exactly what is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from engine.directives.base import Directive, Params, Site
from engine.directives.fields import fields_before
from engine.directives.prompt_checks import ProposedPrompt
from engine.directives.proposals import a_prompt, an_object
from engine.directives.splicing import spliced
from engine.directives.wording import asked_for, with_note
from engine.language.templates import Template
from engine.operators.filter import Filter
from engine.operators.map import Map
from engine.operators.reduce import Reduce
from engine.plan.plan import Plan


@dataclass(frozen=True, kw_only=True)
class ClarifyParams(Params):
    """The clearer prompt."""

    prompt: str


class ClarifyInstructions(Directive[ClarifyParams]):
    """Map => Map with a prompt that leaves less open. It shows what the user's prompt shows and keeps its terms.

    before: report: find
    after:  report: find
    """

    name: ClassVar[str] = "clarify_instructions"
    purpose: ClassVar[str] = "says more exactly what is asked"
    needs: ClassVar[frozenset[str]] = frozenset({"map", "filter", "reduce"})
    keeps_definitions: ClassVar[bool] = True
    prior: ClassVar[float] = 0.35

    def _blocked(self, site: Site) -> str:
        node = _node(site)
        if node.prompt is None or node.schema is None:
            return f"{node.name} asks no model"
        if _default(node) == node.prompt:
            return f"the prompt of {node.name} has been made clearer already"
        return ""

    def params_schema(self, site: Site) -> dict[str, Any]:
        """Return the JSON Schema of the parameters."""
        return an_object(prompt=a_prompt())

    def default_params(self, site: Site) -> ClarifyParams:
        """Add to the user's prompt what every such question means."""
        return ClarifyParams(prompt=_default(_node(site)).text)

    def prompts(self, site: Site, params: ClarifyParams) -> Sequence[ProposedPrompt]:
        """Return the prompt, which must show all that the user's shows."""
        node = _node(site)
        assert node.prompt is not None  # _match
        variables = tuple(sorted(node.prompt.variables or ()))
        shows = frozenset().union(*(node.prompt.reads(variable) for variable in variables))
        fields = fields_before(site).closed
        uses = "inputs" if isinstance(node, Reduce) and node.prompt.uses("inputs") else ""
        return [
            ProposedPrompt(
                name="prompt", text=params.prompt, variables=variables, fields=fields, shows=shows, uses=uses
            )
        ]

    def apply(self, site: Site, params: ClarifyParams) -> Plan:
        """Return the plan with the clearer prompt."""
        node = _node(site)
        assert node.prompt is not None  # _match
        return spliced(site, [replace(node, prompt=replace(node.prompt, text=params.prompt))])


def _node(site: Site) -> Map | Filter | Reduce:
    node = site.operator
    assert isinstance(node, Map | Filter | Reduce)  # needs
    return node


def _default(node: Map | Filter | Reduce) -> Template:
    assert node.prompt is not None and node.schema is not None  # _match
    return with_note(node.prompt, "clarify", asked=asked_for(node.schema.fields))
