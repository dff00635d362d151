"""Fields that say how likely a choice is: `output.probabilities: {p_guilty: guilty}` beside the schema's own fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.language.schema import Enum, Nullable, Scalar, Schema, Type
from engine.plan.node import Node
from models.protocol import Reply, pointer_to


def check_probabilities(node: Node, wanted: Mapping[str, str], schema: Schema | None) -> None:
    """Refuse, for `__post_init__`, a probability of a field that is no choice between two."""
    types = {f.name: f.type for f in schema.fields} if schema else {}
    for name, field in wanted.items():
        node.require(
            field in types,
            f"output.probabilities.{name} is about {field!r}, which is no field of output.schema",
            f"The fields there are: {', '.join(types) or 'none'}.",
        )
        node.require(name not in types, f"output.probabilities.{name} has the name of a field of output.schema")
        node.require(
            _has_two_sides(types[field]),
            f"output.probabilities.{name}: {field!r} is {types[field].text()}, no choice between two",
            "It can be a boolean, an enum of two values, or a value that may be missing: string?, string or Nothing.",
        )


def _has_two_sides(kind: Type) -> bool:
    match kind:
        case Nullable(inner=Enum() | Scalar(name="boolean")):
            return False
        case Nullable() | Scalar(name="boolean"):
            return True
        case Enum(values=values):
            return len(values) == 2
    return False


def probabilities_of(
    wanted: Mapping[str, str], schema: Schema, values: Mapping[str, Any], reply: Reply
) -> dict[str, float | None]:
    """Return each wanted probability, between 0 and 1: of true, of the enum's first value, of there being a value.

    None where the model does not say (a server without log-probabilities).
    """
    types = {f.name: f.type for f in schema.fields}
    return {
        name: _of(types[field], values[field], reply.probabilities.get(pointer_to(field)))
        for name, field in wanted.items()
    }


def _of(kind: Type, value: Any, chosen: float | None) -> float | None:
    if chosen is None:
        return None
    match kind:
        case Nullable():
            first = value is not None
        case Enum(values=values):
            first = value == values[0]
        case _:
            first = bool(value)
    return chosen if first else 1 - chosen
