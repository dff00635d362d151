"""Read JSON Schema into the type tree, so that it means what the same type written in the language means.

What the tree cannot say is an error that names the keyword. A property that is not required may be null; one with a
default is asked for, and the model is told the default.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NoReturn

from engine.language.position import Where, did_you_mean
from engine.language.schema_limits import (
    MAX_CHOICES,
    MAX_DEPTH,
    MAX_EXACT,
    MAX_TYPES,
    contradiction,
    is_unicode,
    plain_number,
    require_name,
)
from engine.language.schema_patterns import search_pattern
from engine.language.schema_types import (
    SYNONYMS,
    DictOf,
    Enum,
    Field,
    ListOf,
    Nullable,
    Number,
    NumberName,
    Record,
    Scalar,
    Text,
    Type,
    either,
    inclusive,
)

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

_MOST_COUNT = 999_999


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


def read_json_schema(schema: Mapping[str, Any], where: Where, notes: list[str], *, depth: int = 0) -> Type:
    """Read a JSON Schema; raises PipelineError at the keyword that cannot be followed.

    `notes` receives the descriptions that belong to the whole.
    """
    reader = _Reader(schema, where)
    return reader.not_null(reader.type(schema, where, depth, notes), where)


class _Reader:
    """Reads one document; references are looked up in its root."""

    def __init__(self, root: Mapping[str, Any], where: Where) -> None:
        self.root = root
        self.root_where = where
        self.types = 0
        self.following: list[str] = []

    def type(self, schema: Any, where: Where, depth: int, notes: list[str]) -> Type | None:
        """Read one schema; None is null."""
        if not isinstance(schema, Mapping):
            self.fail(f"a JSON Schema is a mapping, not {json.dumps(schema, default=str)[:80]}", where)
        self._count(where, depth)
        self._check_keywords(schema, where)
        self._note(schema, where, notes)
        allows_null = schema.get("nullable", False)
        if not isinstance(allows_null, bool):
            self.fail("nullable is true or false", where.at("nullable"))
        kind = self._type(schema, where, depth, notes)
        return either([kind], nullable=True) if kind is not None and allows_null else kind

    def _type(self, schema: Mapping[str, Any], where: Where, depth: int, notes: list[str]) -> Type | None:
        joined = [key for key in JOINS if key in schema]
        if not joined:
            return self._plain(schema, where, depth, notes)
        key = joined[0]
        beside = sorted(set(schema) - NOTES - {key, *({"type"} if key in ("enum", "const") else ())})
        if beside:
            self.fail(f"{', '.join(beside)} beside {key} cannot be combined to one type", where.at(beside[0]))
        match key:
            case "$ref":
                return self._reference(schema[key], where.at(key), depth, notes)
            case "allOf":
                return self._all_of(schema[key], where.at(key), depth, notes)
            case "anyOf" | "oneOf":
                return self._alternatives(schema[key], where.at(key), depth, notes, exclusive=key == "oneOf")
            case "const":
                return self._enum([schema[key]], _type_names(schema), where.at(key))
        return self._enum(schema[key], _type_names(schema), where.at(key))

    def fail(self, message: str, where: Where, advice: str = "") -> NoReturn:
        path = "/".join(str(key) for key in where.path[len(self.root_where.path) :])
        raise where.error(f"{message} (at #{'/' if path else ''}{path} of the JSON Schema)", advice=advice)

    def _count(self, where: Where, depth: int) -> None:
        self.types += 1
        if depth > MAX_DEPTH:
            self.fail(f"the schema is nested more than {MAX_DEPTH} deep", where)
        if self.types > MAX_TYPES:
            self.fail(f"the schema has more than {MAX_TYPES} types, each reference counted", where)

    def _check_keywords(self, schema: Mapping[str, Any], where: Where) -> None:
        for key in schema:
            if key not in KEYWORDS:
                self.fail(
                    f"the JSON Schema keyword {key!r} cannot be enforced by a token mask",
                    where.at(key),
                    f"Remove it. {did_you_mean(str(key), sorted(KEYWORDS - NOTES))}",
                )

    def _note(self, schema: Mapping[str, Any], where: Where, notes: list[str]) -> None:
        description = schema.get("description") or ""
        if not isinstance(description, str):
            self.fail("a description is text", where.at("description"))
        if description.strip():
            if not is_unicode(description):
                self.fail("half of a surrogate pair is no character", where.at("description"))
            notes.append(" ".join(description.split()))
        if schema.get("default") is not None:
            notes.append(f"If not stated: {json.dumps(schema['default'], ensure_ascii=False, default=str)}.")

    def _reference(self, name: Any, where: Where, depth: int, notes: list[str]) -> Type | None:
        if not isinstance(name, str) or not name.startswith("#/"):
            advice = "It begins with #/$defs/: nothing is fetched, and a schema cannot hold the whole of itself."
            self.fail(f"{name!r} is no reference to a part of this schema", where, advice)
        if name in self.following:
            self.fail(
                f"{name} refers to itself, so a reply would have no greatest depth",
                where,
                "Write as many levels as the documents have.",
            )
        keys = [key.replace("~1", "/").replace("~0", "~") for key in name[2:].split("/")]
        part: Any = self.root
        for key in keys:
            if not isinstance(part, Mapping) or key not in part:
                defined = ", ".join(f"#/$defs/{key}" for key in self.root.get("$defs") or ())
                self.fail(f"{name} is not defined", where, f"Defined are: {defined}." if defined else "")
            part = part[key]
        self.following.append(name)
        kind = self.type(part, self.root_where.at(*keys), depth + 1, notes)
        self.following.pop()
        return kind

    def _all_of(self, parts: Any, where: Where, depth: int, notes: list[str]) -> Type | None:
        if not isinstance(parts, Sequence) or len(parts) != 1:
            self.fail("allOf of more than one schema cannot be combined to one type", where, "Write their fields out.")
        return self.type(parts[0], where.at(0), depth + 1, notes)

    def _alternatives(self, parts: Any, where: Where, depth: int, notes: list[str], *, exclusive: bool) -> Type | None:
        if not isinstance(parts, list) or not parts:
            self.fail("the alternatives are a list of at least one schema", where)
        read = [self.type(part, where.at(n), depth + 1, notes) for n, part in enumerate(parts)]
        kinds = [kind for kind in read if kind is not None]
        pair = overlap(kinds) if exclusive else None
        if pair:
            advice = "Write anyOf, or give each a field that tells them apart by its const."
            self.fail(
                f"a value could be both {pair[0].text()} and {pair[1].text()}, which oneOf forbids", where, advice
            )
        return either(kinds, nullable=len(kinds) < len(read)) if kinds else None

    def _enum(self, values: Any, type_name: Any, where: Where) -> Type | None:
        if not isinstance(values, list) or not values:
            self.fail("an enum is a list of at least one choice", where)
        allowed = list(OWN) if type_name is None else type_name if isinstance(type_name, list) else [type_name]
        groups: dict[str, list[Any]] = {}
        for value in values:
            name = _json_type(value)
            if name not in allowed and not (name == "integer" and "number" in allowed):
                self.fail(f"{json.dumps(value, default=str)} is not of type {json.dumps(type_name)}", where)
            if name in ("array", "object"):
                self.fail(f"a choice is a text, number or boolean, not {json.dumps(value, default=str)[:80]}", where)
            groups.setdefault("number" if name == "integer" and _has_fraction(values) else name, []).append(value)
        kinds = [self._choices(name, group, where) for name, group in groups.items() if name != "null"]
        return either(kinds, nullable="null" in groups) if kinds else None

    def _choices(self, name: str, values: list[Any], where: Where) -> Type:
        if name == "string":
            if not all(is_unicode(v) for v in values):
                self.fail("half of a surrogate pair is no character", where)
            return Enum(self._distinct(values, where))
        if name == "boolean":
            return Scalar("boolean") if len(self._distinct(values, where)) == 2 else Enum(tuple(values), "boolean")
        numbers = [self._number(v, where) for v in values]
        return Enum(self._distinct(numbers, where), "integer" if name == "integer" else "float")

    def _distinct(self, values: list[Any], where: Where) -> tuple[Any, ...]:
        if len(set(values)) < len(values):
            self.fail("a choice is written twice", where)
        if len(values) > MAX_CHOICES:
            self.fail(f"an enum has at most {MAX_CHOICES} choices, not {len(values)}", where)
        return tuple(values)

    def _plain(self, schema: Mapping[str, Any], where: Where, depth: int, notes: list[str]) -> Type | None:
        """Read a schema of one `type` or a list of them; without any, its keywords say which."""
        names = schema.get("type", [name for name in ("object", "array") if OWN[name] & set(schema)])
        listed = [names] if isinstance(names, str) else names
        if not isinstance(listed, list) or not listed:
            self.fail("any value would do here, but a reply needs a definite type", where, f"Types: {', '.join(OWN)}.")
        unknown = [name for name in listed if not isinstance(name, str) or name not in OWN]
        if unknown:
            self.fail(f"{unknown[0]!r} is no type", where.at("type"), did_you_mean(str(unknown[0]), OWN))
        idle = sorted(set(schema) - NOTES - {"type"}.union(*(OWN[name] for name in listed)))
        if idle:
            self.fail(f"{', '.join(idle)} has no effect on {', '.join(listed)}", where.at(idle[0]))
        kinds = [self._one(name, schema, where, depth, notes) for name in listed if name != "null"]
        return either(kinds, nullable="null" in listed) if kinds else None

    def _one(self, name: str, schema: Mapping[str, Any], where: Where, depth: int, notes: list[str]) -> Type:
        match name:
            case "string":
                return self._checked(self._string(schema, where, notes), where)
            case "integer":
                return self._checked(self._numbers("integer", schema, where), where)
            case "number":
                return self._checked(self._numbers("float", schema, where), where)
            case "array":
                return self._checked(self._array(schema, where, depth, notes), where)
            case "object":
                return self._object(schema, where, depth, notes)
        return Scalar("boolean")

    def _checked(self, kind: Type, where: Where) -> Type:
        problem = contradiction(kind)
        return self.fail(problem.message, where, problem.advice) if problem else kind

    def _string(self, schema: Mapping[str, Any], where: Where, notes: list[str]) -> Type:
        name = schema.get("format")
        if isinstance(name, str) and name in TOLD_FORMATS:
            notes.append(f"Format: {name}.")
        elif "format" in schema:
            if not isinstance(name, str) or name not in FORMATS or {"pattern", "minLength", "maxLength"} & set(schema):
                known = (
                    f"Enforced are {', '.join(FORMATS)}, without pattern or length; the model is told "
                    f"{', '.join(sorted(TOLD_FORMATS))}. Write others as a pattern."
                )
                self.fail(f"the format {name!r} cannot be enforced here", where.at("format"), known)
            return Scalar("date" if name == "date" else "datetime")
        least, most = self._counts(schema, where, "Length")
        pattern = schema.get("pattern")
        if pattern is not None and not isinstance(pattern, str):
            self.fail("a pattern is text", where.at("pattern"))
        if pattern is None and not least and most is None:
            return Scalar("string")
        return Text(None if not pattern else search_pattern(pattern), least, most)

    def _numbers(self, name: NumberName, schema: Mapping[str, Any], where: Where) -> Type:
        ends: list[float | None] = []
        opens: list[bool] = []
        for key, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
            if key in schema and exclusive in schema:
                self.fail(f"{key} and {exclusive} say two things", where.at(key), "Write one of them.")
            used = exclusive if exclusive in schema else key
            ends.append(self._number(schema[used], where.at(used)) if used in schema else None)
            opens.append(used == exclusive)
        if ends == [None, None]:
            return Scalar(name)
        if name == "integer":
            ends = _whole(ends, opens)
        return inclusive(Number(name, ends[0], ends[1], opens[0], opens[1]))

    def _number(self, value: Any, where: Where) -> float:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        number = plain_number(value) if is_number else None
        if number is None:
            self.fail(f"expected a number of at most {MAX_EXACT}, not {json.dumps(value, default=str)[:80]}", where)
        return number

    def _counts(self, schema: Mapping[str, Any], where: Where, what: str) -> tuple[int, int | None]:
        least, most = schema.get(f"min{what}", 0), schema.get(f"max{what}")
        for key, value, floor in ((f"min{what}", least, 0), (f"max{what}", 1 if most is None else most, 1)):
            if not isinstance(value, int) or isinstance(value, bool) or not floor <= value <= _MOST_COUNT:
                self.fail(f"{key} is a whole number from {floor} to {_MOST_COUNT}", where.at(key))
        return least, most

    def _array(self, schema: Mapping[str, Any], where: Where, depth: int, notes: list[str]) -> Type:
        if "items" not in schema:
            self.fail("an array needs `items`, the type it holds", where)
        least, most = self._counts(schema, where, "Items")
        item = self.type(schema["items"], where.at("items"), depth + 1, notes)
        return self.not_null(ListOf(item, most, least) if item is not None else None, where.at("items"))

    def not_null(self, kind: Type | None, where: Where) -> Type:
        return self.fail("a value that is always null says nothing", where) if kind is None else kind

    def _object(self, schema: Mapping[str, Any], where: Where, depth: int, notes: list[str]) -> Type:
        others = schema.get("additionalProperties")
        if "properties" not in schema:
            return self._dictionary(schema, others, where, depth, notes)
        if others not in (None, False):
            advice = "Write additionalProperties: false; the fields that are not named are not asked for."
            self.fail("an object has named fields or free ones, not both", where.at("additionalProperties"), advice)
        properties, required = schema["properties"], schema.get("required", [])
        if not isinstance(properties, Mapping) or not properties:
            self.fail("an object needs at least one field", where.at("properties"))
        if not isinstance(required, list) or any(name not in list(properties) for name in required):
            names = ", ".join(map(str, properties))
            self.fail("required lists names of properties", where.at("required"), f"They are: {names}.")
        at = where.at("properties")
        return Record(tuple(self._field(name, properties[name], required, at.at(name), depth) for name in properties))

    def _field(self, name: Any, schema: Any, required: list[Any], where: Where, depth: int) -> Field:
        require_name(name, where)
        notes: list[str] = []
        kind = self.not_null(self.type(schema, where, depth + 1, notes), where)
        if name not in required and schema.get("default") is None:
            kind = either([kind], nullable=True)
        return Field(name, kind, " ".join(notes))

    def _dictionary(self, schema: Mapping[str, Any], others: Any, where: Where, depth: int, notes: list[str]) -> Type:
        if "required" in schema or others is False:
            self.fail("an object needs `properties`, its fields", where)
        if others in (None, True) or others == {}:
            return DictOf(Scalar("string"))
        at = where.at("additionalProperties")
        return DictOf(self.not_null(self.type(others, at, depth + 1, notes), at))


def _type_names(schema: Mapping[str, Any]) -> Any:
    """Return what `type` allows, with null where `nullable` says so."""
    names = schema.get("type")
    if names is None or not schema.get("nullable"):
        return names
    return [*(names if isinstance(names, list) else [names]), "null"]


def _whole(ends: list[float | None], opens: list[bool]) -> list[float | None]:
    """Move the ends of an integer range that are no integers inwards; they are then inclusive."""
    moved: list[float | None] = []
    for index, (end, inwards) in enumerate(zip(ends, (math.ceil, math.floor), strict=True)):
        opens[index] = opens[index] and isinstance(end, int)
        moved.append(None if end is None else inwards(end))
    return moved


def _has_fraction(values: list[Any]) -> bool:
    return any(_json_type(value) == "number" for value in values)


def _json_type(value: Any) -> str:
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    names = {str: "string", bool: "boolean", int: "integer", type(None): "null", list: "array"}
    return names.get(type(value), "object")


def overlap(kinds: Sequence[Type]) -> tuple[Type, Type] | None:
    """Find two types of which a value could be both; None when there are surely none."""
    return next((pair for pair in combinations(kinds, 2) if not _exclude(*pair)), None)


def _exclude(left: Type, right: Type) -> bool:
    match left, right:
        case Nullable(), Nullable():
            return False
        case (Nullable(inner=inner), kind) | (kind, Nullable(inner=inner)):
            return _exclude(inner, kind)
        case Enum(), Enum() if _shape(left) == _shape(right):
            return not set(left.values) & set(right.values)
        case Record(fields=ours), Record(fields=theirs):
            types = {f.name: f.type for f in theirs}
            return set(types) != {f.name for f in ours} or any(_exclude(f.type, types[f.name]) for f in ours)
    return _shape(left) != _shape(right)


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
