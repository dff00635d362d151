"""Let a decision, or each item of a list, be preceded by the sentence that decides it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from engine.directives.base import Blocked, Directive, Facts, Match, Params, Place
from engine.directives.fitting import ABOUT_THE_ANSWER, has_key, long_texts, quoted_field, row_node, unreadable_prompt
from engine.directives.proposals import an_object, one_of
from engine.directives.splicing import free_field, free_name, spliced, without_fields
from engine.directives.wording import with_note
from engine.language.computation import Computation
from engine.language.schema import Enum, Field, ListOf, Nullable, Quote, Record, Scalar, Schema, Text, Type
from engine.language.schema_types import quotes_in
from engine.language.template_text import field_expression
from engine.operators.compute import Compute
from engine.operators.filter import Filter
from engine.operators.map import Map
from engine.plan.frozen import FrozenMap
from engine.plan.plan import Plan

_WRITTEN_OUT = {
    "examples": "shows answers without the sentence",
    "batch_prompt": "asks about several rows at once, each with sentences of its own",
}


@dataclass(frozen=True, kw_only=True)
class EvidenceParams(Params):
    """The field that is decided, and the field from whose text the sentence is copied."""

    field: str
    source: str


class EvidenceFirst(Directive[EvidenceParams]):
    """Map => Map, with a verbatim quote before one field of its answer. The quote is kept in no row.

    Of a list of texts (Map => Map -> Compute) a quote stands before each.

    A small model that must first copy the sentence decides by it: measured, its precision rose from 0.64 to 1.00.

    before: report: keep
    after:  report: keep
    """

    name: ClassVar[str] = "evidence_first"
    purpose: ClassVar[str] = "has the deciding sentence copied before the decision"
    needs: ClassVar[frozenset[str]] = frozenset({"map", "filter"})
    params_type = EvidenceParams

    def _match(self, plan: Plan, place: Place, facts: Facts) -> Match | Blocked:
        match = Match.at(place)
        node = row_node(plan, match)
        if reason := unreadable_prompt(node) or has_key(node, _WRITTEN_OUT):
            return Blocked(reason)
        if not _sources(plan, place, facts):
            return Blocked(f"the prompt of {node.name} shows no text to quote from")
        if not _decisions(plan, match):
            return Blocked(f"every decision of {node.name} has a quote before it, or it decides nothing")
        return match

    def params_schema(self, match: Match, plan: Plan, facts: Facts) -> dict[str, Any]:
        """Return the JSON Schema of the parameters."""
        return an_object(field=one_of(_decisions(plan, match)), source=one_of(_sources(plan, match.place, facts)))

    def default_params(self, match: Match, plan: Plan, facts: Facts) -> EvidenceParams:
        """Take the first yes or no, else the first choice, else the first field; and the longest text."""
        return EvidenceParams(field=_decisions(plan, match)[0], source=_sources(plan, match.place, facts)[0])

    def apply(self, plan: Plan, match: Match, params: EvidenceParams) -> Plan:
        """Return the plan with the quote."""
        node = row_node(plan, match)
        assert node.schema is not None and node.prompt is not None  # unreadable_prompt
        quote = free_field(plan, f"{params.field}_evidence")
        at = node.schema.names.index(params.field)
        if isinstance(listed := node.schema.fields[at].type, ListOf):
            return self._of_items(plan, match, params, quote, listed)
        added = Field(quote, Nullable(Quote(params.source)))
        schema = Schema((*node.schema.fields[:at], added, *node.schema.fields[at:]))
        prompt = with_note(node.prompt, "note_evidence", field=params.field, quote=quote)
        changed = replace(node, schema=schema, prompt=prompt, drop_keys=(*node.drop_keys, quote))
        return spliced(plan, match, [changed])

    def _of_items(self, plan: Plan, match: Match, params: EvidenceParams, quote: str, listed: ListOf) -> Plan:
        """Put a quote before each item of a list of texts, and let code take the texts out again."""
        node = row_node(plan, match)
        assert isinstance(node, Map) and node.schema is not None and node.prompt is not None  # _decisions
        name = params.field
        quoted = free_field(plan, f"{name}_quoted")
        item = Record((Field(quote, Quote(params.source)), Field(name, listed.item)))
        fields = [
            replace(f, name=quoted, type=replace(listed, item=item)) if f.name == name else f
            for f in node.schema.fields
        ]
        asking = replace(
            node,
            prompt=with_note(node.prompt, "note_evidence_items", field=name, quote=quote, quoted=quoted),
            schema=Schema(tuple(fields)),
        )
        expression = f"[item[{name!r}] for item in {field_expression(quoted)}]"
        taking = Compute(
            name=free_name(plan, f"{node.name}_items"), fields=FrozenMap({name: Computation(expression)}), basis=False
        )
        return spliced(plan, match, [asking, taking, *without_fields(free_name(plan, f"{node.name}_tidy"), [quoted])])


def _decisions(plan: Plan, match: Match) -> list[str]:
    """Return the fields that may be preceded by a quote, those first that decide most plainly."""
    node = row_node(plan, match)
    fields = node.schema.fields if node.schema else ()
    found = [
        f
        for before, f in zip((None, *fields), fields, strict=False)
        if not _quotes(f.type)
        and not (before and _quotes(before.type))
        and (not isinstance(f.type, ListOf) or _lists_texts(f, node))
    ]
    return [f.name for f in sorted(found, key=lambda f: _plainness(f.type))]


def _lists_texts(field: Field, node: Map | Filter) -> bool:
    """Say whether each text of a list may have a sentence of its own."""
    listed = field.type
    is_read = has_key(node, {**ABOUT_THE_ANSWER, "gleaning": "reads the list"})
    is_kept = isinstance(node, Map) and field.name not in node.drop_keys and not is_read
    return isinstance(listed, ListOf) and is_kept and (listed.item == Scalar("string") or isinstance(listed.item, Text))


def _quotes(kind: Type) -> bool:
    return any(True for _ in quotes_in(kind))


def _plainness(kind: Type) -> int:
    if kind == Scalar("boolean"):
        return 0
    if isinstance(kind, ListOf):
        return 4
    return 1 if isinstance(kind, Enum) else 2 if isinstance(kind, Nullable) else 3


def _sources(plan: Plan, place: Place, facts: Facts) -> list[str]:
    """Return the fields to quote from: a chunk that is shown among its neighbours is quoted itself."""
    texts = long_texts(plan, place, row_node(plan, Match.at(place)), facts)
    return list(dict.fromkeys(quoted_field(plan, text) for text in texts))
