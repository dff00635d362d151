"""The schema language of `output.schema`: from YAML to a type tree, JSON Schema, and words for the prompt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from engine.errors import ItemError
from engine.language.position import Where
from engine.language.schema_compile import QuoteSource, compile_type, read_value
from engine.language.schema_json import is_json_schema, is_object_schema, read_json_schema
from engine.language.schema_limits import MAX_DEPTH, is_unicode, require_name
from engine.language.schema_text import parse_type
from engine.language.schema_types import (
    VALID_TYPES,
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
    quotes_in,
    values_in,
    write_word,
)
from engine.language.schema_words import describe
from engine.values.base import ValueType

__all__ = [
    "DictOf",
    "Either",
    "Enum",
    "Field",
    "ListOf",
    "Nullable",
    "Number",
    "Quote",
    "QuoteSource",
    "Record",
    "Scalar",
    "Schema",
    "Text",
    "Type",
    "Value",
]

_LONG_FORM = {"type", "description"}


@runtime_checkable
class PydanticModel(Protocol):
    """What a Pydantic model class can do, so that pydantic need not be imported."""

    def model_json_schema(self) -> dict[str, Any]:
        """Return the model's JSON Schema."""


@dataclass(frozen=True, slots=True)
class Schema:
    """The object a model must reply with: its fields, in the order they are generated."""

    fields: tuple[Field, ...]

    @classmethod
    def of(cls, source: Schema | Mapping[str, Any] | PydanticModel) -> Schema:
        """Take a schema, a mapping as in `parse`, or a Pydantic model class; raises PipelineError."""
        if isinstance(source, Schema):
            return source
        if isinstance(source, PydanticModel):
            return cls.parse(source.model_json_schema())
        return cls.parse(source)

    @classmethod
    def parse(cls, mapping: Any, *, where: Where | None = None) -> Schema:
        """Read `{name: type, ...}`, or the JSON Schema of an object.

        A type is text, `{type, description}`, `[T]`, a nested mapping or JSON Schema. Raises PipelineError with the
        position in the type text. A mapping whose only keys are `type` and `description` is the long form; an object
        with just these fields is written as text, "{type: string}".
        """
        where = where or Where()
        if not isinstance(mapping, Mapping) or not mapping:
            raise where.error(
                f"a schema is a mapping of field names to types, not {_shown(mapping)}",
                advice=f"For example: name: string. Valid types: {', '.join(VALID_TYPES)}.",
            )
        if not is_object_schema(mapping):
            return cls(_fields(mapping, where, 0))
        kind = read_json_schema(mapping, where, [])
        if not isinstance(kind, Record):
            raise where.error(f"a reply is an object with named fields, not {kind.text()}")
        return cls(kind.fields)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the field names in written order."""
        return tuple(f.name for f in self.fields)

    @property
    def has_quotes(self) -> bool:
        """Say whether any part of the reply is copied from the input."""
        return bool(self.quote_fields())

    @property
    def value_types(self) -> tuple[ValueType, ...]:
        """Return the value types that the fields have, each once, those inside types of the user's too."""
        return tuple(dict.fromkeys(values_in(Record(self.fields))))

    def quote_fields(self) -> frozenset[str | None]:
        """Return the input fields that quotes depend on; None is the operator's main text."""
        quotes = list(quotes_in(Record(self.fields)))
        return frozenset(q.source for q in quotes) | frozenset(q.about for q in quotes if q.about is not None)

    def json_schema(self, quotes: QuoteSource) -> dict[str, Any]:
        """Build the JSON Schema for one row: all fields required, in order, nothing else allowed.

        A quote becomes an enum of `quotes(quote)` without repeats. Where there is nothing to copy, a
        nullable quote is null and a list that would need one is empty; anything else is an ItemError.
        """
        compiled = compile_type(Record(self.fields), quotes)
        if compiled is None:
            raise ItemError(
                f"there is no text to quote from in {self._empty_sources(quotes)}",
                advice="Filter out rows without text first, or write `quote?` so that the quote may be null.",
            )
        return compiled

    def read(self, reply: Mapping[str, Any]) -> dict[str, Any]:
        """Turn a reply that fits into values: null where the word for it stands (`string or Nothing`)."""
        value: dict[str, Any] = read_value(Record(self.fields), reply)
        return value

    @property
    def is_one_boolean(self) -> bool:
        """Say whether the answer is yes or no and nothing else."""
        return [f.type for f in self.fields] == [Scalar("boolean")]

    def describe(self) -> str:
        """Describe the reply in words a model follows, on one line."""
        return describe(Record(self.fields))

    def to_yaml(self) -> dict[str, Any]:
        """Return the mapping that `parse` reads back as this schema."""
        return {f.name: _field_to_yaml(f) for f in self.fields}

    def _empty_sources(self, quotes: QuoteSource) -> str:
        quoted = quotes_in(Record(self.fields))
        empty = sorted({q.source or "the main text" for q in quoted if not any(quotes(q))})
        return ", ".join(empty)


def _fields(mapping: Mapping[Any, Any], where: Where, depth: int) -> tuple[Field, ...]:
    return tuple(_field(name, value, where.at(name), depth) for name, value in mapping.items())


def _field(name: Any, value: Any, where: Where, depth: int) -> Field:
    require_name(name, where)
    notes: list[str] = []
    kind = _type(value, where, depth, notes)
    return Field(name, kind, " ".join(notes))


def _is_long_form(value: Any) -> bool:
    return isinstance(value, Mapping) and "type" in value and set(value) <= _LONG_FORM


def _type(value: Any, where: Where, depth: int, notes: list[str]) -> Type:
    """Read a type; `notes` receives the descriptions that belong to the field it stands in."""
    if depth >= MAX_DEPTH:
        raise where.error(f"the schema is nested more than {MAX_DEPTH} deep")
    match value:
        case str():
            return parse_type(value, where, depth=depth)
        case Mapping() if is_json_schema(value):
            return read_json_schema(value, where, notes, depth=depth + 1)
        case Mapping() if _is_long_form(value):
            _note(value.get("description") or "", where.at("description"), notes)
            return _type(value["type"], where.at("type"), depth + isinstance(value["type"], Mapping), notes)
        case Mapping() if value:
            return Record(_fields(value, where, depth + 1))
        case [item]:
            return ListOf(_type(item, where.at(0), depth + 1, notes))
    raise where.error(
        f"a type cannot be {_shown(value)}",
        advice=f"A list has one item, the type it holds: [string]. Valid types: {', '.join(VALID_TYPES)}.",
    )


def _note(description: Any, where: Where, notes: list[str]) -> None:
    if not isinstance(description, str):
        raise where.error(f"a description is text, not {_shown(description)}")
    if not is_unicode(description):
        raise where.error("the description holds half of a surrogate pair, which is no character")
    if description:
        notes.append(description)


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
        case type():
            return f"the class {value.__name__}"
    return f"{type(value).__name__} {value!r}"
