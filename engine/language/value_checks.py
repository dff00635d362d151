"""Find expressions that read a part which a typed value has not: `input.fee.amount`, where an amount has a `value`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from engine.language.binding import YamlPath, parts_of
from engine.language.expressions import Expression, rooted
from engine.language.position import did_you_mean
from engine.language.schema import Nullable, Schema, Value
from engine.plan.node import Node
from engine.values.base import MARKS, ValueType


def value_fields(schema: Schema | None) -> dict[str, ValueType]:
    """Map the fields of a schema that hold one typed value to its type."""
    found: dict[str, ValueType] = {}
    for field in schema.fields if schema else ():
        kind = field.type.inner if isinstance(field.type, Nullable) else field.type
        if isinstance(kind, Value) and kind.value_type.part_names:
            found[field.name] = kind.value_type
    return found


def unknown_parts(node: Node, values: Mapping[str, ValueType]) -> Iterator[tuple[YamlPath, str, str, tuple[int, int]]]:
    """Yield each part that an expression reads and its type has not: path, message, advice, and place in the text.

    `values` are the typed fields of the rows that the node is given; those of its own answer are added.
    """
    schema = getattr(node, "schema", None)
    own = value_fields(schema if isinstance(schema, Schema) else None)
    for path, expression in parts_of(node, Expression):
        for part in rooted(expression.tree.body):
            variable, *keys = _keys(part)
            kind = ({**values, **own} if variable == "output" else values).get(keys[0]) if len(keys) > 1 else None
            names = (*kind.part_names, *MARKS) if kind else ()
            if kind is not None and keys[1] not in names:
                message = f"reads {keys[1]!r} of {keys[0]!r}, which is of type {kind.text()} and has no such part"
                yield path, message, did_you_mean(keys[1], names), (part.lineno, part.col_offset + 1)


def _keys(part: ast.expr) -> list[str]:
    match part:
        case ast.Name(id=name):
            return [name]
        case ast.Attribute(value=owner, attr=name):
            return [*_keys(owner), name]
        case ast.Subscript(value=owner, slice=ast.Constant(value=key)):
            return [*_keys(owner), str(key)]
    return [""]
