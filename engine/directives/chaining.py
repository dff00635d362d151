"""Answer one thing after another, each with what is known already (paper section 3.3, equation 10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from engine.directives.base import Directive, Params, Site
from engine.directives.division import divided_examples, even_parts, only_fields
from engine.directives.fields import fields_before
from engine.directives.fitting import NOT_DIVISIBLE, has_key, row_node, unreadable_prompt
from engine.directives.prompt_checks import ProposedPrompt
from engine.directives.proposals import a_list, a_prompt, an_object, one_of
from engine.directives.splicing import free_field, free_name, spliced
from engine.directives.wording import asked_for, worded
from engine.language.expressions import Expression
from engine.language.schema import Field, Scalar, Schema
from engine.language.template_text import field_place
from engine.language.templates import Template
from engine.operators.filter import Filter
from engine.operators.map import Map
from engine.plan.plan import Plan

MOST_LINKS = 4


@dataclass(frozen=True, kw_only=True)
class Link(Params):
    """The fields that one operator of the chain answers, and its prompt, which may read those before it."""

    fields: tuple[str, ...]
    prompt: str


@dataclass(frozen=True, kw_only=True)
class ChainingParams(Params):
    """The operators of the chain in order; the last one is the operator that is rewritten."""

    links: tuple[Link, ...]


class Chaining(Directive[ChainingParams]):
    """Map_x => Map_x1 -> Map_x2 -> ... -> Map_xn (10).

    Each link answers some fields of the answer; where there is only one, the first link collects what bears on it. A
    filter ends the chain with its decision.

    before: report: terms
    after:  report: terms_1 -> terms
    """

    name: ClassVar[str] = "chaining"
    equation: ClassVar[str] = "10"
    purpose: ClassVar[str] = "answers one thing after another, each with what was answered before"
    needs: ClassVar[frozenset[str]] = frozenset({"map", "filter"})
    keeps_definitions: ClassVar[bool] = True
    prior: ClassVar[float] = 0.25

    def _blocked(self, site: Site) -> str:
        node = row_node(site)
        return unreadable_prompt(node) or has_key(node, NOT_DIVISIBLE)

    def params_schema(self, site: Site) -> dict[str, Any]:
        """Return the JSON Schema of the parameters."""
        names = [*_answer(site).names, _notes(site)]
        link = an_object(fields=a_list(one_of(names), 1, len(names)), prompt=a_prompt())
        return an_object(links=a_list(link, 2, MOST_LINKS))

    def default_params(self, site: Site) -> ChainingParams:
        """Let up to three operators answer the fields in their order; of one field, collect notes first."""
        node, answer, notes = row_node(site), _answer(site), _notes(site)
        assert node.prompt is not None  # unreadable_prompt
        names = [n for n in answer.names if n != _decision(node)]
        parts = even_parts(names, 3 - isinstance(node, Filter)) if names else [(notes,)]
        if isinstance(node, Filter):
            parts = [*parts, (_decision(node),)]
        elif len(parts) == 1:
            parts = [(notes,), *parts]
        links: list[Link] = []
        for fields in parts:
            known = [f"{name}: {field_place(name)}" for link in links for name in link.fields]
            asked = asked_for(only_fields(answer, fields).fields) if fields != (notes,) else ""
            user = node.prompt.text.rstrip()
            text = worded("chain_link", prompt=user, known=known, notes=fields == (notes,), asked=asked)
            links.append(Link(fields=fields, prompt=text))
        return ChainingParams(links=tuple(links))

    def prompts(self, site: Site, params: ChainingParams) -> Sequence[ProposedPrompt]:
        """Return the prompts; each may read what those before it answer."""
        fields = fields_before(site)
        user = row_node(site).prompt
        proposed, shown = [], user.mentions() if user else frozenset()
        for number, link in enumerate(params.links, 1):
            name = f"prompt {number}"
            proposed.append(ProposedPrompt(name=name, text=link.prompt, fields=fields.closed, shows_one=shown))
            fields, shown = fields.with_names(*link.fields), shown | frozenset(link.fields)
        return proposed

    def complaints(self, site: Site, params: ChainingParams) -> Sequence[str]:
        """Refuse links that do not answer every field once, or a filter's decision before the end."""
        node, names, notes = row_node(site), _answer(site).names, _notes(site)
        answered = [name for link in params.links for name in link.fields]
        problems = [f"links: {name!r} must be answered by one link." for name in names if answered.count(name) != 1]
        problems += ["links: two or more are a chain."] if len(params.links) < 2 else []
        last = params.links[-1].fields if params.links else ()
        if isinstance(node, Filter) and _decision(node) not in last:
            problems.append(f"links: the last one must decide {_decision(node)!r}.")
        if not set(last) - {notes}:
            problems.append("links: the last one must answer a field.")
        return problems

    def apply(self, site: Site, params: ChainingParams) -> Plan:
        """Return the plan with a chain."""
        node, notes = row_node(site), _notes(site)
        answer = replace(_answer(site), fields=(*_answer(site).fields, Field(notes, Scalar("string"))))
        known: list[str] = []
        nodes: list[Map | Filter] = []
        for number, link in enumerate(params.links, 1):
            is_last = number == len(params.links)
            schema = only_fields(answer, link.fields)
            shared: Mapping[str, Any] = {
                "schema": schema,
                "prompt": Template(link.prompt),
                "input": (*node.input, *known) if node.input else (),
                "examples": divided_examples(node.examples, known, schema),
                "validate": _checked_here(node, link.fields, known),
            }
            if is_last:
                drops = tuple(dict.fromkeys((*node.drop_keys, *([notes] if notes in [*known, *link.fields] else []))))
                nodes.append(replace(node, drop_keys=drops, **shared))
                break
            name = free_name(site.plan, f"{node.name}_{number}")
            common = {k: v for k, v in node.common_keys.items() if k not in shared}
            nodes.append(Map(**{**common, **shared, "name": name, "gleaning": None}))
            known += link.fields
        return spliced(site, nodes)


def _answer(site: Site) -> Schema:
    schema = row_node(site).schema
    assert schema is not None  # unreadable_prompt
    return schema


def _notes(site: Site) -> str:
    return free_field(site, f"{site.operator.name}_notes")


def _decision(node: Map | Filter) -> str:
    return node.decision if isinstance(node, Filter) else ""


def _checked_here(node: Map | Filter, fields: Sequence[str], known: Sequence[str]) -> tuple[Expression, ...]:
    """Return the expressions that can be checked as soon as these fields are answered, and not before."""
    names = set(node.answered_fields)
    needed = {e: e.fields("output") & names for e in node.validate}
    answered = {*fields, *known}
    is_last = not names - answered
    checks = [
        e for e, wants in needed.items() if (is_last and not wants) or (wants & set(fields) and wants <= answered)
    ]
    return tuple(checks)
