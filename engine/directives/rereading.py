"""Let an operator read other fields than its author wrote, such as a chunk in place of the text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from engine.language.schema import DictOf, Either, ListOf, Nullable, Quote, Record, Schema, Type
from engine.language.template_text import rename_fields
from engine.language.templates import Template
from engine.operators.asking import Gleaning
from engine.operators.row_prompts import RowPromptNode

N = TypeVar("N", bound=RowPromptNode)


def reading(node: N, names: Mapping[str, str], *, prompt: Template, quoted: Mapping[str, str]) -> N:
    """Return the operator reading the fields `names` says in place of others, everywhere but in expressions.

    `prompt` is one that reads them already; quotes are copied from the fields that `quoted` says in place of others.
    Raises PipelineError where the judge's prompt cannot be rewritten.
    """
    return replace(
        node,
        prompt=prompt,
        schema=node.schema and quoting_from(node.schema, quoted),
        gleaning=_gleaning(node.gleaning, names),
        input=tuple(names.get(name, name) for name in node.input),
        examples=tuple(
            {key: _renamed(value, names, key) for key, value in example.items()} for example in node.examples
        ),
    )


def quoting_from(schema: Schema, names: Mapping[str, str]) -> Schema:
    """Let quotes be copied from other fields."""
    return Schema(tuple(replace(f, type=_quoting(f.type, names)) for f in schema.fields))


def _quoting(kind: Type, names: Mapping[str, str]) -> Type:
    def inner(part: Type) -> Type:
        return _quoting(part, names)

    changed: Type = kind
    match kind:
        case Quote():
            changed = replace(kind, source=names.get(str(kind.source), kind.source))
        case ListOf(item=item):
            changed = replace(kind, item=inner(item))
        case Nullable(inner=bare):
            changed = replace(kind, inner=inner(bare))
        case DictOf(value=value):
            changed = replace(kind, value=inner(value))
        case Either(options=options):
            changed = replace(kind, options=tuple(map(inner, options)))
        case Record(fields=fields):
            changed = replace(kind, fields=tuple(replace(f, type=inner(f.type)) for f in fields))
    return changed


def _gleaning(gleaning: Gleaning | None, names: Mapping[str, str]) -> Gleaning | None:
    if gleaning is None:
        return None
    return replace(gleaning, validation_prompt=rename_fields(gleaning.validation_prompt, names))


def _renamed(value: Any, names: Mapping[str, str], key: str) -> Any:
    if key == "output":
        return value
    return {names.get(name, name): item for name, item in value.items()}
