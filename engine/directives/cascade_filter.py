"""Put a cheap test before a filter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from engine.directives.base import Blocked, Directive, Facts, Match, Params, Place
from engine.directives.fields import fields_before
from engine.directives.fitting import has_key, long_texts, row_node, unreadable_prompt
from engine.directives.keywords import KEYWORD, MOST_KEYWORDS, keyword_complaints, keyword_condition, keywords_of
from engine.directives.prompt_checks import ProposedPrompt
from engine.directives.proposals import a_list, a_prompt, a_word, an_object, one_of
from engine.directives.splicing import free_name, spliced
from engine.directives.wording import worded
from engine.language.schema import Schema
from engine.language.templates import Template
from engine.operators.filter import Filter
from engine.plan.plan import Plan

Test = Literal["keywords", "model"]

_COUNTS = {"limit": "counts the rows it keeps", "correct_lean": "compares all rows it sees"}


@dataclass(frozen=True, kw_only=True)
class CascadeParams(Params):
    """The test that comes first: words of which the text must hold one, or another model's quick look.

    What belongs to the other test is empty.
    """

    test: Test
    field: str
    keywords: tuple[str, ...]
    model: str
    prompt: str


class CascadeFilter(Directive[CascadeParams]):
    """Filter => Filter -> Filter, the first one cheap. Rows that it turns down are not asked about again.

    before: report: keep
    after:  report: keep_first -> keep
    """

    name: ClassVar[str] = "cascade_filter"
    purpose: ClassVar[str] = "turns down by a cheap test what is plain, and asks about the rest"
    needs: ClassVar[frozenset[str]] = frozenset({"filter"})
    params_type = CascadeParams

    def _match(self, plan: Plan, place: Place, facts: Facts) -> Match | Blocked:
        match = Match.at(place)
        node = row_node(plan, match)
        if reason := unreadable_prompt(node) or has_key(node, _COUNTS):
            return Blocked(reason)
        if not _tests(plan, match, facts):
            return Blocked(f"there is no other model, and the prompt of {node.name} has no words to look for in a text")
        return match

    def params_schema(self, match: Match, plan: Plan, facts: Facts) -> dict[str, Any]:
        """Return the JSON Schema of the parameters."""
        node = row_node(plan, match)
        return an_object(
            test=one_of(_tests(plan, match, facts)),
            field=one_of(["", *long_texts(plan, match.place, node, facts)]),
            keywords=a_list(a_word(KEYWORD), 0, MOST_KEYWORDS),
            model=one_of(["", *_models(plan, match, facts)]),
            prompt=a_prompt(may_be_empty=True),
        )

    def default_params(self, match: Match, plan: Plan, facts: Facts) -> CascadeParams:
        """Ask another model where there is one, for words may be missing; else look for words."""
        node = row_node(plan, match)
        assert node.prompt is not None  # unreadable_prompt
        if models := _models(plan, match, facts):
            prompt = worded("cascade", prompt=node.prompt.text.rstrip())
            return CascadeParams(test="model", field="", keywords=(), model=models[-1], prompt=prompt)
        field = long_texts(plan, match.place, node, facts)[0]
        return CascadeParams(test="keywords", field=field, keywords=keywords_of(node), model="", prompt="")

    def prompts(self, match: Match, plan: Plan, params: CascadeParams, facts: Facts) -> Sequence[ProposedPrompt]:
        """Return the prompt of the quick look, if that is the test."""
        if params.test == "keywords":
            return []
        fields, user = fields_before(plan, match.place, facts).closed, row_node(plan, match).prompt
        shown = user.mentions() if user else frozenset()
        return [ProposedPrompt(name="prompt", text=params.prompt, fields=fields, shows_one=shown)]

    def definitions(self, match: Match, plan: Plan) -> Template | None:
        """Return the prompt whose definitions must be kept."""
        return row_node(plan, match).prompt

    def complaints(self, match: Match, plan: Plan, params: CascadeParams, facts: Facts) -> Sequence[str]:
        """Refuse a test without what it needs."""
        if params.test == "model":
            return [] if params.model in _models(plan, match, facts) else ["model: name one of the other models."]
        there = long_texts(plan, match.place, row_node(plan, match), facts)
        found = [] if params.field in there else [f"field: name one of {', '.join(there)}."]
        return [*found, *keyword_complaints(params.keywords)]

    def apply(self, plan: Plan, match: Match, params: CascadeParams) -> Plan:
        """Return the plan with the test."""
        node = row_node(plan, match)
        assert isinstance(node, Filter) and node.schema is not None  # needs, unreadable_prompt
        name = free_name(plan, f"{node.name}_first")
        if params.test == "keywords":
            first = Filter(name=name, condition=keyword_condition(params.field, params.keywords))
        else:
            decision = Schema(tuple(f for f in node.schema.fields if f.name == node.decision))
            first = Filter(
                name=name,
                model=params.model,
                prompt=Template(params.prompt),
                schema=decision,
                input=node.input,
                too_long=node.too_long,
                layout=node.layout,
            )
        return spliced(plan, match, [first, replace(node)])


def _models(plan: Plan, match: Match, facts: Facts) -> list[str]:
    own = row_node(plan, match).model or plan.default_model
    return [model for model in facts.models if model != own]


def _tests(plan: Plan, match: Match, facts: Facts) -> list[Test]:
    node = row_node(plan, match)
    words: list[Test] = ["keywords"] if keywords_of(node) and long_texts(plan, match.place, node, facts) else []
    return [*words, *(["model"] if _models(plan, match, facts) else [])]  # type: ignore[list-item]
