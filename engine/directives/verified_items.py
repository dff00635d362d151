"""Ask about each item of a list whether it belongs there, and weigh the answer against those about all others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar

from engine.directives.base import Directive, Params, Site
from engine.directives.fitting import row_node
from engine.directives.item_by_item import LEANS, ItemNames, belonging, item_by_item, not_by_item
from engine.directives.person_fields import holds_persons
from engine.directives.splicing import free_name
from engine.language.expressions import RowExpression
from engine.language.schema import Field, ListOf, Quote, Record, Scalar, Schema, Text, Type
from engine.language.template_text import field_expression
from engine.language.templates import Template
from engine.operators.deciding import LeanMethod
from engine.operators.filter import Filter
from engine.operators.map import Map
from engine.plan.plan import Plan

MOST_LISTED = 30
"""Items that a broad list may have at least, where the user's own is bounded."""


@dataclass(frozen=True, kw_only=True)
class VerifiedParams(Params):
    """The list whose items are asked about, and `correct_lean` of the filter that decides.

    `broad`: the list is of all things of the kind, whether or not they meet the condition that the question sets.
    """

    field: str
    correct_lean: LeanMethod
    broad: bool


class VerifiedItems(Directive[VerifiedParams]):
    """Map => Map -> Unnest -> Filter -> Reduce: the user's own question, then of each item whether it belongs there.

    The text and the question are read once for the list and all of its items. A small model says yes to nearly every
    item, but with less conviction to those that are wrong: with `batch` the items stay of which it is surer than on
    average (batch calibration: Zhou et al. 2023). Where the question sets a condition ("every officer who lied"), all
    that it could be about are listed and the condition is left to the second question, which then has more to weigh
    each item against. Why, and how far: docs/decisions/0028, 0033.

    before: report: find -> keep
    after:  report_listed: find_row -> find
            report_documents: find_found
            report_items: find_each -> find_asked -> find_held
            report: find_joined -> find_tidy -> keep
    """

    name: ClassVar[str] = "verified_items"
    purpose: ClassVar[str] = "asks of each item whether it belongs there, and keeps those the model is surer of"
    needs: ClassVar[frozenset[str]] = frozenset({"map"})
    prior: ClassVar[float] = 0.75
    is_settled: ClassVar[bool] = True

    def _blocked(self, site: Site) -> str:
        return not_by_item(site, _lists(site), "of texts or records that could be asked about one by one")

    def default_params(self, site: Site) -> VerifiedParams:
        """Ask about the items of the first list, all there could be, and weigh them against each other."""
        broad = _broad_prompt(site) is not None
        return VerifiedParams(field=_lists(site)[0], correct_lean=LEANS[0], broad=broad)

    def variants(self, site: Site) -> Sequence[VerifiedParams]:
        """Weigh the answers about all there could be, then those about the user's own list; take these as they are."""
        default = self.default_params(site)
        narrow = [replace(default, correct_lean=lean, broad=False) for lean in LEANS]
        return tuple(dict.fromkeys([default, *narrow]))

    def apply(self, site: Site, params: VerifiedParams) -> Plan:
        """Return the plan that asks about each item."""
        listing, names = site.node(Map), ItemNames.of(site, params.field)
        assert listing.schema is not None  # undividable
        checking = belonging(site, names, params.correct_lean)
        if params.broad and (broad := _broad_prompt(site)) is not None:
            if holds_persons(params.field, [listing.prompt]):
                condition = RowExpression.parse(f"{field_expression(names.field)} | is_person")
                name = free_name(site.plan, f"{listing.name}_quoted")
                checking.insert(0, Filter(name=name, condition=condition))
            listing = replace(listing, prompt=Template(broad), schema=Schema((_longer(listing.schema.fields[0]),)))
        return item_by_item(site, names, listing, checking)


