"""JSON Schemas of parameters: what holds a model that proposes them to what is possible."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from engine.values.base import closed_object

SHORTEST_PROMPT, LONGEST_PROMPT = 20, 4000
"""Characters of a prompt that a model writes, inclusive."""

FIELD_NAME = "[a-z][a-z0-9_]{1,30}"
"""What a field that a model names may be called."""


def an_object(**properties: Mapping[str, Any]) -> dict[str, Any]:
    """Ask for an object with exactly these properties, in this order."""
    return closed_object(properties)


def a_list(item: Mapping[str, Any], least: int, most: int) -> dict[str, Any]:
    """Ask for `least` to `most` items, inclusive."""
    return {"type": "array", "items": dict(item), "minItems": least, "maxItems": most}


def one_of(values: Iterable[str]) -> dict[str, Any]:
    """Ask for one of some texts."""
    return {"type": "string", "enum": list(dict.fromkeys(values))}


def a_number(least: int, most: int) -> dict[str, Any]:
    """Ask for a whole number, inclusive at both ends."""
    return {"type": "integer", "minimum": least, "maximum": max(least, most)}


def a_text(least: int, most: int) -> dict[str, Any]:
    """Ask for so many characters, inclusive."""
    return {"type": "string", "minLength": least, "maxLength": most}


def a_word(pattern: str) -> dict[str, Any]:
    """Ask for a text all of which matches a regular expression."""
    return {"type": "string", "pattern": f"^(?:{pattern})$"}


def a_prompt(*, may_be_empty: bool = False) -> dict[str, Any]:
    """Ask for a prompt."""
    return a_text(0 if may_be_empty else SHORTEST_PROMPT, LONGEST_PROMPT)


def a_flag() -> dict[str, Any]:
    """Ask for true or false."""
    return {"type": "boolean"}


def out_of_range(value: Any, schema: Mapping[str, Any], name: str = "") -> Iterator[str]:
    """Say which choices and numbers of a JSON value its schema does not allow; `name` is the parameter they are in."""
    if isinstance(value, dict):
        for key, inner in schema.get("properties", {}).items():
            yield from out_of_range(value[key], inner, name or key)
    elif isinstance(value, list):
        for item in value:
            yield from out_of_range(item, schema.get("items", {}), name)
    elif value not in schema.get("enum", [value]):
        yield f"{name}: {value!r} is none of {', '.join(schema['enum'])}."
    elif "minimum" in schema and not schema["minimum"] <= value <= schema["maximum"]:
        yield f"{name} must be {schema['minimum']} to {schema['maximum']}, not {value}."
