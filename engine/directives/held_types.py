"""Hold an answer to what can be right: the choices that the prompt lists, the sentences that the text has."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from engine.directives.answer_paths import AnswerPath, answer_paths, is_copied, is_kind, with_type
from engine.directives.base import Directive, Facts, Params, Site
from engine.directives.division import LONGEST_KIND, named_kinds
from engine.directives.fitting import has_key, long_texts, quoted_field, row_node, unreadable_prompt
from engine.directives.splicing import spliced
from engine.language.schema import Enum, Quote, Type
from engine.operators.map import Map
from engine.plan.plan import Plan

Hold = Literal["choice", "sentence"]

_WRITTEN_OUT = {"examples": "shows answers of the wider type"}


@dataclass(frozen=True, kw_only=True)
class HeldField(Params):
    """A text of the answer (`clauses.text_span`), and what it is held to."""

    path: str
    to: Hold


@dataclass(frozen=True, kw_only=True)
class HeldParams(Params):
    """The texts that are held."""

    fields: tuple[HeldField, ...]


class HeldTypes(Directive[HeldParams]):
    """Map => Map of which texts become choices of the kinds that the prompt lists, or sentences of the text.

    The mask then lets the model write nothing else; and what is copied is written faster than what is told.

    before: report: clauses
    after:  report: clauses
    """

    name: ClassVar[str] = "held_types"
    purpose: ClassVar[str] = "holds answers to the kinds that the prompt lists and to sentences that the text has"
    needs: ClassVar[frozenset[str]] = frozenset({"map"})
    prior: ClassVar[float] = 0.85
    is_settled: ClassVar[bool] = True

    def _blocked(self, site: Site) -> str:
        node = row_node(site)
        if reason := unreadable_prompt(node) or has_key(node, _WRITTEN_OUT):
            return reason
        if not _possible(site):
            return f"no text of {node.name} is a listed kind or a copied sentence"
        return ""

    def default_params(self, site: Site) -> HeldParams:
        """Hold all that can be held."""
        return HeldParams(fields=_possible(site))

    def apply(self, site: Site, params: HeldParams) -> Plan:
        """Return the plan with the narrower types."""
        node = site.node(Map)
        schema = node.schema
        assert schema is not None  # _match
        paths = {str(path): path for path in answer_paths(schema)}
        for field in params.fields:
            schema = with_type(schema, paths[field.path], _type(site, field.to))
        return spliced(site, [replace(node, schema=schema)])


def _type(site: Site, to: Hold) -> Type:
    if to == "choice":
        return Enum(_kinds(site))
    return Quote(_source(site))


def _possible(site: Site) -> tuple[HeldField, ...]:
    schema = site.node(Map).schema
    fields = []
    for path in answer_paths(schema) if schema else ():
        if _is_kind(path, site.facts) and _kinds(site):
            fields.append(HeldField(path=str(path), to="choice"))
        elif is_copied(path, site.facts) and _source(site):
            fields.append(HeldField(path=str(path), to="sentence"))
    return tuple(fields)


def _source(site: Site) -> str:
    """Return the text to copy from; "" where there is none."""
    texts = long_texts(site)
    return quoted_field(site.plan, texts[0]) if texts else ""


def _kinds(site: Site) -> tuple[str, ...]:
    """Return the names of the kinds that the prompt lists."""
    node = row_node(site)
    return tuple(named_kinds(node.prompt.text)) if node.prompt else ()


def _is_kind(path: AnswerPath, facts: Facts) -> bool:
    seen = facts.answers.get(str(path))
    return is_kind(path) and (seen is None or seen.words <= LONGEST_KIND)
