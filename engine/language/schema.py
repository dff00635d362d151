"""The schema language of `output.schema`: from YAML to a type tree, JSON Schema, and words for the prompt."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.errors import ItemError
from engine.language.position import Where
from engine.language.schema_text import MAX_DEPTH, parse_type
from engine.language.schema_types import (
    VALID_TYPES,
    Enum,
    Field,
    ListOf,
    Nullable,
    Quote,
    Record,
    Scalar,
    Type,
    quotes_in,
    write_word,
)

__all__ = ["Enum", "Field", "ListOf", "Nullable", "Quote", "Record", "Scalar", "Schema", "Type"]

QuoteSource = Callable[[Quote], Sequence[str]]
"""Give the sentences a quote may copy for this row."""

DATE_PATTERN = (
    "^[0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|[12][0-9]))$"
)

_SCALARS: dict[str, dict[str, Any]] = {
    "string": {"type": "string"},
    "integer": {"type": "integer"},
    "float": {"type": "number"},
    "boolean": {"type": "boolean"},
    "date": {"type": "string", "pattern": DATE_PATTERN},
}
_WORDS = {
    "string": "string",
    "integer": "integer",
    "float": "number",
    "boolean": "true or false",
    "date": 'date "YYYY-MM-DD"',
}
_LONG_FORM = {"type", "description"}


@dataclass(frozen=True, slots=True)
class Schema:
    """The object a model must reply with: its fields, in the order they are generated."""

    fields: tuple[Field, ...]

    @classmethod
    def parse(cls, mapping: Any, *, where: Where | None = None) -> Schema:
        """Read `{name: type, ...}`; a type is text, `{type, description}`, `[T]` or a nested mapping.

        Raises PipelineError with the position in the type text. A mapping whose only keys are `type`
        and `description` is the long form; an object with just these fields is written as text, "{type: string}".
        """
        where = where or Where()
        if not isinstance(mapping, Mapping) or not mapping:
            raise where.error(
                f"a schema is a mapping of field names to types, not {_shown(mapping)}",
                advice=f"For example: name: string. Valid types: {', '.join(VALID_TYPES)}.",
            )
        return cls(_fields(mapping, where, 0))

    @property
    def names(self) -> tuple[str, ...]:
        """Return the field names in written order."""
        return tuple(f.name for f in self.fields)

    @property
    def has_quotes(self) -> bool:
        """Say whether any part of the reply is copied from the input."""
        return bool(self.quote_fields())

    def quote_fields(self) -> frozenset[str | None]:
        """Return the input fields that quotes depend on; None is the operator's main text."""
        quotes = list(quotes_in(Record(self.fields)))
        return frozenset(q.source for q in quotes) | frozenset(q.about for q in quotes if q.about is not None)

    def json_schema(self, quotes: QuoteSource) -> dict[str, Any]:
        """Build the JSON Schema for one row: all fields required, in order, nothing else allowed.

        A quote becomes an enum of `quotes(quote)` without repeats. Where there is nothing to copy, a
        nullable quote is null and a list that would need one is empty; anything else is an ItemError.
        """
        compiled = _compile(Record(self.fields), quotes)
        if compiled is None:
            raise ItemError(
                f"there is no text to quote from in {self._empty_sources(quotes)}",
                advice="Filter out rows without text first, or write `quote?` so that the quote may be null.",
            )
        return compiled

    def read(self, reply: Mapping[str, Any]) -> dict[str, Any]:
        """Turn a reply that fits into values: null where the word for it stands (`string or Nothing`)."""
        value: dict[str, Any] = _read(Record(self.fields), reply)
        return value

    def describe(self) -> str:
        """Describe the reply in words a model follows, on one line."""
        return _describe(Record(self.fields))

    def text(self) -> str:
        """Write the schema in its canonical form; `parse_type` of it gives these fields back."""
        return Record(self.fields).text()

    def to_yaml(self) -> dict[str, Any]:
        """Return the mapping that `parse` reads back as this schema."""
        return {f.name: _field_to_yaml(f) for f in self.fields}

    def _empty_sources(self, quotes: QuoteSource) -> str:
        found = quotes_in(Record(self.fields))
        empty = sorted({q.source or "the main text" for q in found if not any(quotes(q))})
        return ", ".join(empty)


def _fields(mapping: Mapping[Any, Any], where: Where, depth: int) -> tuple[Field, ...]:
    return tuple(_field(name, value, where.at(name), depth) for name, value in mapping.items())


