"""What the value of one item is made of: a typed leaf, a record of them, or a list; and the types there are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from engine.answers.contract import Shape
from engine.errors import UsageError
from engine.language.schema_types import Value
from engine.language.schema_words import describe
from engine.values.base import MARKS, ORIGINAL, Normalised, ValueType, closed_object
from engine.values.registry import named_type, names

MOST_CELLS = 12
"""Columns of a table whose columns nobody named."""

MOST_LISTED = 30
DEEPEST = 6


_TABLE = "table"
"""The type of engine.values that an answer has as a shape."""


def answer_types() -> tuple[str, ...]:
    """Return the names of the types that one value of an answer can have."""
    return tuple(name for name in names() if name != _TABLE)


def answer_type(written: str) -> ValueType:
    """Find the type of a value: `date`, `amount(currency=USD)`; raises ValueError for what there is not."""
    try:
        return require_value(named_type(written))
    except UsageError as error:
        raise ValueError(f"{error}. {error.advice}") from error


def require_value(kind: ValueType) -> ValueType:
    """Return a type that one value can have; raises ValueError for a table."""
    if kind.name == _TABLE:
        raise ValueError("a table is a shape of an answer and no type: write shape: table")
    return kind


@dataclass(frozen=True, slots=True)
class Leaf:
    """One typed value. In a record it may be null: not every item states everything."""

    type: ValueType
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class RecordOf:
    """Named values."""

    fields: tuple[tuple[str, Spec], ...]


@dataclass(frozen=True, slots=True)
class ManyOf:
    """Values of one kind, in order."""

    item: Spec
    most: int = MOST_LISTED


Spec = Leaf | RecordOf | ManyOf

Judge = Callable[[ValueType, Any, Normalised], Any]
"""Takes the type, what was written and what was read of it; returns what is kept of a leaf (None: nothing)."""


def spec_of(kind: ValueType, shape: Shape, fields: Mapping[str, Any]) -> Spec:
    """Say what an item of this shape holds; raises ValueError for fields that do not fit it."""
    if shape == "nested" or (shape == "table" and fields):
        if not fields:
            raise ValueError("shape nested needs fields: the names and types of what is in it")
        return _record(fields, 1)
    if fields:
        raise ValueError(f"fields belong to the shapes table and nested, not to {shape}")
    if shape == "table":
        return ManyOf(Leaf(answer_type("text")), MOST_CELLS)
    return Leaf(kind)


def _record(fields: Mapping[str, Any], depth: int) -> RecordOf:
    if depth > DEEPEST:
        raise ValueError(f"fields are nested more than {DEEPEST} deep")
    return RecordOf(tuple((name, _spec(written, depth)) for name, written in fields.items()))


def _spec(written: Any, depth: int) -> Spec:
    match written:
        case str():
            return Leaf(answer_type(written), nullable=True)
        case Mapping() if written:
            return _record(written, depth + 1)
        case [item]:
            inner = _spec(item, depth + 1)
            return ManyOf(Leaf(inner.type) if isinstance(inner, Leaf) else inner)
    raise ValueError(f"a field is a type, a mapping of fields or a list of one of these, not {written!r}")


def schema_of_spec(spec: Spec) -> dict[str, Any]:
    """Return the JSON Schema of what the model writes."""
    match spec:
        case Leaf(type=kind, nullable=nullable):
            schema = dict(kind.model_schema())
            return {"anyOf": [schema, {"type": "null"}]} if nullable else schema
        case RecordOf(fields=fields):
            return closed_object({name: schema_of_spec(inner) for name, inner in fields})
        case ManyOf(item=item, most=most):
            return {"type": "array", "items": schema_of_spec(item), "maxItems": most}


def describe_spec(spec: Spec) -> str:
    """Describe what the model writes, on one line."""
    match spec:
        case Leaf(type=kind, nullable=nullable):
            words = describe(Value(kind))
            return f"{words} or null" if nullable else words
        case RecordOf(fields=fields):
            return "{" + ", ".join(f'"{name}": {describe_spec(inner)}' for name, inner in fields) + "}"
        case ManyOf(item=item):
            return f"[{describe_spec(item)}, ...]"


def read_spec(spec: Spec, written: Any, keep: Judge) -> Any:
    """Read what a model wrote, leaf by leaf; `keep` says what stays of each."""
    match spec:
        case Leaf(type=kind):
            return None if written is None else keep(kind, written, kind.read(written))
        case RecordOf(fields=fields):
            return {name: read_spec(inner, written[name], keep) for name, inner in fields}
        case ManyOf(item=item):
            return [read_spec(item, entry, keep) for entry in written]


def has_content(value: Any) -> bool:
    """Say whether anything is left of a value."""
    match value:
        case Mapping():
            return any(has_content(inner) for inner in value.values())
        case list():
            return any(has_content(inner) for inner in value)
        case str():
            return bool(value.strip())
    return value is not None


def identity_of(value: Any) -> str:
    """Make a key under which values that say the same are equal: case, spaces and the words as written aside."""
    return "\x1f".join(_marks(value))


def _marks(value: Any) -> Iterator[str]:
    match value:
        case Mapping():
            names = [name for name in sorted(value) if name not in MARKS and value[name] is not None]
            for name in names or [name for name in (ORIGINAL,) if name in value]:
                yield from (f"{name}={mark}" for mark in _marks(value[name]))
        case list():
            for inner in value:
                yield from _marks(inner)
        case str():
            yield " ".join("".join(c if c.isalnum() else " " for c in value.casefold()).split())
        case _:
            yield repr(value)
