"""Check a JSON value against the part of JSON Schema that the schema language compiles to."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

_KNOWN = {
    *("type", "enum", "pattern", "anyOf", "properties", "required", "additionalProperties"),
    *("items", "minItems", "maxItems", "minimum", "maximum"),
}

_PYTHON_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
    "array": list,
    "object": dict,
}
_JSON_NAMES = {
    type(None): "null",
    dict: "object",
    list: "array",
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
}


def validate(value: Any, json_schema: dict[str, Any]) -> list[str]:
    """List everything in which `value` departs from the schema; empty when it fits.

    Raises ValueError for a schema keyword this checker does not know, so that nothing passes unchecked.
    """
    return list(_problems(value, json_schema, "reply"))


def _problems(value: Any, schema: dict[str, Any], at: str) -> Iterator[str]:
    unknown = set(schema) - _KNOWN
    if unknown:
        raise ValueError(f"cannot check the JSON Schema keywords {', '.join(sorted(unknown))}")
    if "anyOf" in schema:
        branches = [list(_problems(value, branch, at)) for branch in schema["anyOf"]]
        if all(branches):
            yield from branches[0]
        return
    if not _has_type(value, schema["type"]):
        yield f"{at} is {_name(value)}, not {schema['type']}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at} is {value!r}, which is not one of the {len(schema['enum'])} allowed values"
    if "pattern" in schema and not _matches(schema["pattern"], value):
        yield f"{at} is {value!r}, which does not match {schema['pattern']}"
    if schema["type"] in ("integer", "number"):
        yield from _number_problems(value, schema, at)
    if schema["type"] == "array":
        yield from _array_problems(value, schema, at)
    if schema["type"] == "object":
        yield from _object_problems(value, schema, at)


def _number_problems(value: float, schema: dict[str, Any], at: str) -> Iterator[str]:
    if value < schema.get("minimum", -math.inf):
        yield f"{at} is {value}, less than {schema['minimum']}"
    if value > schema.get("maximum", math.inf):
        yield f"{at} is {value}, more than {schema['maximum']}"


def _array_problems(value: list[Any], schema: dict[str, Any], at: str) -> Iterator[str]:
    if len(value) < schema.get("minItems", 0):
        yield f"{at} has {len(value)} items, fewer than {schema['minItems']}"
    if len(value) > schema.get("maxItems", math.inf):
        yield f"{at} has {len(value)} items, more than {schema['maxItems']}"
    for index, item in enumerate(value):
        if "items" in schema:
            yield from _problems(item, schema["items"], f"{at}[{index}]")


def _object_problems(value: dict[str, Any], schema: dict[str, Any], at: str) -> Iterator[str]:
    properties = schema.get("properties", {})
    for name in schema.get("required", []):
        if name not in value:
            yield f"{at}.{name} is missing"
    for name, item in value.items():
        if name in properties:
            yield from _problems(item, properties[name], f"{at}.{name}")
        elif schema.get("additionalProperties") is False:
            yield f"{at}.{name} was not asked for"


def _matches(pattern: str, value: str) -> bool:
    # In JSON Schema `$` is the end of the text; in Python it also stands before a last newline.
    return re.search(pattern.removesuffix("$") + r"\Z" if pattern.endswith("$") else pattern, value) is not None


def _has_type(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    if isinstance(value, float) and not math.isfinite(value):
        return False
    return isinstance(value, _PYTHON_TYPES[name])


def _name(value: Any) -> str:
    return _JSON_NAMES.get(type(value), type(value).__name__)
