"""The types that one value of an answer may have: those of engine.values, but tables, which are a shape."""

from __future__ import annotations

from engine.errors import UsageError
from engine.language.schema_types import Value
from engine.language.schema_words import describe
from engine.values.base import ValueType
from engine.values.registry import named_type, names

TABLE = "table"


def answer_types() -> tuple[str, ...]:
    """Return the names of the types that one value of an answer can have."""
    return tuple(name for name in names() if name != TABLE)


def answer_type(written: str) -> ValueType:
    """Find the type of a value: `date`, `amount(currency=USD)`; raises ValueError for what there is not."""
    try:
        return require_value(named_type(written))
    except UsageError as error:
        raise ValueError(f"{error}. {error.advice}") from error


def require_value(kind: ValueType) -> ValueType:
    """Return a type that one value can have; raises ValueError for a table."""
    if kind.name == TABLE:
        raise ValueError("a table is a shape of an answer and no type: write shape: table")
    return kind


def words_of(kind: ValueType) -> str:
    """Describe to a model what it writes for a type."""
    return describe(Value(kind))
