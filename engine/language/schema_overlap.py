"""Tell whether alternatives exclude each other, as `oneOf` of JSON Schema demands."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from engine.language.schema_types import DictOf, Enum, ListOf, Nullable, Number, Record, Scalar, Type


def overlap(kinds: Sequence[Type]) -> tuple[Type, Type] | None:
    """Find two types of which a value could be both; None when there are surely none."""
    return next((pair for pair in combinations(kinds, 2) if not _exclude(*pair)), None)


def _exclude(one: Type, other: Type) -> bool:
    match one, other:
        case Nullable(), Nullable():
            return False
        case (Nullable(inner=inner), kind) | (kind, Nullable(inner=inner)):
            return _exclude(inner, kind)
        case Enum(), Enum() if _shape(one) == _shape(other):
            return not set(one.values) & set(other.values)
        case Record(fields=ours), Record(fields=theirs):
            types = {f.name: f.type for f in theirs}
            return set(types) != {f.name for f in ours} or any(_exclude(f.type, types[f.name]) for f in ours)
    return _shape(one) != _shape(other)


def _shape(kind: Type) -> str:
    match kind:
        case Record() | DictOf():
            return "object"
        case ListOf():
            return "array"
        case Number() | Scalar(name="integer" | "float") | Enum(kind="integer" | "float"):
            return "number"
        case Scalar(name="boolean") | Enum(kind="boolean"):
            return "boolean"
    return "string"
