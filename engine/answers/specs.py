"""What the value of one item is made of, the types there are, and when two values contradict each other."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from engine.answers.contract import Shape
from engine.errors import UsageError
from engine.language.schema_types import Field, ListOf, Nullable, Record, Type, Value
from engine.text.normalise import plain, words
from engine.values.base import MARKS, ORIGINAL, Normalised, ValueType
from engine.values.cells import is_typed
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


Judge = Callable[[ValueType, Any, Normalised], Any]
"""Takes the type, what was written and what was read of it; returns what is kept of a leaf (None: nothing)."""


def spec_of(kind: ValueType, shape: Shape, fields: Mapping[str, Any]) -> Type:
    """Say what an item of this shape holds; raises ValueError for fields that do not fit it."""
    if shape == "nested" or (shape == "table" and fields):
        if not fields:
            raise ValueError("shape nested needs fields: the names and types of what is in it")
        return _record(fields, 1)
    if fields:
        raise ValueError(f"fields belong to the shapes table and nested, not to {shape}")
    if shape == "table":
        return ListOf(Value(answer_type("text")), MOST_CELLS)
    return Value(kind)


def _record(fields: Mapping[str, Any], depth: int) -> Record:
    if depth > DEEPEST:
        raise ValueError(f"fields are nested more than {DEEPEST} deep")
    return Record(tuple(Field(name, _spec(written, depth)) for name, written in fields.items()))


def _spec(written: Any, depth: int) -> Type:
    """Read what a field holds; a value in a record may be null, for not every item states everything."""
    match written:
        case str():
            return Nullable(Value(answer_type(written)))
        case Mapping() if written:
            return _record(written, depth + 1)
        case [item]:
            inner = _spec(item, depth + 1)
            return ListOf(inner.inner if isinstance(inner, Nullable) else inner, MOST_LISTED)
    raise ValueError(f"a field is a type, a mapping of fields or a list of one of these, not {written!r}")


def unbounded(spec: Type) -> Type:
    """Return what the model is told: how many entries a list may have goes without saying."""
    match spec:
        case ListOf(item=item):
            return ListOf(unbounded(item))
        case Record(fields=fields):
            return Record(tuple(Field(each.name, unbounded(each.type)) for each in fields))
    return spec


def read_spec(spec: Type, written: Any, keep: Judge) -> Any:
    """Read what a model wrote, value by value; `keep` says what stays of each."""
    match spec:
        case Nullable(inner=inner):
            return None if written is None else read_spec(inner, written, keep)
        case Value(value_type=kind):
            return keep(kind, written, kind.read(written))
        case Record(fields=fields):
            return {each.name: read_spec(each.type, written[each.name], keep) for each in fields}
        case ListOf(item=item):
            return [read_spec(item, entry, keep) for entry in written]
    raise TypeError(f"no item of an answer is of type {spec.text()}")


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
            yield _told_alike(value)
        case _:
            yield repr(value)


_SIGN = re.compile(r"(?<=\w)-(?!\w)|(?<!\w)-(?=\d)")
"""A hyphen that changes what is said, as in a rating (AA-) or before a number."""


def _told_alike(text: str) -> str:
    """Write texts that say the same alike: their words, and the signs by which C, C++ and C#, $5 and 5 % differ."""
    plain_text = _SIGN.sub("\N{MINUS SIGN}", plain(text).casefold())
    written = (_spaced(character, unicodedata.category(character)) for character in plain_text)
    return " ".join("".join(written).split()) or plain_text


def _spaced(character: str, category: str) -> str:
    if category[0] in "LMN":  # M: vowels of Hindi or Thai
        return character
    return f" {character} " if category in ("Sc", "Sm") or character in "%#" else " "


UNIT = "unit"
"""The part of a sum that says what it is for each of."""

_FILLERS = frozenset({"per", "a", "an", "each", "every", "pro", "je", "for", "the"})
_PERIODS: Mapping[str, str] = {
    **{"monthly": "month", "weekly": "week", "daily": "day", "hourly": "hour", "quarterly": "quarter"},
    **{"yearly": "year", "annually": "year", "annum": "year"},
}


def contradict(one: Any, other: Any) -> bool:
    """Say whether both values cannot be the answer to a question that has one.

    Typed values contradict each other in a part that both have: a sum without its currency is no other than the same
    sum with it, a month no other than a day in it. Other values do where neither's words are in the other's.

    >>> contradict("Acme", "Acme Corporation")
    False
    """
    if is_typed(one) and is_typed(other):
        mine, others = _parts(one), _parts(other)
        if mine and others:
            shared = mine.keys() & others.keys()
            return any(_differ(mine[name], others[name]) for name in shared - {UNIT}) or not same_unit(one, other)
    return _differ(one, other)


def same_unit(one: Any, other: Any) -> bool:
    """Say whether two sums may be for the same thing: a rent a month and one a year are two things."""
    mine, others = (_unit_words(value) for value in (one, other))
    return not mine or not others or mine <= others or others <= mine


def _unit_words(value: Any) -> set[str]:
    unit = value.get(UNIT) if isinstance(value, Mapping) else None
    return {_PERIODS.get(word, word) for word in words(plain(unit or ""))} - _FILLERS


def _parts(value: Mapping[str, Any]) -> dict[str, Any]:
    return {name: part for name, part in value.items() if name not in MARKS and part not in (None, "", [])}


def _differ(one: Any, other: Any) -> bool:
    """Say whether neither is the other or a part of it, by their words: 'Acme' is a part of 'Acme Corporation'."""
    mine, others = identity_of(one), identity_of(other)
    return f" {mine} " not in f" {others} " and f" {others} " not in f" {mine} "
