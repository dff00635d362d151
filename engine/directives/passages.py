"""Show an operator some passages of a text in place of all of it; code or a search chooses them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from engine.directives.base import Blocked, Site
from engine.directives.fitting import cuttable_texts, divided_drops, has_key, row_node, unreadable_prompt
from engine.directives.keywords import keywords_of
from engine.directives.proposals import a_number, one_of
from engine.directives.rereading import naming_main_text, reading
from engine.directives.splicing import free_field, free_name, spliced, without_fields
from engine.directives.wording import with_note
from engine.errors import PipelineError
from engine.language.template_text import field_expression, replace_places
from engine.language.templates import Template
from engine.operators.filter import Filter
from engine.operators.map import Map
from engine.operators.reduce import Reduce
from engine.operators.split import Split
from engine.plan.frozen import FrozenMap
from engine.plan.node import Node
from engine.plan.plan import Plan

PASSAGE_TOKENS = 200
SMALLEST_PASSAGE, LARGEST_PASSAGE = 50, 2000

_SHOWN_OTHERWISE = {
    "examples": "shows whole texts",
    "gleaning": "compares the answer with the whole text",
    "batch_prompt": "asks about several rows at once",
    "validate": "may compare the answer with the whole text",
}


@dataclass(frozen=True, slots=True)
class Passages:
    """The names of the operators around the choice, and of the field that holds what was chosen."""

    cut: Split
    collect: str
    tidy: str
    field: str

    @classmethod
    def of(cls, site: Site, key: str, tokens: int) -> Passages:
        """Name them after the operator that reads the passages."""
        stem = site.nodes[-1].name
        names = [free_name(site.plan, f"{stem}_{part}") for part in ("passages", "collected", "tidy")]
        cut = Split(name=names[0], split_key=key, method="token_count", num_tokens=tokens)
        return cls(cut, names[1], names[2], free_field(site, f"{key}_passages"))


def match_by_words(site: Site) -> Site | Blocked:
    """Match an operator of which passages that have to do with its prompt's words can be shown in place of a text."""
    node = row_node(site)
    if reason := unreadable_prompt(node) or has_key(node, _SHOWN_OTHERWISE):
        return Blocked(reason)
    if not texts(site):
        return Blocked(f"the prompt of {node.name} shows no text of which passages could be chosen")
    if not keywords_of(node):
        return Blocked(f"the prompt of {node.name} has no words to look for")
    return site


def texts(site: Site) -> list[str]:
    """Return the texts of which passages may be shown: in all rows seen, as they are wherever the prompt reads them."""
    node = row_node(site)
    return [text for text in cuttable_texts(site) if _is_replaceable(node, text)]


def showing(site: Site, passages: Passages, choosing: Node, *, dropped: Sequence[str] = ()) -> Plan:
    """Return the plan in which `choosing` keeps the passages that the operator reads; then `dropped` go too."""
    node, cut = row_node(site), passages.cut
    collecting = Reduce(
        name=passages.collect,
        reduce_key=(cut.id_key,),
        pass_through=True,
        aggregate=FrozenMap({passages.field: FrozenMap({"collect": cut.chunk_key})}),
    )
    assert node.prompt is not None and node.schema is not None  # match_by_words
    prompt = with_note(
        _joined(node.prompt, cut.split_key, passages.field), "note_passages", by_words=isinstance(choosing, Filter)
    )
    names = {cut.split_key: passages.field}
    quoting: Map | Filter = replace(node, schema=naming_main_text(node.schema, passages.field))
    own, later = divided_drops(node)
    changed: Map | Filter = replace(reading(quoting, names, prompt=prompt, quoted=names), drop_keys=own)
    added = [cut.chunk_key, cut.id_key, cut.number_key, passages.field]
    tidy = without_fields(passages.tidy, [*later, *added, *dropped])
    return spliced(site, [cut, choosing, collecting, changed, *tidy])


def _joined(prompt: Template, field: str, passages: str) -> Template:
    place = "{{ " + field_expression(passages) + ' | join("\\n[...]\\n") }}'
    return replace_places(prompt, lambda name: place if name == field else None)


def _is_replaceable(node: Map | Filter, field: str) -> bool:
    try:
        return node.prompt is not None and field not in _joined(node.prompt, field, "\ue000").mentions()
    except PipelineError:
        return False


def settings_schema(site: Site) -> dict[str, Any]:
    """Return the part of a JSON Schema that every choice of passages has."""
    return {
        "split_key": one_of(texts(site)),
        "passage_tokens": a_number(SMALLEST_PASSAGE, LARGEST_PASSAGE),
    }
