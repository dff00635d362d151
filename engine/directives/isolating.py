"""Ask for independent things separately, and put the answers together (paper section 3.3, equation 11)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from engine.directives.base import Directive, Params, Site
from engine.directives.division import (
    answered_together,
    choices_of_items,
    even_parts,
    grouped,
    listed_kinds,
    only_fields,
    only_kinds,
    without_kinds,
)
from engine.directives.fields import fields_before
from engine.directives.fitting import undividable
from engine.directives.prompt_checks import ProposedPrompt
from engine.directives.proposals import a_list, a_prompt, an_object, one_of
from engine.directives.splicing import free_field, free_name, spliced, without_fields
from engine.directives.wording import asked_for, worded
from engine.language.schema import Field, ListOf, Schema
from engine.language.templates import Template
from engine.operators.add_uuid import AddUuid
from engine.operators.map import Map
from engine.operators.parallel_map import ParallelMap, PromptPart
from engine.operators.reduce import Reduce
from engine.plan.frozen import FrozenMap
from engine.plan.node import Node
from engine.plan.plan import Plan

MOST_PARTS = 24
PARTS = 8
"""Prompts that a list of many kinds is divided among at first."""

_MOST_FIELDS_APART = 6


@dataclass(frozen=True, kw_only=True)
class IsolatedPart(Params):
    """One of the prompts, and the fields of the answer that it gives; a list may be given by several prompts.

    `kinds` are those of the choices that its items may be of; () for all.
    """

    fields: tuple[str, ...]
    prompt: str
    kinds: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class IsolatingParams(Params):
    """The prompts that are asked side by side."""

    parts: tuple[IsolatedPart, ...]


class Isolating(Directive[IsolatingParams]):
    """Map_y => (Map_y1 || ... || Map_ym) -> Reduce (11).

    The projections are the prompts of one parallel_map, which joins different fields by itself. A list that several
    prompts fill is put together by a reduce of each row, each item once.

    before: report: clauses
    after:  report: clauses -> clauses_id -> clauses_joined -> clauses_tidy
    """

    name: ClassVar[str] = "isolating"
    equation: ClassVar[str] = "11"
    purpose: ClassVar[str] = "asks for independent things separately, side by side, and joins the answers"
    needs: ClassVar[frozenset[str]] = frozenset({"map"})
    keeps_definitions: ClassVar[bool] = True
    prior: ClassVar[float] = 0.7
    prior_of_long_texts: ClassVar[float] = 0.17

    def _blocked(self, site: Site) -> str:
        node = site.node(Map)
        if reason := undividable(node, {"gleaning": "judges the whole answer"}):
            return reason
        if len(answered_together(_answer(node))) == 1 and not _kinds(node)[1]:
            return f"{node.name} asks for one thing, and its prompt lists no kinds of it"
        if len(_answer(node).fields) == 1 and node.examples:
            return f"{node.name} has examples of the whole list"
        return ""

    def params_schema(self, site: Site) -> dict[str, Any]:
        """Return the JSON Schema of the parameters."""
        names = _answer(site.node(Map)).names
        choices = _choices(site.node(Map))
        kinds = a_list(one_of(choices), 1, len(choices)) if choices else a_list({"type": "string"}, 0, 0)
        part = an_object(fields=a_list(one_of(names), 1, len(names)), prompt=a_prompt(), kinds=kinds)
        return an_object(parts=a_list(part, 2, MOST_PARTS))

    def default_params(self, site: Site) -> IsolatingParams:
        """Ask for each field by itself, or for about three listed kinds at a time."""
        return self._params(site, PARTS)

    def variants(self, site: Site) -> Sequence[IsolatingParams]:
        """Divide a list of many kinds into more parts, too."""
        default = self.default_params(site)
        finer = self._params(site, MOST_PARTS)
        return (default,) if len(finer.parts) == len(default.parts) else (default, finer)

    def _params(self, site: Site, most: int) -> IsolatingParams:
        node = site.node(Map)
        assert node.prompt is not None  # undividable
        answer, prompt = _answer(node), node.prompt.text.rstrip()
        if len(runs := answered_together(answer)) > 1:
            groups = [sum(group, ()) for group in even_parts(runs, _MOST_FIELDS_APART)]
            prompts = {names: _of_fields(prompt, answer, names) for names in groups}
            return IsolatingParams(parts=tuple(IsolatedPart(fields=n, prompt=p, kinds=()) for n, p in prompts.items()))
        field, kinds = _kinds(node)
        return IsolatingParams(
            parts=tuple(
                IsolatedPart(
                    fields=answer.names,
                    prompt=_of_kinds(prompt, field, group, kinds),
                    kinds=tuple(group) if field else (),
                )
                for group in grouped(kinds, most)
            )
        )

    def prompts(self, site: Site, params: IsolatingParams) -> Sequence[ProposedPrompt]:
        """Return the prompts."""
        fields, user = fields_before(site).closed, site.node(Map).prompt
        shown = user.mentions() if user else frozenset()
        return [
            ProposedPrompt(name=f"prompt {number}", text=part.prompt, fields=fields, shows_one=shown)
            for number, part in enumerate(params.parts, 1)
        ]

    def complaints(self, site: Site, params: IsolatingParams) -> Sequence[str]:
        """Refuse parts that do not give every field, or give one twice that is no list."""
        answer = _answer(site.node(Map))
        counts = Counter(name for part in params.parts for name in set(part.fields))
        problems: list[str] = []
        for field in answer.fields:
            if not counts[field.name]:
                problems.append(f"parts: no part gives {field.name!r}.")
            if counts[field.name] > 1 and not isinstance(field.type, ListOf):
                problems.append(f"parts: only a list may be given by several parts, and {field.name!r} is none.")
        choices = _choices(site.node(Map))
        left = [kind for kind in choices if not any(not p.kinds or kind in p.kinds for p in params.parts)]
        problems += [f"parts: no part gives the kind {kind!r}." for kind in left]
        problems += ["parts: two or more are needed."] if len(params.parts) < 2 else []
        problems += ["parts: two are the same; each must ask for something else."] if _has_twins(params) else []
        return problems

    def apply(self, site: Site, params: IsolatingParams) -> Plan:
        """Return the plan that asks side by side."""
        node = site.node(Map)
        shared = _shared(site, params)
        fields: list[Field] = []
        prompts = []
        for number, part in enumerate(params.parts):
            names = [_own_name(shared, name, number) for name in dict.fromkeys(part.fields)]
            types = [_part_of(_field(node, f), part, params) for f in dict.fromkeys(part.fields)]
            fields += [replace(field, name=name) for field, name in zip(types, names, strict=True)]
            prompts.append(PromptPart(prompt=Template(part.prompt), output_keys=tuple(names)))
        asking = ParallelMap(
            **node.common_keys,
            prompts=tuple(prompts),
            schema=Schema(tuple(fields)),
            input=node.input,
            drop_keys=tuple(key for key in node.drop_keys if key not in shared),
        )
        joined = _joined(site, node, shared) if shared else []
        return spliced(site, [asking, *joined])


def _part_of(field: Field, part: IsolatedPart, params: IsolatingParams) -> Field:
    """Return the field of one part: of a list that several give its own kinds, and at most twice its share of items."""
    givers = sum(field.name in other.fields for other in params.parts)
    if givers < 2 or not isinstance(field.type, ListOf):
        return field
    most = field.type.most and min(field.type.most, math.ceil(2 * field.type.most / givers))
    item = only_kinds(field.type.item, part.kinds)
    return replace(field, type=replace(field.type, least=0, most=most, item=item))


def _choices(node: Map) -> tuple[str, ...]:
    return choices_of_items(_answer(node).fields[0].type)[1] if len(_answer(node).fields) == 1 else ()


def _joined(site: Site, node: Map, shared: dict[str, dict[int, str]]) -> list[Node]:
    """Put lists together that several prompts filled, row by row."""
    plan = site.plan
    marking = AddUuid(name=free_name(plan, f"{node.name}_id"), id_key=free_field(site, f"{node.name}_row"))
    parts = {name: tuple(fields.values()) for name, fields in shared.items()}
    joining = Reduce(
        name=free_name(plan, f"{node.name}_joined"),
        reduce_key=(marking.field,),
        pass_through=True,
        aggregate=FrozenMap({name: FrozenMap({"union": fields}) for name, fields in parts.items()}),
    )
    scratch = [name for name in parts if name in node.drop_keys]
    dropped = [marking.field, *(name for fields in parts.values() for name in fields), *scratch]
    return [marking, joining, *without_fields(free_name(plan, f"{node.name}_tidy"), dropped)]


def _shared(site: Site, params: IsolatingParams) -> dict[str, dict[int, str]]:
    """Return the lists that several parts give: by name, the field of each part by its number."""
    holders: dict[str, list[int]] = {}
    for number, part in enumerate(params.parts):
        for name in dict.fromkeys(part.fields):
            holders.setdefault(name, []).append(number)
    return {
        name: {number: free_field(site, f"{name}_{place}") for place, number in enumerate(numbers, 1)}
        for name, numbers in holders.items()
        if len(numbers) > 1
    }


def _own_name(shared: dict[str, dict[int, str]], name: str, number: int) -> str:
    return shared.get(name, {}).get(number, name)


def _of_fields(prompt: str, answer: Schema, names: Sequence[str]) -> str:
    return worded("isolated_fields", prompt=prompt, asked=asked_for(only_fields(answer, names).fields))


def _has_twins(params: IsolatingParams) -> bool:
    asked = [(frozenset(part.fields), " ".join(part.prompt.split())) for part in params.parts]
    return len(set(asked)) < len(asked)


def _of_kinds(prompt: str, field: str, group: Sequence[str], kinds: Sequence[str]) -> str:
    listed = {entry: entry.split(":")[0].strip() for entry in listed_kinds(prompt)}
    left_out = {entry for entry, name in listed.items() if {entry, name} & (set(kinds) - set(group))}
    prompt = without_kinds(prompt, left_out)
    return worded("isolated_kinds", prompt=prompt.rstrip(), field=field, kinds="; ".join(group))


def _kinds(node: Map) -> tuple[str, Sequence[str]]:
    """Return what a list's items are divided by: a field with choices, or (no field) kinds that the prompt lists."""
    [field, *others] = _answer(node).fields
    if others or not isinstance(field.type, ListOf) or node.prompt is None:
        return "", ()
    named, choices = choices_of_items(field.type)
    return (named, choices) if choices else ("", listed_kinds(node.prompt.text))


def _answer(node: Map) -> Schema:
    assert node.schema is not None  # undividable
    return node.schema


def _field(node: Map, name: str) -> Field:
    return next(f for f in _answer(node).fields if f.name == name)
