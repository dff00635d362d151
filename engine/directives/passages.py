"""Show an operator some passages of a text in place of all of it; code or a search chooses them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from engine.directives.base import Site
from engine.directives.fitting import cuttable_texts, divided_drops, has_key, row_node, unreadable_prompt
from engine.directives.proposals import a_number, one_of
from engine.directives.rereading import naming_main_text, reading
from engine.directives.splicing import free_field, free_name, spliced, without_fields
from engine.directives.wording import task_of, with_note
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
from engine.text.vocabulary import word_set

PASSAGE_TOKENS = 200
SMALLEST_PASSAGE, LARGEST_PASSAGE = 50, 2000

_SHOWN_OTHERWISE = {
    "examples": "shows whole texts",
    "gleaning": "compares the answer with the whole text",
    "batch_prompt": "asks about several rows at once",
    "validate": "may compare the answer with the whole text",
}

MOST_KEYWORDS = 30
_LONGEST_ENDING = 3

_WORD = re.compile(r"[^\W\d_]{4,}")
_ENDINGS = ("ments", "ment", "ings", "ing", "ions", "ion", "ies", "ed", "es", "s", "y", "e")
_NO_KEYWORDS = word_set(
    "about above according after again against all also although always among answer answers another any appear "
    "are asked because been before being below between both brief briefly but case could describe description did "
    "does doing done each either else every example exist false field fields find first following found from give "
    "given gives have here however include including into its just know less like list lists long made make many "
    "mean mention mentioned mentions more most much must name named names need never none nothing null only other "
    "others otherwise over part parts per please provide question read record records report reports result "
    "return said same sentence shall should show some state stated states such sure tell text than that their "
    "them then there these they thing things this those through true under until upon used using very want were "
    "what when where whether which while whom whose will with within without word words would write written your "
    "document documents page input output schema extract identify summarise summarize summary"
)


def no_passages(site: Site) -> str:
    """Say why passages that have to do with the words of a prompt cannot be shown in place of a text."""
    node = row_node(site)
    if reason := unreadable_prompt(node) or has_key(node, _SHOWN_OTHERWISE):
        return reason
    if not texts(site):
        return f"the prompt of {node.name} shows no text of which passages could be chosen"
    return "" if keywords_of(node) else f"the prompt of {node.name} has no words to look for"


def keywords_of(node: Map | Filter) -> tuple[str, ...]:
    """Return the words of an operator's question that a text about it may hold, without their endings."""
    asked = task_of(node.prompt) if node.prompt else ""
    names = " ".join(f"{f.name.replace('_', ' ')} {f.description}" for f in (node.schema.fields if node.schema else ()))
    words = [w.lower() for w in _WORD.findall(re.sub(r"\[[^\]\n]*\]", " ", f"{asked} {names}"))]
    return tuple(dict.fromkeys(_stem(word) for word in words if word not in _NO_KEYWORDS))[:MOST_KEYWORDS]


def _stem(word: str) -> str:
    ending = next((e for e in _ENDINGS if word.endswith(e) and len(word) - len(e) > _LONGEST_ENDING), "")
    return word.removesuffix(ending)


def texts(site: Site) -> list[str]:
    """Return the texts of which passages may be shown: in all rows seen, as they are wherever the prompt reads them."""
    node = row_node(site)
    return [text for text in cuttable_texts(site) if _is_replaceable(node, text)]


def showing(site: Site, cut: Split, choosing: Node, *, dropped: Sequence[str] = ()) -> Plan:
    """Return the plan in which `choosing` keeps the passages that the operator reads; then `dropped` go too."""
    node, field = row_node(site), free_field(site, f"{cut.split_key}_passages")
    collecting = Reduce(
        name=free_name(site.plan, f"{node.name}_collected"),
        reduce_key=(cut.id_key,),
        pass_through=True,
        aggregate=FrozenMap({field: FrozenMap({"collect": cut.chunk_key})}),
    )
    assert node.prompt is not None and node.schema is not None  # no_passages
    prompt = _joined(node.prompt, cut.split_key, field)
    prompt = with_note(prompt, "note_passages", by_words=isinstance(choosing, Filter))
    names = {cut.split_key: field}
    quoting: Map | Filter = replace(node, schema=naming_main_text(node.schema, field))
    own, later = divided_drops(node)
    changed: Map | Filter = replace(reading(quoting, names, prompt=prompt, quoted=names), drop_keys=own)
    added = [cut.chunk_key, cut.id_key, cut.number_key, field]
    tidy = without_fields(free_name(site.plan, f"{node.name}_tidy"), [*later, *added, *dropped])
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
    return {"split_key": one_of(texts(site)), "passage_tokens": a_number(SMALLEST_PASSAGE, LARGEST_PASSAGE)}
