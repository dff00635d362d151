"""The keywords of JSON Schema that are understood, and how JSON Schema is told from names and types of the language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.language.schema_types import SYNONYMS

OWN = {
    "string": {"pattern", "format", "minLength", "maxLength"},
    "integer": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"},
    "number": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"},
    "boolean": set[str](),
    "null": set[str](),
    "array": {"items", "minItems", "maxItems"},
    "object": {"properties", "required", "additionalProperties"},
}
"""The keywords that restrict values of one type."""

NOTES = {
    *("title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"),
    *("$schema", "$id", "$comment", "$defs", "definitions", "discriminator", "nullable"),
}
"""Keywords that restrict nothing; of these only `description` and `default` are shown to the model.

`nullable` is OpenAPI's: true allows null, too.
"""

JOINS = ("$ref", "anyOf", "oneOf", "allOf", "enum", "const")
"""Keywords that stand for a whole type."""

KEYWORDS = NOTES | {"type", *JOINS}.union(*OWN.values())
FORMATS = {"date": "date", "date-time": "datetime"}
"""Formats that a token mask enforces, and the types that they become."""
TOLD_FORMATS = frozenset(
    {
        *("duration", "email", "hostname", "idn-email", "idn-hostname", "ipv4", "ipv6", "iri", "iri-reference"),
        *("json-pointer", "regex", "relative-json-pointer", "time", "uri", "uri-reference", "uri-template", "uuid"),
    }
)
"""The other formats of JSON Schema (2020-12, Validation, 7.3). The model is told them; nothing enforces them."""


def is_object_schema(value: Mapping[Any, Any]) -> bool:
    """Say whether the whole of an `output.schema` is the JSON Schema of an object rather than names and types."""
    refers = str(value.get("$ref", "")).startswith("#")
    return refers or (value.get("type") == "object" and isinstance(value.get("properties"), Mapping))


def is_json_schema(value: Mapping[Any, Any]) -> bool:
    """Say whether a mapping that stands for a type is JSON Schema rather than an object's names and types."""
    if is_object_schema(value):
        return True
    if set(value) <= KEYWORDS and any(_joins(key, value[key]) for key in JOINS if key in value):
        return True
    kind = value.get("type")
    if isinstance(kind, str):
        return any(_constrains(key, value[key], kind) for key in OWN.get(kind, ()) if key in value)
    return isinstance(kind, list) and len(kind) > 1 and all(isinstance(k, str) and k in OWN for k in kind)


def _joins(key: str, value: Any) -> bool:
    if isinstance(value, list):
        return len(value) != 1 or not _is_type_name(value[0])
    return key == "const" and not _is_type_name(value)


def _constrains(key: str, value: Any, kind: str) -> bool:
    """Say whether a keyword has a value that is no type of the language, or is that of an object or list."""
    if isinstance(value, Mapping):
        return (kind, key) in (("object", "properties"), ("array", "items"), ("object", "additionalProperties"))
    if key == "format":
        return isinstance(value, str) and value in FORMATS or not _is_type_name(value)
    return not _is_type_name(value) and value is not None


def _is_type_name(value: Any) -> bool:
    return isinstance(value, str) and value.lower() in SYNONYMS
