"""Ask two questions about a row in one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

from engine.directives.base import Blocked, Directive, Facts, Match, Params, Place, step_of
from engine.directives.fields import fields_before
from engine.directives.fitting import NOT_DIVISIBLE, has_key, row_node, unreadable_prompt
from engine.directives.prompt_checks import ProposedPrompt
from engine.directives.proposals import a_prompt, an_object
from engine.directives.splicing import spliced
from engine.directives.wording import worded
from engine.errors import PipelineError
from engine.language.schema import Scalar, Schema
from engine.language.template_text import replace_places
from engine.language.templates import Template
from engine.operators.filter import Filter
from engine.operators.map import Map
from engine.operators.model_node import ModelNode
from engine.plan.plan import Plan

_OF_ONE_QUESTION = {
    "gleaning": "judges one answer by itself",
    "examples": "shows one question by itself",
    "retriever": "is asked for one question",
    "keep_decision": "keeps the decision in the row",
}
_MAY_DIFFER = frozenset({"name", "validate"})


@dataclass(frozen=True, kw_only=True)
class FusionParams(Params):
    """The prompt that asks both questions."""

    prompt: str


class OperatorFusion(Directive[FusionParams]):
    """Map -> Map => Map, and Map -> Filter => Filter: one question in place of two that follow each other.

    before: report: officer -> keep
    after:  report: keep
    """

    name: ClassVar[str] = "operator_fusion"
    purpose: ClassVar[str] = "asks two questions that follow each other in one"
    needs: ClassVar[frozenset[str]] = frozenset({"map", "filter"})
    params_type = FusionParams

    def _match(self, plan: Plan, place: Place, facts: Facts) -> Match | Blocked:
        second = row_node(plan, Match.at(place))
        names = step_of(plan, place.step).operators
        first = plan.operator(names[place.index - 1]) if place.index else None
        if not isinstance(first, Map):
            return Blocked(f"no map stands right before {second.name}")
        for node in (first, second):
            if reason := unreadable_prompt(node) or has_key(node, {**NOT_DIVISIBLE, **_OF_ONE_QUESTION}):
                return Blocked(reason)
        reason = _differs(first, second) or _overlaps(first, second)
        return Blocked(reason) if reason else Match.at(place, since=place.index - 1)

    def params_schema(self, match: Match, plan: Plan, facts: Facts) -> dict[str, Any]:
        """Return the JSON Schema of the parameters."""
        return an_object(prompt=a_prompt())

    def default_params(self, match: Match, plan: Plan, facts: Facts) -> FusionParams:
        """Write one prompt behind the other; what the second shows that the first has shown is referred to."""
        first, second = _pair(plan, match)
        assert first.prompt is not None and second.prompt is not None  # unreadable_prompt
        rest = _referring(first, second).text.strip()
        return FusionParams(prompt=worded("fused", first=first.prompt.text.strip(), second=rest))

    def prompts(self, match: Match, plan: Plan, params: FusionParams, facts: Facts) -> Sequence[ProposedPrompt]:
        """Return the prompt, which reads what both read but for the first answer."""
        first, second = _pair(plan, match)
        assert first.prompt is not None and second.prompt is not None  # unreadable_prompt
        fields = fields_before(plan, Place(match.step, match.first), facts)
        shows = (first.prompt.reads() | second.prompt.reads()) - set(first.schema.names if first.schema else ())
        return [ProposedPrompt(name="prompt", text=params.prompt, fields=fields.closed, shows=shows)]

    def definitions(self, match: Match, plan: Plan) -> Template | None:
        """Return both prompts as one, whose definitions must be kept."""
        first, second = _pair(plan, match)
        texts = [node.prompt.text for node in (first, second) if node.prompt]
        return Template("\n".join(texts))

    def apply(self, plan: Plan, match: Match, params: FusionParams) -> Plan:
        """Return the plan with one operator, under the name of the second."""
        first, second = _pair(plan, match)
        assert first.schema is not None and second.schema is not None  # unreadable_prompt
        fused = replace(
            second,
            prompt=Template(params.prompt),
            schema=Schema((*first.schema.fields, *second.schema.fields)),
            validate=(*first.validate, *second.validate),
            input=tuple(dict.fromkeys((*first.input, *second.input))) if first.input and second.input else (),
            drop_keys=tuple(dict.fromkeys((*first.drop_keys, *second.drop_keys))),
        )
        return spliced(plan, match, [fused])


def _pair(plan: Plan, match: Match) -> tuple[Map, Map | Filter]:
    first = match.nodes(plan)[0]
    assert isinstance(first, Map)  # _match
    return first, row_node(plan, match)


def _differs(first: Map, second: Map | Filter) -> str:
    """Say which key both have with different values; a field that the second needs may not be dropped before it."""
    names = [f.name for f in fields(ModelNode) if f.name not in _MAY_DIFFER]
    odd = next((name for name in (*names, "layout") if getattr(first, name) != getattr(second, name)), "")
    return f"{first.name} and {second.name} differ in {odd}" if odd else ""


def _overlaps(first: Map, second: Map | Filter) -> str:
    """Say why the answers cannot be one, or why the second question needs the first answer as it is."""
    assert first.schema is not None and second.schema is not None and second.prompt is not None  # unreadable_prompt
    own = set(first.schema.names)
    if both := own & set(second.schema.names):
        return f"both write {', '.join(sorted(both))}"
    if isinstance(second, Filter) and any(f.type == Scalar("boolean") for f in first.schema.fields):
        return f"{first.name} answers yes or no too, and a filter decides by one"
    if {q for q in second.schema.quote_fields() if q} & own:
        return f"{second.name} quotes from what {first.name} writes"
    if any(e.fields("input") & own for e in second.validate):
        return f"{second.name} compares its answer with what {first.name} wrote"
    try:
        left = _referring(first, second).mentions() & own
    except PipelineError as error:
        return str(error)
    return f"the prompt of {second.name} computes with {', '.join(sorted(left))}" if left else ""


def _referring(first: Map, second: Map | Filter) -> Template:
    """Return the second prompt, referring to the first answer and to what the first prompt has shown."""
    assert first.prompt is not None and first.schema is not None and second.prompt is not None  # unreadable_prompt
    answered = set(first.schema.names)
    shown = {path[1] for path in first.prompt.shows if len(path) == 2 and path[0] == "input"}

    def reference(field: str) -> str | None:
        if field in answered:
            return worded("fused_answer", field=field).strip()
        return worded("fused_shown", field=field).strip() if field in shown else None

    return replace_places(second.prompt, reference)
