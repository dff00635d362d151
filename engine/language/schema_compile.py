"""From the type tree to JSON Schema, which the token mask and the check of a reply go by, and back to values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

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
    is_integer,
)
from engine.values.base import closed_object
from engine.values.cells import is_typed
from models.fits import find_misfit

QuoteSource = Callable[[Quote], Sequence[str]]
"""Give the sentences a quote may copy for this row."""

JSON_NAMES = {"string": "string", "integer": "integer", "float": "number", "boolean": "boolean"}

_YEAR = "(000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})"
_LEAP_YEAR = (
    "([0-9]{2}(0[48]|[2468][048]|[13579][26])|(0[48]|[2468][048]|[13579][26])00)"  # 4 divides it, and 400 a century
)
_DAY = (
    f"({_YEAR}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))"
    f"|{_LEAP_YEAR}-02-29)"
)
_TIME = "([01][0-9]|2[0-3]):[0-5][0-9]"
DATE_PATTERN = f"^{_DAY}$"
DATETIME_PATTERN = f"^{_DAY}T{_TIME}(:[0-5][0-9])?(Z|[+-]{_TIME})?$"


def compile_type(kind: Type, quotes: QuoteSource) -> dict[str, Any] | None:
    """Compile a type; None means that no value can fit it, for want of text to quote."""
    match kind:
        case Quote():
            passages = [p for p in dict.fromkeys(quotes(kind)) if p]
            return {"type": "string", "enum": passages} if passages else None
        case ListOf() | DictOf() | Record():
            return _compile_container(kind, quotes)
        case Nullable(inner=kept, word=word):
            inner = compile_type(kept, quotes)
            null = {"type": "null"} if word is None else {"type": "string", "enum": [word]}
            return {"anyOf": [inner, null]} if inner else null
        case Either(options=options):
            compiled = [c for option in options if (c := compile_type(option, quotes))]
            return {"anyOf": compiled} if compiled else None
        case _:
            return compile_leaf(kind)


def compile_leaf(kind: Scalar | Text | Number | Enum | Value) -> dict[str, Any]:
    """Compile a type that holds no other and quotes nothing."""
    match kind:
        case Value(value_type=value_type):
            return value_type.model_schema()
        case Scalar(name="date" | "datetime" as name):
            return {"type": "string", "pattern": DATE_PATTERN if name == "date" else DATETIME_PATTERN}
        case Scalar(name=name):
            return {"type": JSON_NAMES[name]}
        case Enum(values=values, kind=name):
            return {"type": JSON_NAMES[name], "enum": list(values)}
        case Text(pattern=pattern, least=least, most=most):
            schema: dict[str, Any] = {"type": "string"}
            schema |= {} if pattern is None else {"pattern": f"^(?:{pattern})$"}
            schema |= {"minLength": least} if least else {}
            return schema | ({} if most is None else {"maxLength": most})
        case Number(name=name, least=least, most=most, above=above, below=below):
            low = {} if least is None else {"exclusiveMinimum" if above else "minimum": least}
            high = {} if most is None else {"exclusiveMaximum" if below else "maximum": most}
            return {"type": JSON_NAMES[name], **low, **high}


def _compile_container(kind: ListOf | DictOf | Record, quotes: QuoteSource) -> dict[str, Any] | None:
    match kind:
        case Record(fields=fields):
            return _compile_record(fields, quotes)
        case DictOf(value=value):
            return {"type": "object", "additionalProperties": compile_type(value, quotes) or False}
        case ListOf(item=item, least=least, most=most):
            inner = compile_type(item, quotes)
            if inner is None:
                return None if least else {"type": "array", "maxItems": 0}
            low = {"minItems": least} if least else {}
            high = {} if most is None else {"maxItems": most}
            return {"type": "array", "items": inner, **low, **high}


def _compile_record(fields: tuple[Field, ...], quotes: QuoteSource) -> dict[str, Any] | None:
    properties: dict[str, Any] = {}
    for field in fields:
        compiled = compile_type(field.type, quotes)
        if compiled is None:
            return None
        properties[field.name] = compiled
    return closed_object(properties)


def read_value(kind: Type, value: Any) -> Any:
    """Turn what the model wrote into the value it stands for: null for its word, a whole number for 1.0, 0 for -0.0.

    A typed value becomes the cell that its type reads; one that was read already stays as it is.
    """
    match kind:
        case Value(value_type=value_type):
            return value if value is None or is_typed(value) else value_type.cell(value)
        case Nullable(inner=inner, word=word):
            return None if value == word or _says_null(inner, value) else read_value(inner, value)
        case Either():
            return read_value(alternative(kind, value), value)
        case ListOf() | DictOf() | Record():
            return _read_container(kind, value)
    if not isinstance(value, float):
        return value
    return int(value) if value.is_integer() and is_integer(kind) else value or 0.0


def alternative(kind: Either, value: Any) -> Type:
    """Return the option that a value is of, as the model wrote it or as it was read; the first if it is of none."""
    return next((option for option in kind.options if _may_be(option, value)), kind.options[0])


def _says_null(kind: Type, value: Any) -> bool:
    """Say whether a text means null: small models write null in quotation marks where a string may stand, too."""
    may_be_text = isinstance(kind, Quote) or (isinstance(kind, Enum) and "null" in kind.values)
    return bool(value == "null") and not may_be_text


def _read_container(kind: ListOf | DictOf | Record, value: Any) -> Any:
    match kind, value:
        case ListOf(item=item), list():
            return [read_value(item, v) for v in value]
        case DictOf(value=inner), Mapping():
            return {name: read_value(inner, v) for name, v in value.items()}
        case Record(fields=fields), Mapping():
            types = {f.name: f.type for f in fields}
            return {name: read_value(types[name], v) for name, v in value.items()}
    return value


def _may_be(kind: Type, value: Any) -> bool:
    """Say whether an alternative is the one that a value of the whole type was written for; it may be read already."""
    match kind, value:
        case Nullable(inner=inner, word=word), _:
            fits = value is None or value == word or _may_be(inner, value)
        case Either(options=options), _:
            fits = any(_may_be(option, value) for option in options)
        case ListOf(item=item), list():
            fits = all(_may_be(item, v) for v in value)
        case DictOf(value=inner), Mapping():
            fits = all(_may_be(inner, v) for v in value.values())
        case Record(fields=fields), Mapping():
            types = {f.name: f.type for f in fields}
            fits = set(value) == set(types) and all(_may_be(types[name], v) for name, v in value.items())
        case Quote(), _:
            fits = isinstance(value, str)
        case Value(), Mapping() if is_typed(value):
            fits = True
        case (Scalar() | Text() | Number() | Enum() | Value()) as leaf, _:
            fits = find_misfit(value, compile_leaf(leaf)) is None
        case _:
            fits = False
    return fits
