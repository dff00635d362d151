"""Check a value against a JSON Schema: for replies that no token mask held to it (scripted, cached, another server's).

Not the jsonschema package: it would load five packages, one of them compiled, where start-up counts, and still need
our own regular expressions, numbers (no NaN), refusal of unknown keywords and messages short enough for a retry.
The property tests compare the two.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

from models.errors import InvalidSchema
from models.protocol import Request

_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
    "array": list,
    "object": dict,
}

_CHECKED = {
    *("type", "enum", "const", "anyOf", "pattern", "minLength", "maxLength"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    *("items", "minItems", "maxItems", "properties", "required", "additionalProperties"),
}

_NOTES = {"title", "description", "$schema", "default", "examples"}


def find_misfit(value: Any, schema: dict[str, Any]) -> str | None:
    """Say where and how the value departs from the schema first; None when it fits.

    Raises InvalidSchema for a keyword it does not know, so that nothing passes unchecked.
    """
    return next(_misfits(value, schema, "reply"), None)


def find_misfits(value: Any, schema: dict[str, Any]) -> list[str]:
    """List everything in which the value departs from the schema; raises as `find_misfit`."""
    return list(_misfits(value, schema, "reply"))


def schema_of(request: Request) -> dict[str, Any]:
    """Return the JSON Schema of a request; raises InvalidSchema for what is no schema."""
    try:
        schema = request.schema
    except ValueError as error:
        raise InvalidSchema(f"the output schema is not JSON: {error}") from error
    if not isinstance(schema, dict):
        raise InvalidSchema("the output schema is not a JSON Schema object")
    return schema


def _misfits(value: Any, schema: dict[str, Any], at: str) -> Iterator[str]:
    if unknown := set(schema) - _CHECKED - _NOTES:
        raise InvalidSchema(f"the JSON Schema keywords {', '.join(sorted(unknown))} cannot be checked (at {at})")
    if "anyOf" in schema:
        yield from _misfits_every_branch(value, schema["anyOf"], at)
    if "type" in schema and not _has_type(value, schema["type"]):
        yield f"{at} is {_show(value)}, not of type {_show(schema['type'])}"
        return
    if "const" in schema and not _same(value, schema["const"]):
        yield f"{at} is {_show(value)}, not {_show(schema['const'])}"
    if "enum" in schema and not any(_same(value, choice) for choice in schema["enum"]):
        yield f"{at} is {_show(value)}, not one of {_show(schema['enum'])}"
    match value:
        case str():
            yield from _text_misfits(value, schema, at)
        case int() | float():
            yield from _number_misfits(value, schema, at)
        case list():
            yield from _list_misfits(value, schema, at)
        case dict():
            yield from _object_misfits(value, schema, at)


def _misfits_every_branch(value: Any, branches: list[dict[str, Any]], at: str) -> Iterator[str]:
    """Say what is wrong with the one alternative that has the value's type, or with each of them."""
    faults = [list(_misfits(value, branch, at)) for branch in branches]
    if not all(faults):
        return
    meant = [n for n, branch in enumerate(branches) if "type" in branch and _has_type(value, branch["type"])]
    if len(meant) == 1:
        yield from faults[meant[0]]
    else:
        yield f"{at} fits no alternative: {'; '.join(misfits[0] for misfits in faults)}"


def _text_misfits(value: str, schema: dict[str, Any], at: str) -> Iterator[str]:
    if "pattern" in schema and not _matches(schema["pattern"], value):
        yield f"{at} is {_show(value)}, which does not match {_shorten(schema['pattern'])}"
    if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", math.inf):
        yield f"{at} has {len(value)} characters, {_bounds(schema, 'Length')}"


def _matches(pattern: str, value: str) -> bool:
    # In Python `$` also stands before a last newline, in JSON Schema it does not.
    return re.search(re.sub(r"(?<!\\)\$$", r"\\Z", pattern), value) is not None


def _number_misfits(value: float, schema: dict[str, Any], at: str) -> Iterator[str]:
    if not schema.get("minimum", -math.inf) <= value <= schema.get("maximum", math.inf):
        yield f"{at} is {value}, {_bounds(schema, 'imum')}"
    if "exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"]:
        yield f"{at} is {value}, more than {schema['exclusiveMinimum']} wanted"
    if "exclusiveMaximum" in schema and value >= schema["exclusiveMaximum"]:
        yield f"{at} is {value}, less than {schema['exclusiveMaximum']} wanted"


def _list_misfits(value: list[Any], schema: dict[str, Any], at: str) -> Iterator[str]:
    if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", math.inf):
        yield f"{at} has {len(value)} items, {_bounds(schema, 'Items')}"
    for index, item in enumerate(value):
        yield from _misfits(item, schema.get("items", {}), f"{at}[{index}]")


def _object_misfits(value: dict[str, Any], schema: dict[str, Any], at: str) -> Iterator[str]:
    properties = schema.get("properties", {})
    for name in schema.get("required", []):
        if name not in value:
            yield f"{at}.{name} is missing"
    others = schema.get("additionalProperties", True)
    for name, item in value.items():
        if name in properties:
            yield from _misfits(item, properties[name], f"{at}.{name}")
        elif others is False:
            yield f"{at}.{name} is not in the schema, which has {', '.join(properties) or 'no properties'}"
        elif isinstance(others, dict):
            yield from _misfits(item, others, f"{at}.{name}")


def _bounds(schema: dict[str, Any], suffix: str) -> str:
    least, most = schema.get(f"min{suffix}"), schema.get(f"max{suffix}")
    return " and ".join(
        [
            *([f"at least {least} wanted"] if least is not None else []),
            *([f"at most {most} allowed"] if most is not None else []),
        ]
    )


def _has_type(value: Any, names: str | list[str]) -> bool:
    if isinstance(names, list):
        return any(_has_type(value, name) for name in names)
    if isinstance(value, bool):
        return names == "boolean"
    if isinstance(value, float):
        return math.isfinite(value) and (names == "number" or (names == "integer" and value.is_integer()))
    return isinstance(value, _TYPES.get(names, ()))


def _same(left: Any, right: Any) -> bool:
    """Compare as JSON does: true is not 1."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return bool(left == right)


def _show(value: Any) -> str:
    return _shorten(json.dumps(value, ensure_ascii=False, default=repr))


def _shorten(text: str) -> str:
    return text if len(text) <= 120 else f"{text[:117]}..."
