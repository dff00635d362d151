"""Reasons for which a directive does not fit an operator, in words; an empty text is no reason."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import MISSING, fields

from engine.directives.base import Site
from engine.directives.fields import fields_before, type_of_field
from engine.directives.neighbours import next_of
from engine.errors import PipelineError
from engine.language.schema import Quote, Scalar, Text
from engine.language.template_text import rename_fields
from engine.language.templates import Template
from engine.operators.compute import Compute
from engine.operators.filter import Filter
from engine.operators.gather import Gather
from engine.operators.map import Map
from engine.operators.row_prompts import RowPromptNode
from engine.plan.node import Node
from engine.plan.plan import Plan

SHORTEST = 800
"""Tokens of a text from which on parts of it are read in its place."""

NOT_DIVISIBLE: Mapping[str, str] = {
    "batch_prompt": "asks about several rows at once",
    "calibrate": "compares rows of its own choice",
    "samples": "makes several rows of one",
    "limit": "counts rows as they are",
    "probabilities": "is about one answer",
    "correct_lean": "is about one answer",
    "cite": "names the lines of one answer",
    "save_retriever_output": "keeps what one question was shown",
}
"""Keys that mean something else where one question becomes several, and why."""

ABOUT_THE_ANSWER: Mapping[str, str] = {"validate": "is about the whole answer, which no part need fulfil"}


def has_key(node: Node, keys: Mapping[str, str]) -> str:
    """Say which of some keys an operator sets, and why that matters."""
    for field in fields(node):
        default = field.default_factory() if field.default_factory is not MISSING else field.default
        if field.name in keys and getattr(node, field.name) != default:
            written = field.metadata.get("yaml", field.name)
            return f"{node.name} has {written}, which {keys[field.name]}"
    return ""


def unreadable_prompt(node: RowPromptNode) -> str:
    """Say why the prompt of a row cannot be rewritten."""
    if node.prompt is None or node.schema is None:
        return f"{node.name} asks no model"
    if node.reads_unknown_fields or node.prompt.reads_unknown:
        return f"the prompt of {node.name} shows whole rows, not fields by name"
    return ""


def undividable(node: RowPromptNode, more: Mapping[str, str] | None = None) -> str:
    """Say why one question cannot become several: its prompt, a key, or one of `more` keys, with why it matters."""
    return unreadable_prompt(node) or has_key(node, {**NOT_DIVISIBLE, **ABOUT_THE_ANSWER, **(more or {})})


def long_texts(site: Site) -> tuple[str, ...]:
    """Return the fields with text that the prompt shows as they are, the longest first where it is known."""
    node = site.operator
    assert isinstance(node, RowPromptNode)
    shown = [path[1] for path in node.prompt.shows if len(path) == 2 and path[0] == "input"] if node.prompt else []
    texts = [name for name in dict.fromkeys(shown) if _may_be_text(site, name)]
    return tuple(sorted(texts, key=lambda name: -site.facts.field_tokens.get(name, 0)))


def cuttable_texts(site: Site) -> list[str]:
    """Return the texts of which parts may be shown: not short, texts in all rows seen, without chunks of that name."""
    facts, existing = site.facts, fields_before(site).names
    texts = [t for t in long_texts(site) if t not in facts.not_always_text and f"{t}_chunk" not in existing]
    return [text for text in texts if facts.field_tokens.get(text, SHORTEST) >= SHORTEST]


def can_rename(prompt: Template, field: str, variable: str) -> bool:
    """Say whether a prompt names a field of a variable in a way that can be rewritten."""
    try:
        rename_fields(prompt, {field: f"{field}_renamed"}, variable)
    except PipelineError:
        return False
    return True


def divided_drops(node: Map | Filter) -> tuple[tuple[str, ...], list[str]]:
    """Divide the fields that an operator drops: those that it answers itself, and those of the rows it is given."""
    answered = node.answered_fields
    own = tuple(key for key in node.drop_keys if key in answered)
    return own, [key for key in node.drop_keys if key not in answered]


def quoted_field(plan: Plan, shown: str) -> str:
    """Return the field to quote from where a text is shown: of a chunk among its neighbours, the chunk itself."""
    chunks = {node.rendered_key: node.content_key for node in plan.operators if isinstance(node, Gather)}
    return chunks.get(shown, shown)


def _may_be_text(site: Site, name: str) -> bool:
    kind = type_of_field(site, name)
    return kind is None or isinstance(kind, Text | Quote) or kind == Scalar("string")


def computed_next(site: Site, names: Collection[str]) -> str:
    """Say that the operator behind computes one of some fields anew."""
    following = next_of(site)
    if isinstance(following, Compute) and not following.fields.keys().isdisjoint(names):
        return f"{following.name} computes the lists of {site.operator.name} already"
    return ""


def row_node(site: Site) -> Map | Filter:
    """Return the map or filter that is rewritten."""
    node = site.operator
    if not isinstance(node, Map | Filter):
        raise TypeError(f"{node.name} is {node.kind}, neither map nor filter")
    return node
