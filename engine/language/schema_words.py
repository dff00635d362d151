"""Describe a reply in words that a small model follows, on one line."""

from __future__ import annotations

import json

from engine.language.schema_types import (
    DictOf,
    Either,
    Enum,
    Field,
    ListOf,
    Nullable,
    Number,
    Quote,
    Record,
    Scalar,
    Text,
    Type,
    Value,
    write_word,
)
from engine.language.templates import prompt_template
from engine.values.base import ORIGINAL, ValueType

_WORDS = {
    "string": "string",
    "integer": "integer",
    "float": "number",
    "boolean": "true or false",
    "date": 'date "YYYY-MM-DD"',
    "datetime": 'date and time "YYYY-MM-DDTHH:MM"',
}


def describe(kind: Type) -> str:
    """Describe a type."""
    match kind:
        case ListOf(item=item):
            return f"[{describe(item)}, ...]{_size(kind, 'items')}"
        case DictOf(value=value):
            return f'{{"<name>": {describe(value)}, ...}}'
        case Nullable(inner=inner, word=word):
            return f"{describe(inner)} or {_json(word)}"
        case Either(options=options):
            return " or ".join(map(describe, options))
        case Record(fields=fields):
            return "{" + ", ".join(map(_describe_field, fields)) + "}"
        case _:
            return _describe_leaf(kind)


def _describe_leaf(kind: Scalar | Text | Number | Enum | Quote | Value) -> str:
    match kind:
        case Value(value_type=value_type):
            return _describe_value(value_type)
        case Scalar(name=name):
            return _WORDS[name]
        case Text(pattern=pattern):
            shown = "" if pattern is None else " matching " + pattern.replace("\n", r"\n").replace("\r", r"\r")
            return f"string{shown}{_size(kind, 'characters')}"
        case Number(name=name):
            return f"{_WORDS[name]} {_range(kind)}"
        case Enum(values=values):
            return ("one of " if len(values) > 1 else "") + ", ".join(map(_json, values))
        case Quote(source=source):
            return "a sentence copied from " + ("the text" if source is None else write_word(source))


def _describe_value(kind: ValueType) -> str:
    record = getattr(kind, "record", None)
    if isinstance(record, Record):
        fields = ", ".join(_describe_field(f) for f in record.fields if f.name != ORIGINAL)
        return prompt_template("declared_type").render(fields=fields, note=kind.description).strip()
    return prompt_template("value_types").render(name=kind.name, parts=kind.part_names).strip()


def _describe_field(field: Field) -> str:
    note = f" ({' '.join(field.description.split())})" if field.description else ""
    return f"{_json(field.name)}: {describe(field.type)}{note}"


def _size(kind: Text | ListOf, what: str) -> str:
    if kind.most is None:
        return f" with at least {_count(kind.least, what)}" if kind.least else ""
    if kind.least == kind.most:
        return f" with {_count(kind.most, what)}"
    bound = f"{kind.least} to" if kind.least else "at most"
    return f" with {bound} {_count(kind.most, what)}"


def _count(number: int, what: str) -> str:
    return f"{number} {what.removesuffix('s') if number == 1 else what}"


def _range(kind: Number) -> str:
    if kind.least is not None and kind.most is not None and not (kind.above or kind.below):
        return f"from {kind.least} to {kind.most}"
    low = f"{'above' if kind.above else 'of at least'} {kind.least}" if kind.least is not None else ""
    high = f"{'below' if kind.below else 'of at most'} {kind.most}" if kind.most is not None else ""
    return " and ".join(filter(None, [low, high]))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
