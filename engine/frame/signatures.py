"""What the methods of operators take, worked out from their nodes: for the stub file and for interactive help."""

from __future__ import annotations

import keyword
import types
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, is_dataclass
from functools import lru_cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from engine.language.binding import yaml_fields
from engine.language.expressions import Expression
from engine.language.schema import Schema
from engine.language.templates import Template
from engine.operators.base import Operator
from engine.operators.registry import REGISTRY

REQUIRED = "..."
"""The default of a key that must be given."""


@dataclass(frozen=True, slots=True)
class Key:
    """A keyword of a method: its name, type and default as Python text, and the YAML keys inside it."""

    name: str
    type: str
    default: str = REQUIRED
    inner: tuple[str, ...] = ()

    @property
    def parameter(self) -> str:
        """Write the parameter as it stands in a signature; keys without a default must be given."""
        return f"{self.name}: {self.type}" + ("" if self.default == REQUIRED else f" = {self.default}")


@lru_cache(maxsize=256)
def keys_of(kind: str) -> tuple[Key, ...]:
    """List the keywords of an operator's method: its YAML keys at the top level, the required ones first."""
    node_type = REGISTRY[kind].node_type
    hints = get_type_hints(node_type)
    fields = {path: field for path, field in yaml_fields(node_type).items() if path != ("name",)}
    keys: list[Key] = []
    for name in dict.fromkeys(path[0] for path in fields):
        below = {path[1:]: field for path, field in fields.items() if path[0] == name}
        if () in below:
            keys.append(Key(name, _type(hints[below[()].name]), _default(below[()])))
        else:
            needed = any(_default(field) == REQUIRED for field in below.values())
            inner = tuple(".".join(path) for path in below)
            keys.append(Key(name, "Mapping[str, Any]", REQUIRED if needed else "{}", inner))
    named = [key for key in keys if key.name.isidentifier() and not keyword.iskeyword(key.name)]
    return tuple(sorted(named, key=lambda key: key.default != REQUIRED))


def joins_two(operator: Operator) -> bool:
    """Say whether an operator's function takes the rows of a left and a right input."""
    rows = list(operator.run.__annotations__.values())[1]
    return str(rows).removeprefix("typing.").lower().startswith("tuple[")


def _default(field: Field[Any]) -> str:
    if field.default_factory is not MISSING:
        return "{}"
    if field.default is MISSING:
        return REQUIRED
    value = field.default
    if isinstance(value, Mapping):
        return "{}"
    return repr(value) if isinstance(value, str | int | float | bool | tuple | None) else "..."


def _type(hint: Any) -> str:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return " | ".join(dict.fromkeys(_type(member) for member in arguments))
    if origin is Literal:
        return f"Literal[{', '.join(map(repr, arguments))}]"
    if origin is tuple:
        is_list = len(arguments) == 2 and arguments[1] is ... and isinstance(arguments[0], type)
        return "str | Sequence[str]" if is_list and issubclass(arguments[0], str | Expression) else "Sequence[Any]"
    if hint is Schema:
        return "SchemaLike"
    plain = origin or hint
    if isinstance(plain, type) and (issubclass(plain, Mapping) or is_dataclass(plain)):
        return "str" if issubclass(plain, Template | Expression) else "Mapping[str, Any]"
    names = {str: "str", int: "int", float: "float", bool: "bool", type(None): "None"}
    return names.get(hint, "Any")
