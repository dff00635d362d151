"""Shrink each row to what the aggregation needs of it (paper section 3.3, equation 12)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from engine.directives.base import Directive, Params, Site
from engine.directives.fields import fields_before, type_of_field
from engine.directives.fitting import can_rename, has_key
from engine.directives.prompt_checks import REDUCE_VARIABLES, ProposedPrompt
from engine.directives.proposals import a_prompt, an_object, one_of
from engine.directives.splicing import asking, free_field, free_name, spliced, without_fields
from engine.directives.wording import task_of, worded
from engine.language.schema import Field, Scalar, Text
from engine.language.template_text import field_place, rename_fields
from engine.language.templates import Template
from engine.operators.reduce import Reduce
from engine.plan.plan import Plan

_SEEN_AS_THEY_ARE = {
    "examples": "shows rows as they are",
    "retriever": "is asked with what rows hold",
    "value_sampling": "chooses among rows as they are",
}


@dataclass(frozen=True, kw_only=True)
class ProjectionParams(Params):
    """The field that is shrunk, the prompt of the map that does it, and that of the reduce, which reads the result."""

    field: str
    map_prompt: str
    prompt: str


class PreAggregation(Directive[ProjectionParams]):
    """Reduce_{K, x} => Map_y -> Reduce_{K, z} (12).

    before: report: acts -> by_officer
    after:  report: acts -> by_officer_relevant -> by_officer
    """

    name: ClassVar[str] = "pre_aggregation"
    equation: ClassVar[str] = "12"
    purpose: ClassVar[str] = "shrinks each row to what the aggregation needs of it"
    needs: ClassVar[frozenset[str]] = frozenset({"reduce"})
    keeps_definitions: ClassVar[bool] = True
    prior: ClassVar[float] = 0.4

    def _blocked(self, site: Site) -> str:
        node = site.node(Reduce)
        if node.prompt is None or node.schema is None:
            return f"{node.name} asks no model"
        if reason := has_key(node, _SEEN_AS_THEY_ARE):
            return reason
        if node.schema.has_quotes:
            return f"{node.name} quotes from its rows, which must stay as they are"
        if not _candidates(site):
            return f"the prompt of {node.name} reads no text by name that could be shrunk"
        return ""

    def params_schema(self, site: Site) -> dict[str, Any]:
        """Return the JSON Schema of the parameters."""
        fields = _candidates(site)
        return an_object(field=one_of(fields), map_prompt=a_prompt(), prompt=a_prompt())

    def default_params(self, site: Site) -> ProjectionParams:
        """Shrink the longest text; the reduce's prompt stays but for the field."""
        node = site.node(Reduce)
        assert node.prompt is not None  # _match
        field = _candidates(site)[0]
        return ProjectionParams(
            field=field,
            map_prompt=worded("pre_aggregate", place=field_place(field), task=task_of(node.prompt)),
            prompt=rename_fields(node.prompt, {field: _projected(site, node, field)}, "inputs").text,
        )

    def prompts(self, site: Site, params: ProjectionParams) -> Sequence[ProposedPrompt]:
        """Return both prompts."""
        node = site.node(Reduce)
        fields, new = fields_before(site), _projected(site, node, params.field)
        return [
            ProposedPrompt(
                name="map_prompt", text=params.map_prompt, fields=fields.closed, shows=frozenset({params.field})
            ),
            ProposedPrompt(
                name="prompt",
                text=params.prompt,
                variables=tuple(sorted(REDUCE_VARIABLES)),
                fields=fields.with_names(new).closed,
                shows=frozenset({new}),
            ),
        ]

    def apply(self, site: Site, params: ProjectionParams) -> Plan:
        """Return the plan with a map before the reduce."""
        node = site.node(Reduce)
        new = _projected(site, node, params.field)
        name = free_name(site.plan, f"{node.name}_relevant")
        shrinking = asking(name, node, params.map_prompt, Field(new, Scalar("string")))
        fold = node.fold_prompt and rename_fields(node.fold_prompt, {params.field: new}, "inputs")
        changed = replace(
            node,
            prompt=Template(params.prompt, REDUCE_VARIABLES),
            fold_prompt=fold,
            input=tuple(dict.fromkeys((*node.input, new))) if node.input else (),
        )
        passed = [new] if node.pass_through else []
        return spliced(site, [shrinking, changed, *without_fields(free_name(site.plan, f"{node.name}_tidy"), passed)])


def _projected(site: Site, node: Reduce, field: str) -> str:
    return free_field(site, f"{field}_for_{node.name}")


def _candidates(site: Site) -> list[str]:
    """Return the texts that the prompt reads through its rows, the longest first as far as it is known."""
    node = site.node(Reduce)
    named = node.prompt.mentions("inputs") - set(node.keys) if node.prompt else frozenset[str]()
    kinds = {name: type_of_field(site, name) for name in named}
    texts = [n for n, kind in kinds.items() if kind in (None, Scalar("string")) or isinstance(kind, Text)]
    existing = fields_before(site)
    known = [name for name in texts if name in existing.names or existing.is_open]
    prompts = [prompt for prompt in (node.prompt, node.fold_prompt) if prompt]
    able = [name for name in known if all(can_rename(prompt, name, "inputs") for prompt in prompts)]
    return sorted(able, key=lambda name: (-site.facts.field_tokens.get(name, 0), name))