def _field(name: Any, value: Any, where: Where, depth: int) -> Field:
    if not isinstance(name, str) or not name.strip():
        raise where.key_error(f"a field name must be text, not {_shown(name)}", advice="Put it in quotation marks.")
    if not _is_long_form(value):
        return Field(name, _type(value, where, depth), "")
    description = value.get("description") or ""
    if not isinstance(description, str):
        raise where.at("description").error(f"a description is text, not {_shown(description)}")
    return Field(name, _type(value["type"], where.at("type"), depth), description)


def _is_long_form(value: Any) -> bool:
    return isinstance(value, Mapping) and "type" in value and set(value) <= _LONG_FORM


def _type(value: Any, where: Where, depth: int) -> Type:
    if depth > MAX_DEPTH:
        raise where.error(f"the schema is nested more than {MAX_DEPTH} deep")
    match value:
        case str():
            return parse_type(value, where)
        case Mapping() if _is_long_form(value):
            return _type(value["type"], where.at("type"), depth + 1)
        case Mapping() if value:
            return Record(_fields(value, where, depth + 1))
        case [item]:
            return ListOf(_type(item, where.at(0), depth + 1))
    raise where.error(
        f"a type cannot be {_shown(value)}",
        advice=f"A list has one item, the type it holds: [string]. Valid types: {', '.join(VALID_TYPES)}.",
    )


def _compile(kind: Type, quotes: QuoteSource) -> dict[str, Any] | None:
    """Compile a type; None means that no value can fit it, for want of text to quote."""
    match kind:
        case Scalar(name=name):
            return dict(_SCALARS[name])
        case Enum(values=values):
            return {"type": "string", "enum": list(values)}
        case Quote():
            passages = [p for p in dict.fromkeys(quotes(kind)) if p]
            return {"type": "string", "enum": passages} if passages else None
        case ListOf(item=item, most=most):
            inner = _compile(item, quotes)
            bound = {} if most is None else {"maxItems": most}
            return {"type": "array", "items": inner, **bound} if inner else {"type": "array", "maxItems": 0}
        case Nullable(inner=kept, word=word):
            inner = _compile(kept, quotes)
            null = {"type": "null"} if word is None else {"type": "string", "enum": [word]}
            return {"anyOf": [inner, null]} if inner else null
        case Record(fields=fields):
            return _compile_record(fields, quotes)


def _compile_record(fields: tuple[Field, ...], quotes: QuoteSource) -> dict[str, Any] | None:
    properties: dict[str, Any] = {}
    for field in fields:
        compiled = _compile(field.type, quotes)
        if compiled is None:
            return None
        properties[field.name] = compiled
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _read(kind: Type, value: Any) -> Any:
    match kind, value:
        case Nullable(word=word), _ if value == word:
            return None
        case Nullable(inner=inner), _:
            return _read(inner, value)
        case ListOf(item=item), list():
            return [_read(item, v) for v in value]
        case Record(fields=fields), Mapping():
            types = {f.name: f.type for f in fields}
            return {name: _read(types[name], v) for name, v in value.items()}
    return value


def _describe(kind: Type) -> str:
    match kind:
        case Scalar(name=name):
            return _WORDS[name]
        case Enum(values=values):
            return "one of " + ", ".join(json.dumps(v, ensure_ascii=False) for v in values)
        case Quote(source=source):
            return "a sentence copied from " + ("the text" if source is None else source)
        case ListOf(item=item, most=most):
            return f"[{_describe(item)}, ...]" + (f" with at most {most} items" if most is not None else "")
        case Nullable(inner=inner, word=word):
            return f"{_describe(inner)} or {json.dumps(word, ensure_ascii=False)}"
        case Record(fields=fields):
            return "{" + ", ".join(map(_describe_field, fields)) + "}"


def _describe_field(field: Field) -> str:
    note = f" ({' '.join(field.description.split())})" if field.description else ""
    return f"{json.dumps(field.name, ensure_ascii=False)}: {_describe(field.type)}{note}"


def _field_to_yaml(field: Field) -> Any:
    text = field.type.text()
    return {"type": text, "description": field.description} if field.description else text


def _shown(value: Any) -> str:
    match value:
        case None:
            return "nothing"
        case str():
            return f"the text {write_word(value)!r}"
        case list():
            return f"a list of {len(value)}"
        case Mapping():
            return "an empty mapping"
    return f"{type(value).__name__} {value!r}"