def _broad_prompt(site: Site) -> str | None:
    """Return the prompt that lists all there could be; None where the user's sets no condition or asks for more.

    A record tells more of a thing than its name, which may be the condition itself (what an officer did).
    """
    node = row_node(site)
    if node.prompt is None or node.schema is None or len(node.schema.fields) > 1:
        return None
    [field] = node.schema.fields
    if isinstance(field.type, ListOf) and isinstance(field.type.item, Record):
        return None
    return broadened(node.prompt)


def _longer(field: Field) -> Field:
    """Give a list room for more: of what could be meant there is more than of what is."""
    kind = field.type
    if isinstance(kind, ListOf) and kind.most is not None:
        return replace(field, type=replace(kind, most=max(kind.most, MOST_LISTED)))
    return field


def _lists(site: Site) -> list[str]:
    node = row_node(site)
    fields = node.schema.fields if node.schema else ()
    return [f.name for f in fields if _names_things(f.type) and f.name not in node.drop_keys]


def _names_things(kind: Type) -> bool:
    """Say whether a list holds texts or records of them, and need not have so many: of ten asked for none may go."""
    return isinstance(kind, ListOf) and not kind.least and isinstance(kind.item, Scalar | Text | Quote | Record)


_ASKING = re.compile(r"\b(?:list|name|identify|find|extract|give|collect|determine|report)\b", re.IGNORECASE)
_ENDS = re.compile(r"[.;:?!(\"{}]|\n\s*\n")
_CONDITION = re.compile(r"who|whom|whose|which|that|where|[a-z]+ed|[a-z]+ing")
_BEFORE = frozenset(("in", "for", "to", "of", "by", "on", "from", "with"))
"""Words that belong to the condition before `which` or `whom`."""

_COUNTS = frozenset({
    "a", "all", "an", "any", "both", "distinct", "each", "every", "first", "main", "many", "most", "only", "other",
    "some", "such", "the", "these", "those", "top", "unique",
})  # fmt: skip
_CLAUSE = frozenset({
    "am", "are", "be", "been", "did", "do", "does", "had", "has", "have", "he", "her", "his", "i", "is", "it", "its",
    "she", "their", "they", "us", "was", "we", "were", "you",
})  # fmt: skip
_MOST_WORDS = 8


def broadened(prompt: Template) -> str | None:
    """Write the prompt that asks for all things of a kind; None where it sets no condition, or in words unknown here.

    `List every officer who lied. A lie is ...` becomes `List every officer named in it, each once, as it is written
    there.` The condition goes, with the rest of its paragraph but the fields that are shown there, and so do all later
    paragraphs that show none.
    """
    parts = re.split(r"(\n\s*\n)", prompt.text.rstrip())
    for at, part in enumerate(parts):
        for verb in _ASKING.finditer(part):
            rest = part[verb.end() :]
            if kind := _kind(_ENDS.split(rest, maxsplit=1)[0]):
                shown = re.search(r"(?<=[:\s]){[{%].*", rest, re.DOTALL)
                broad = f"{part[: verb.end()]} {kind} named in it, each once, as it is written there"
                kept = [f"{broad}: {shown[0]}" if shown else f"{broad}."]
                later = zip(parts[at + 1 :: 2], parts[at + 2 :: 2], strict=True)
                kept += [gap + text for gap, text in later if "{{" in text or "{%" in text]
                return "".join([*parts[:at], *kept]) + "\n"
    return None


def _kind(asked: str) -> str:
    """Return what is asked for, `every police officer`, before the condition on it; "" where there is none."""
    words = asked.split()[: _MOST_WORDS + 2]
    for at, (before, word) in enumerate(pairwise(words), 1):
        plain = before.strip(",").casefold()
        if plain in _CLAUSE or (at > 1 and plain in _COUNTS):
            return ""
        if _CONDITION.fullmatch(word) and plain not in _COUNTS:
            kept = words[: at - 1] if plain in _BEFORE else words[:at]
            return " ".join(kept).strip(",")
    return ""
