"""How many tokens fields take: those that a model will write are judged by their type."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping

from engine.estimate.sources import Source
from engine.language.binding import templates_of
from engine.language.layout import DOCUMENT_CHARACTERS, Layout, in_reading_order
from engine.language.schema import Enum, ListOf, Nullable, Quote, Record, Scalar, Type, Value
from engine.language.templates import Template
from engine.operators.answer.node import Answer
from engine.operators.extract import Extract
from engine.operators.rank import Rank
from engine.operators.split import Split
from engine.operators.topk import TopK
from engine.operators.unnest import Unnest
from engine.plan.node import Node

SYSTEM_TOKENS = 60
"""The system message, the answer format and the chat template, about."""

LIST_ITEMS = 3
"""Items of a list that a model writes, about."""

_TOKENS = {"string": 15.0, "integer": 2.0, "float": 4.0, "boolean": 1.0, "date": 6.0}
_OTHER_TOKENS: Mapping[type, float] = {Quote: 30.0, Enum: 3.0}
_UNKNOWN_TOKENS = 15.0
_NAME_TOKENS = 4.0
"""A field's name with its quotation marks and colon; the schema forces them."""

_NOT_LITERAL = re.compile(r"\{\{.*?(?:\}\}|\Z)|\{%.*?(?:%\}|\Z)|\{#.*?(?:#\}|\Z)", re.DOTALL)
_LEADING = re.compile(r"([^{]*)\{\{\s*input\.(\w+)\s*\}\}")

Sizes = Mapping[str, float]
"""Field -> tokens in an average row."""


def source_sizes(source: Source, characters_per_token: float) -> dict[str, float]:
    """Average the fields of a dataset's rows."""
    names = {name for item in source.items for name in item.characters}
    count = max(1, len(source.items))
    return {
        name: sum(item.characters.get(name, 0) for item in source.items) / count / characters_per_token
        for name in names
    }


def written_sizes(node: Node, sizes: Sizes) -> dict[str, float]:
    """Judge the fields that an operator writes: by its schema, else no longer than what it reads."""
    traits = node.traits()
    written = {f.name: _type_tokens(f.type) for f in node.schema.fields} if node.schema else {}
    longest = max((sizes.get(name, 0.0) for name in traits.reads), default=_UNKNOWN_TOKENS)
    others = {name: min(longest, _chunk_tokens(node)) if traits.reads else _UNKNOWN_TOKENS for name in traits.writes}
    if isinstance(node, Unnest):
        others = {name: sizes.get(node.unnest_key, _UNKNOWN_TOKENS) / LIST_ITEMS for name in traits.writes}
    return {**others, **{name: tokens for name, tokens in written.items() if name in traits.writes}}


def _chunk_tokens(node: Node) -> float:
    return float(node.num_tokens) if isinstance(node, Split) and node.num_tokens else math.inf


def reply_tokens(node: Node) -> float:
    """Return how many tokens of a reply the model chooses, about; the schema forces the others."""
    return sum(_type_tokens(f.type) for f in node.schema.fields) if node.schema else _UNKNOWN_TOKENS


def _type_tokens(kind: Type) -> float:
    match kind:
        case Scalar(name=name):
            return _TOKENS.get(name, _UNKNOWN_TOKENS)
        case Value(value_type=value_type):
            return value_type.tokens
        case Nullable(inner=inner):
            return _type_tokens(inner)
        case ListOf(item=item):
            return LIST_ITEMS * _type_tokens(item)
        case Record(fields=fields):
            return sum(_type_tokens(f.type) + _NAME_TOKENS for f in fields)
    return _OTHER_TOKENS.get(type(kind), _UNKNOWN_TOKENS)


def main_prompts(node: Node) -> list[Template]:
    """Return the prompts that every row (or group, or pair) is asked with: `prompt`, or each of `prompts`."""
    templates = list(templates_of(node))
    main = [template for path, template in templates if path[-1] in ("prompt", "comparison_prompt", "question")]
    return main or [template for _, template in templates[:1]]


def prompt_tokens(template: Template, sizes: Sizes, characters_per_token: float) -> float:
    """Judge one rendered prompt about one row."""
    return SYSTEM_TOKENS + literal_characters(template) / characters_per_token + read_tokens(template, sizes)


def shown_tokens(node: Node, sizes: Sizes) -> float:
    """Judge what an operator shows of a row beside its prompts: of `answer` at most so many tokens of passages."""
    match node:
        case Answer():
            text = sizes.get(node.text_key, _UNKNOWN_TOKENS)
            return text if node.retrieval == "whole" else min(float(node.passage_tokens), text)
        case Extract():
            keys: Iterable[str] = node.document_keys
        case Rank():
            keys = node.input_keys or sizes
        case TopK():
            keys = node.keys
        case _:
            return 0.0
    return sum(sizes.get(key, _UNKNOWN_TOKENS) for key in keys)


def read_tokens(template: Template, sizes: Sizes) -> float:
    """Sum the fields that a prompt puts in, of one row."""
    if template.reads_unknown:
        return sum(sizes.values())
    variables = template.variables or frozenset()
    names = {name for variable in variables for name in template.mentions(variable)}
    return sum(sizes.get(name, _UNKNOWN_TOKENS) for name in names)


def leading_fields(template: Template, layout: Layout, sizes: Sizes, characters_per_token: float) -> tuple[str, ...]:
    """Return the text a prompt begins with, then the fields of the row behind it; nothing where it begins otherwise.

    Prompts that begin alike about the same values share their reading (the model's prefix cache).
    """
    match = _LEADING.match(template.text)
    written: tuple[str, ...] = (match[1], match[2]) if match else ()
    if layout == "as_written":
        return written
    shown: list[tuple[str, ...]] = [path for path in template.shows if len(path) == 2 and path[0] == "input"]
    lengths = {path: round(sizes.get(path[1], _UNKNOWN_TOKENS) * characters_per_token) for path in shown}
    documents = {path: length for path, length in lengths.items() if length >= DOCUMENT_CHARACTERS}
    return ("", *(path[1] for path in in_reading_order(documents))) if documents else written


def literal_characters(template: Template) -> int:
    """Count the characters of a prompt outside its expressions and statements."""
    return len(_NOT_LITERAL.sub("", template.text))
