"""Let code compute what a model was asked to put together."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from engine.directives.base import Blocked, Directive, Facts, Match, Params, Place
from engine.directives.computing import computed
from engine.directives.fields import fields_before, type_of_field
from engine.directives.fitting import has_key
from engine.directives.proposals import a_list, an_object, one_of
from engine.directives.splicing import spliced
from engine.language.schema import Enum, Field, ListOf, Nullable, Number, Scalar, Type
from engine.language.template_text import static_text
from engine.operators.reduce import Reduce
from engine.plan.frozen import FrozenMap
from engine.plan.plan import Plan

_OF_LISTS, _OF_NUMBERS = ("union", "concat", "collect_unique", "collect"), ("count", "sum", "min", "max")
_OF_ONE = ("most_common", "first", "min", "max")

ASKS_FOR_ORDER = re.compile(
    r"\b(?:rank\w*|sort(?:ed)?|order(?:ed)? (?:by|from|them)|in (?:\w+ )?order (?:of|by)"
    r"|from (?:the )?(?:most|least|best|worst|highest|lowest|largest|smallest|earliest|latest|oldest|newest)"
    r"|(?:most|least|best|worst|highest|lowest|largest|smallest|earliest|latest|oldest|newest)(?: \w+){0,2}"
    r"(?: (?:come|comes|go|goes))? first)\b",
    re.IGNORECASE,
)

LONGEST_SOURCE = 30
"""Tokens of a field that can be a value of the answer: a longer one is a text, of which the answer is to be made."""

_ONLY_A_MODEL = {
    "persist_intermediates": "keeps what a model wrote on the way",
    "save_retriever_output": "keeps what a model was shown",
    "examples": "shows what a model is to write",
}


@dataclass(frozen=True, kw_only=True)
class ComputedField(Params):
    """A field of the answer, the function of docs/operators/reduce.md that computes it, and of which field."""

    field: str
    function: str
    source: str


@dataclass(frozen=True, kw_only=True)
class CodeParams(Params):
    """How each field of the answer is computed."""

    fields: tuple[ComputedField, ...]


class ReduceToCode(Directive[CodeParams]):
    """Reduce_{K, x} => Reduce_K with `aggregate` alone: exact, and without a model.

    before: report: acts -> by_officer
    after:  report: acts -> by_officer
    """

    name: ClassVar[str] = "reduce_to_code"
    purpose: ClassVar[str] = "lets code compute what a model was asked to put together"
    needs: ClassVar[frozenset[str]] = frozenset({"reduce"})
    params_type = CodeParams

    def _match(self, plan: Plan, place: Place, facts: Facts) -> Match | Blocked:
        match = Match.at(place)
        node = _reduce(plan, match)
        if node.prompt is None or node.schema is None:
            return Blocked(f"{node.name} asks no model")
        if reason := has_key(node, _ONLY_A_MODEL):
            return Blocked(reason)
        if ASKS_FOR_ORDER.search(static_text(node.prompt)):
            return Blocked(f"the prompt of {node.name} asks for an order, and code keeps that of the rows")
        if not _sources(plan, match, facts):
            return Blocked(f"the prompt of {node.name} reads no field by name")
        for field in node.schema.fields:
            if not _functions(field.type) or (_is_text(field.type) and field.name not in _sources(plan, match, facts)):
                return Blocked(f"{field.name} is {field.type.text()}, which code cannot make of the rows")
        return match

    def params_schema(self, match: Match, plan: Plan, facts: Facts) -> dict[str, Any]:
        """Return the JSON Schema of the parameters."""
        fields = _fields(plan, match)
        functions = [name for field in fields for name in _functions(field.type)]
        one = an_object(
            field=one_of(f.name for f in fields),
            function=one_of(functions),
            source=one_of(_sources(plan, match, facts)),
        )
        return an_object(fields=a_list(one, len(fields), len(fields)))

    def default_params(self, match: Match, plan: Plan, facts: Facts) -> CodeParams:
        """Compute each field of the one of its name, or else of the first that the prompt reads of a fitting type."""
        return CodeParams(fields=tuple(_default(plan, match, facts, field) for field in _fields(plan, match)))

    def complaints(self, match: Match, plan: Plan, params: CodeParams, facts: Facts) -> Sequence[str]:
        """Refuse fields that are not computed, or by a function of another type."""
        fields = {f.name: f for f in _fields(plan, match)}
        given = [one.field for one in params.fields]
        found = [f"fields: {name!r} must be there once." for name in fields if given.count(name) != 1]
        found += [f"fields: {name!r} is no field of the answer." for name in given if name not in fields]
        for one in params.fields:
            valid = _functions(fields[one.field].type) if one.field in fields else ()
            if valid and one.function not in valid:
                found.append(f"fields: {one.field!r} can be computed by {', '.join(valid)}, not by {one.function!r}.")
            there = fields_before(plan, match.place, facts)
            if one.source not in there.names and not there.is_open:
                found.append(f"fields: there is no field {one.source!r} to compute {one.field!r} of.")
        return found

    def apply(self, plan: Plan, match: Match, params: CodeParams) -> Plan:
        """Return the plan without the model."""
        node = _reduce(plan, match)
        fields = {one.field: FrozenMap({one.function: one.source}) for one in params.fields}
        changed = computed(node, fields, {"count": (*node.keys, params.fields[0].source)[0]})
        return spliced(plan, match, [changed])


def _reduce(plan: Plan, match: Match) -> Reduce:
    return cast("Reduce", match.nodes(plan)[-1])


def _fields(plan: Plan, match: Match) -> tuple[Field, ...]:
    schema = _reduce(plan, match).schema
    assert schema is not None  # _match
    return schema.fields


def _sources(plan: Plan, match: Match, facts: Facts) -> list[str]:
    """Return the fields that the prompt reads of its rows, in the order of their names, and those it could."""
    node = _reduce(plan, match)
    there = fields_before(plan, match.place, facts)
    named = sorted(node.prompt.mentions("inputs")) if node.prompt else []
    answered = [f.name for f in _fields(plan, match) if f.name in there.names]
    short = [name for name in named if facts.field_tokens.get(name, 0) <= LONGEST_SOURCE]
    return list(dict.fromkeys([*answered, *(n for n in short if n in there.names or there.is_open)]))


def _functions(kind: Type) -> tuple[str, ...]:
    """Return the functions that give a value of a type; none where code gives none."""
    match kind:
        case Nullable(inner=inner):
            return _functions(inner)
        case ListOf():
            return _OF_LISTS
        case Scalar(name="integer" | "float") | Number():
            return (*_OF_NUMBERS, *_OF_ONE[:2])
        case Scalar(name="boolean"):
            return ("any", "most_common", "first")
        case Scalar() | Enum():
            return _OF_ONE
    return ()


def _is_text(kind: Type) -> bool:
    return kind == Scalar("string") or (isinstance(kind, Nullable) and kind.inner == Scalar("string"))


def _default(plan: Plan, match: Match, facts: Facts, field: Field) -> ComputedField:
    sources = _sources(plan, match, facts)
    source = field.name if field.name in sources else sources[0]
    held = type_of_field(plan, match.place, source)
    functions = _functions(field.type)
    if isinstance(field.type, ListOf):
        return ComputedField(field=field.name, function=functions[0 if isinstance(held, ListOf) else 2], source=source)
    is_number = held in (Scalar("integer"), Scalar("float")) or isinstance(held, Number)
    chosen = functions[1] if functions[0] == "count" and is_number and source == field.name else functions[0]
    if chosen == "any" and held != Scalar("boolean"):
        chosen = "most_common"
    return ComputedField(field=field.name, function=chosen, source=source)
