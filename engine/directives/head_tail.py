"""Show the beginning and the end of a long text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from engine.directives.base import Blocked, Directive, Facts, Match, Params, Place
from engine.directives.fitting import has_key, long_texts, row_node, unreadable_prompt
from engine.directives.proposals import a_number, an_object, one_of
from engine.directives.splicing import spliced
from engine.directives.wording import with_note
from engine.errors import PipelineError
from engine.language.template_text import field_expression, replace_places
from engine.language.templates import Template
from engine.operators.filter import Filter
from engine.operators.map import Map
from engine.plan.plan import Plan

CHARACTERS_PER_TOKEN = 4
"""Of English text, roughly; a prompt counts characters, the context tokens."""

MOST_CHARACTERS = 100_000
_HEAD_SHARE, _TAIL_SHARE = 0.3, 0.1
"""Of the context."""

_SHOWN_WHOLE = {"batch_prompt": "asks about several rows at once"}


@dataclass(frozen=True, kw_only=True)
class HeadTailParams(Params):
    """The text, and how many characters of its beginning and of its end are shown."""

    field: str
    head_characters: int
    tail_characters: int


class HeadTail(Directive[HeadTailParams]):
    """Map => Map, whose prompt shows beginning and end of a text that is longer; a shorter one is shown whole.

    before: report: keep
    after:  report: keep
    """

    name: ClassVar[str] = "head_tail"
    purpose: ClassVar[str] = "shows the beginning and the end of a long text alone"
    needs: ClassVar[frozenset[str]] = frozenset({"map", "filter"})
    params_type = HeadTailParams

    def _match(self, plan: Plan, place: Place, facts: Facts) -> Match | Blocked:
        match = Match.at(place)
        node = row_node(plan, match)
        if reason := unreadable_prompt(node) or has_key(node, _SHOWN_WHOLE):
            return Blocked(reason)
        if node.schema and node.schema.has_quotes:
            return Blocked(f"{node.name} quotes from the text, and could quote what is not shown")
        if not (texts := _texts(plan, match, facts)):
            return Blocked(f"the prompt of {node.name} shows no text that could be cut")
        if facts.field_tokens.get(texts[0], facts.context_tokens) <= facts.context_tokens * (_HEAD_SHARE + _TAIL_SHARE):
            return Blocked(f"the texts that {node.name} reads are shown whole as it is")
        return match

    def params_schema(self, match: Match, plan: Plan, facts: Facts) -> dict[str, Any]:
        """Return the JSON Schema of the parameters."""
        return an_object(
            field=one_of(_texts(plan, match, facts)),
            head_characters=a_number(0, MOST_CHARACTERS),
            tail_characters=a_number(0, MOST_CHARACTERS),
        )

    def default_params(self, match: Match, plan: Plan, facts: Facts) -> HeadTailParams:
        """Show 30 % of the context of the beginning and 10 % of the end."""
        room = facts.context_tokens * CHARACTERS_PER_TOKEN
        head, tail = (min(MOST_CHARACTERS, round(room * share, -2)) for share in (_HEAD_SHARE, _TAIL_SHARE))
        return HeadTailParams(field=_texts(plan, match, facts)[0], head_characters=int(head), tail_characters=int(tail))

    def complaints(self, match: Match, plan: Plan, params: HeadTailParams, facts: Facts) -> Sequence[str]:
        """Refuse to show nothing."""
        if min(params.head_characters, params.tail_characters) < 0:
            return ["head_characters and tail_characters must not be negative."]
        return [] if params.head_characters + params.tail_characters else ["Show at least some characters."]

    def apply(self, plan: Plan, match: Match, params: HeadTailParams) -> Plan:
        """Return the plan with the shorter prompt."""
        node = row_node(plan, match)
        assert node.prompt is not None  # unreadable_prompt
        shown = _shown(params.field, params.head_characters, params.tail_characters)
        prompt = with_note(_cut(node.prompt, params.field, shown), "note_beginning")
        return spliced(plan, match, [replace(node, prompt=prompt)])


def _shown(field: str, head: int, tail: int) -> str:
    text = field_expression(field)
    ends = [f"{{{{ {text}[:{head}] }}}}"] if head else []
    ends += [f"{{{{ {text}[-{tail}:] }}}}"] if tail else []
    cut = "\n[...]\n".join(ends if len(ends) == 2 else [*ends, ""] if head else ["", *ends])
    return f"{{% if {text} | length > {head + tail} %}}{cut}{{% else %}}{{{{ {text} }}}}{{% endif %}}"


def _cut(prompt: Template, field: str, shown: str) -> Template:
    return replace_places(prompt, lambda name: shown if name == field else None)


def _texts(plan: Plan, match: Match, facts: Facts) -> list[str]:
    node = row_node(plan, match)
    return [text for text in long_texts(plan, match.place, node, facts) if _is_cut(node, text)]


def _is_cut(node: Map | Filter, field: str) -> bool:
    """Say whether the prompt shows the text only where it can be cut."""
    try:
        return node.prompt is not None and field not in _cut(node.prompt, field, "").mentions()
    except PipelineError:
        return False
