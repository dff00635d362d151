"""Shrink the rows of both sides to what decides whether they belong together (paper section 3.3, equation 13)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from engine.directives.base import Directive, Params, Site
from engine.directives.fields import fields_of_input
from engine.directives.fitting import can_rename, has_key
from engine.directives.prompt_checks import ProposedPrompt
from engine.directives.proposals import a_prompt, an_object, one_of
from engine.directives.splicing import asking, free_field, free_name, with_steps, without_fields
from engine.directives.wording import task_of, worded
from engine.language.schema import Field, Scalar
from engine.language.template_text import field_place, rename_fields
from engine.language.templates import Template
from engine.operators.equijoin import Equijoin
from engine.operators.map import Map
from engine.plan.plan import Plan, Step

SIDES = ("left", "right")

FEWEST_TOKENS = 12
"""Of a field this short on average nothing can be left out: a name, a term."""


@dataclass(frozen=True, kw_only=True)
class JoinProjectionParams(Params):
    """Of each side the field that is shrunk and the prompt that does it; and the comparison that reads the results."""

    left_field: str
    left_prompt: str
    right_field: str
    right_prompt: str
    comparison_prompt: str


class PreJoining(Directive[JoinProjectionParams]):
    """Equijoin_x => (Map_{y, L} || Map_{z, R}) -> Equijoin_w (13). Each map is the operator of a step of its own.

    before: report: fits
    after:  report_left: fits_left
            report_right: fits_right
            report: fits -> fits_tidy
    """

    name: ClassVar[str] = "pre_joining"
    equation: ClassVar[str] = "13"
    purpose: ClassVar[str] = "shrinks the rows of both sides to what decides whether they belong together"
    needs: ClassVar[frozenset[str]] = frozenset({"equijoin"})

    def _blocked(self, site: Site) -> str:
        node = site.node(Equijoin)
        keys = {"examples": "shows rows as they are", "reviewed": "shows rows as they are"}
        if reason := has_key(node, keys):
            return reason
        if node.comparison_prompt.reads_unknown:
            return f"the prompt of {node.name} shows whole rows, not fields by name"
        for side in SIDES:
            if not _candidates(site, side):
                return f"the prompt of {node.name} reads no field of the {side} rows that could be shrunk"
            longest = _candidates(site, side)[0]
            if site.facts.field_tokens.get(longest, FEWEST_TOKENS) < FEWEST_TOKENS:
                return f"what {node.name} reads of the {side} rows ({longest}) is too short to be shrunk"
        return ""

    def params_schema(self, site: Site) -> dict[str, Any]:
        """Return the JSON Schema of the parameters."""
        left, right = (one_of(_candidates(site, side)) for side in SIDES)
        prompt = a_prompt()
        return an_object(
            left_field=left, left_prompt=prompt, right_field=right, right_prompt=prompt, comparison_prompt=prompt
        )

    def default_params(self, site: Site) -> JoinProjectionParams:
        """Shrink the longest field of each side; the comparison stays but for these fields."""
        node = site.node(Equijoin)
        left, right = (_candidates(site, side)[0] for side in SIDES)
        prompt = node.comparison_prompt
        for side, field in zip(SIDES, (left, right), strict=True):
            prompt = rename_fields(prompt, {field: _projected(site, node, side)}, side)
        task = task_of(node.comparison_prompt)
        return JoinProjectionParams(
            left_field=left,
            left_prompt=worded("pre_join", place=field_place(left), task=task),
            right_field=right,
            right_prompt=worded("pre_join", place=field_place(right), task=task),
            comparison_prompt=prompt.text,
        )

    def prompts(self, site: Site, params: JoinProjectionParams) -> Sequence[ProposedPrompt]:
        """Return the prompts of both sides and the comparison."""
        node, step = site.node(Equijoin), site.step
        gists = {side: _projected(site, node, side) for side in SIDES}
        new = frozenset(gists.values())
        left, right = (fields_of_input(site, name) for name in step.inputs)
        both = None if left.is_open or right.is_open else left.names | right.names | new
        return [
            ProposedPrompt(
                name="left_prompt", text=params.left_prompt, fields=left.closed, shows=frozenset({params.left_field})
            ),
            ProposedPrompt(
                name="right_prompt",
                text=params.right_prompt,
                fields=right.closed,
                shows=frozenset({params.right_field}),
            ),
            ProposedPrompt(
                name="comparison_prompt",
                text=params.comparison_prompt,
                variables=SIDES,
                fields=both,
                shows=new,
                places=tuple(field_place(gist, side) for side, gist in gists.items()),
            ),
        ]

    def definitions(self, site: Site) -> Template | None:
        """Return the prompt whose definitions must be kept."""
        return site.node(Equijoin).comparison_prompt

    def apply(self, site: Site, params: JoinProjectionParams) -> Plan:
        """Return the plan with a step before the join for each side."""
        node, step = site.node(Equijoin), site.step
        sides = zip(SIDES, step.inputs, (params.left_prompt, params.right_prompt), strict=True)
        maps: list[Map] = []
        steps: list[Step] = []
        for side, source, prompt in sides:
            field = Field(_projected(site, node, side), Scalar("string"))
            name = free_name(site.plan, f"{node.name}_{side}")
            maps.append(asking(name, node, prompt, field))
            steps.append(Step(free_name(site.plan, f"{step.name}_{side}"), (source,), (name,)))
        joining = replace(node, comparison_prompt=Template(params.comparison_prompt, frozenset(SIDES)))
        new = [_projected(site, node, side) for side in SIDES]
        tidy = without_fields(free_name(site.plan, f"{node.name}_tidy"), new)
        operators = (node.name, *(t.name for t in tidy), *step.operators[1:])
        joined = replace(step, inputs=tuple(s.name for s in steps), operators=operators)
        return with_steps(site, [*maps, joining, *tidy], [*steps, joined])


def _projected(site: Site, node: Equijoin, side: str) -> str:
    return free_field(site, f"{node.name}_{side}_gist")


def _candidates(site: Site, side: str) -> list[str]:
    """Return the fields of a side that the comparison reads, the longest first as far as it is known."""
    prompt = site.node(Equijoin).comparison_prompt
    names = [name for name in prompt.mentions(side) if can_rename(prompt, name, side)]
    return sorted(names, key=lambda name: (-site.facts.field_tokens.get(name, 0), name))
