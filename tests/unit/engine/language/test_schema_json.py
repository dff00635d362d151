"""JSON Schema and Pydantic models as input: what is understood, and what is refused by name."""

from __future__ import annotations

import datetime
import enum
from typing import Any, Literal

import pytest
from pydantic import BaseModel
from pydantic import Field as About

from engine.errors import PipelineError
from engine.language.position import Where
from engine.language.schema import Field, Schema
from engine.language.schema_text import parse_type
from engine.language.yaml_reader import read_yaml


def whole(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "string"}, "string"),
        ({"type": "number"}, "number"),
        ({"type": "boolean", "title": "Is it so?"}, "boolean"),
        ({"type": ["string", "null"], "minLength": 2}, "string[2..]?"),
        ({"type": ["integer", "string"]}, "integer | string"),
        ({"type": "string", "pattern": "^[A-Z]+$", "maxLength": 3}, "string([A-Z]+)[..3]"),
        ({"type": "string", "pattern": "abc"}, "string([\\s\\S]*abc[\\s\\S]*)"),
        ({"type": "string", "pattern": "^\\$"}, "string(\\$[\\s\\S]*)"),
        ({"type": "string", "pattern": "a|b"}, "string([\\s\\S]*(?:a|b)[\\s\\S]*)"),
        ({"type": "string", "pattern": "^(a|[|])$"}, "string((a|[|]))"),
        ({"type": "string", "format": "date"}, "date"),
        ({"type": "string", "format": "date-time"}, "datetime"),
        ({"type": "string", "nullable": True}, "string?"),
        ({"type": "string", "nullable": False}, "string"),
        ({"type": ["string", "null"], "nullable": True}, "string?"),
        ({"enum": ["a", "b"], "nullable": True}, "enum[a, b]?"),
        ({"type": "string", "enum": ["a", None], "nullable": True}, "enum[a]?"),
        ({"type": "integer", "minimum": 1, "exclusiveMaximum": 5}, "integer(1..4)"),
        ({"type": "integer", "minimum": 0.5, "exclusiveMaximum": 4.5}, "integer(1..4)"),
        ({"type": "number", "exclusiveMinimum": 0}, "number(0<..)"),
        ({"enum": ["a", "B"]}, "enum[a, B]"),
        ({"enum": ["a", None]}, "enum[a]?"),
        ({"type": "integer", "enum": [1, 2.0]}, "integer[1, 2]"),
        ({"enum": [1, 0.5, "x", True, False]}, "number[1, 0.5] | enum[x] | boolean"),
        ({"const": "cat"}, "enum[cat]"),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 3}, "list[int, 1..3]"),
        ({"items": {"type": "integer"}}, "list[int]"),
        ({"type": "object"}, "dict"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "dict[int]"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "int?"),
        ({"oneOf": [{"type": "integer"}, {"type": "string"}]}, "int | str"),
        ({"oneOf": [whole(kind={"const": "a"}), whole(kind={"const": "b"})]}, "{kind: enum[a]} | {kind: enum[b]}"),
        ({"allOf": [{"type": "string"}]}, "string"),
        (whole(a={"type": "string"}) | {"additionalProperties": False}, "{a: string}"),
        ({"type": "object", "properties": {"a": {"type": "string"}}}, "{a: string?}"),
        ({"type": "object", "properties": {"a": {"type": "string", "default": None}}}, "{a: string?}"),
        ({"type": "object", "properties": {"a": {"type": "integer", "default": 3}}}, '{a: int "If not stated: 3."}'),
        ({"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"type": "string"}}}, None),
    ],
)
def test_what_is_understood(schema: dict[str, Any], text: str | None) -> None:
    root = whole(x=schema) | {"$defs": {"a/b": {"type": "string"}}}
    read = Schema.parse(root)
    assert read.fields[0].type == parse_type(text or "string", Where())
    assert Schema.parse(read.to_yaml()) == read


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "minLength": 2},
        {"type": "string", "format": "date"},
        {"type": "string", "enum": ["only"]},
        {"type": ["string", "null"]},
        {"type": "array", "items": {"type": "string"}},
        {"enum": ["a", "b"]},
        {"const": 5},
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        whole(a={"type": "string"}),
    ],
)
def test_a_field_of_the_language_may_be_json_schema(schema: dict[str, Any]) -> None:
    assert Schema.parse({"x": schema}) == Schema.parse(whole(x=schema))


@pytest.mark.parametrize(
    ("mapping", "text"),
    [
        ({"type": "string", "pattern": "string"}, "{type: string, pattern: string}"),
        ({"type": "string", "name": "str"}, "{type: string, name: string}"),
        ({"type": "string", "description": "of x"}, "string"),
        ({"title": "string", "description": "string"}, "{title: string, description: string}"),
        ({"items": {"a": "string"}}, "{items: {a: string}}"),
        ({"required": ["string"], "enum": ["string"]}, "{required: list[string], enum: list[string]}"),
        ({"name": "string", "properties": {"a": "string"}}, "{name: string, properties: {a: string}}"),
    ],
)
def test_a_mapping_of_names_and_types_is_not_taken_for_json_schema(mapping: dict[str, Any], text: str) -> None:
    assert Schema.parse({"x": mapping}).fields[0].type == parse_type(text, Where())


@pytest.mark.parametrize("more", [{}, {"minLength": 3}])
def test_a_format_that_no_mask_enforces_is_told_to_the_model(more: dict[str, Any]) -> None:
    field = {"type": "string", "format": "email", "description": "of the author", **more}
    read = Schema.parse(whole(x=field)).fields[0]
    assert read.type == parse_type("string[3..]" if more else "string", Where())
    assert read.description == "of the author Format: email."
    assert Schema.parse({"x": {"type": "string", "format": "uri"}}).fields[0].description == "Format: uri."


SELF = whole(name={"type": "string"}, parts={"type": "array", "items": {"$ref": "#/$defs/Part"}})
TWICE = {f"D{n}": whole(a={"$ref": f"#/$defs/D{n + 1}"}, b={"$ref": f"#/$defs/D{n + 1}"}) for n in range(15)}


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": "string", "maxlength": 3}, "keyword 'maxlength' cannot be enforced"),
        ({"type": "array", "items": {"type": "string"}, "uniqueItems": True}, "'uniqueItems'"),
        ({"type": "integer", "multipleOf": 5}, "'multipleOf'"),
        ({"type": "object", "patternProperties": {}}, "'patternProperties'"),
        ({"not": {"type": "string"}}, "'not'"),
        ({"type": "string", "format": "e-mail"}, "the format 'e-mail' cannot be enforced"),
        ({"type": "string", "format": "date", "minLength": 3}, "the format 'date' cannot be enforced"),
        ({"type": "string", "pattern": "^(?=a)"}, "look-around"),
        ({"type": "string", "pattern": "^a|b$"}, "no token mask"),
        ({"type": "string", "pattern": 3}, "a pattern is text"),
        ({"type": "string", "nullable": "yes"}, "nullable is true or false"),
        ({"type": "integer", "minLength": 3}, "minLength has no effect on integer"),
        ({"type": "integer", "minimum": 5, "maximum": 1}, "no number is in the range"),
        ({"type": "integer", "minimum": 1, "exclusiveMinimum": 0}, "say two things"),
        ({"type": "number", "exclusiveMinimum": True, "minimum": 3}, "say two things"),
        ({"type": "number", "exclusiveMinimum": True}, "expected a number"),
        ({"type": "number", "minimum": float("inf")}, "expected a number"),
        ({"type": "number", "minimum": 10**400}, "expected a number"),
        ({"type": "string", "minLength": -1}, "minLength is a whole number"),
        ({"type": "array", "items": {"type": "string"}, "maxItems": 0}, "maxItems is a whole number from 1"),
        ({"type": "array"}, "needs `items`"),
        ({"type": "array", "items": [{"type": "string"}]}, "a JSON Schema is a mapping"),
        ({"type": "text"}, "'text' is no type"),
        ({"type": []}, "definite type"),
        ({"type": [["string"]]}, "is no type"),
        ({}, "definite type"),
        (True, "a JSON Schema is a mapping"),
        ({"type": "null"}, "always null"),
        ({"enum": []}, "at least one choice"),
        ({"enum": [None]}, "always null"),
        ({"enum": ["a", "a"]}, "written twice"),
        ({"enum": [1, 1.0]}, "written twice"),
        ({"enum": [{"a": 1}]}, "a choice is a text, number or boolean"),
        ({"type": "string", "enum": ["a", 1]}, "1 is not of type"),
        ({"type": 5, "enum": ["a", "b"]}, '"a" is not of type 5'),
        ({"enum": ["a", "b"], "maxLength": 1}, "maxLength beside enum"),
        ({"anyOf": []}, "at least one schema"),
        ({"oneOf": [{"type": "string"}, {"enum": ["x"]}]}, "oneOf forbids"),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, "oneOf forbids"),
        ({"allOf": [{"type": "string"}, {"minLength": 3}]}, "allOf of more than one"),
        ({"anyOf": [{"type": "string"}], "minLength": 3}, "minLength beside anyOf"),
        ({"$ref": "https://example.org/s.json"}, "no reference to a part of this schema"),
        ({"$ref": "#"}, "no reference to a part of this schema"),
        ({"$ref": "#/$defs/Nobody"}, "#/$defs/Nobody is not defined"),
        ({"$ref": "#/$defs/Part"}, "refers to itself"),
        ({"$ref": "#/$defs/D0"}, "more than 2000 types"),
        ({"type": "object", "properties": {}}, "at least one field"),
        (whole(a={"type": "string"}) | {"required": ["b"]}, "required lists names of properties"),
        (whole(a={"type": "string"}) | {"required": [["a"]]}, "required lists names of properties"),
        (whole(a={"type": "string"}) | {"additionalProperties": True}, "named fields or free ones"),
        ({"type": "object", "additionalProperties": False}, "needs `properties`"),
        (whole(**{" ": {"type": "string"}}), "field name must be text"),
        ({"type": "string", "description": 3}, "a description is text"),
    ],
)
def test_what_is_refused_is_named(schema: Any, message: str) -> None:
    definitions = {"Part": SELF, **TWICE, "D15": {"type": "string"}}
    with pytest.raises(PipelineError) as caught:
        Schema.parse(whole(x=schema) | {"$defs": definitions})
    assert message in str(caught.value)


def test_a_deep_schema_is_refused() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(300):
        schema = {"type": "array", "items": schema}
    with pytest.raises(PipelineError, match="nested more than 40 deep"):
        Schema.parse(whole(x=schema))


def test_an_error_has_the_line_of_the_keyword() -> None:
    text = "type: object\nproperties:\n  a:\n    type: string\n    maxlength: 3\n"
    schema, positions = read_yaml(text, "p.yaml")
    with pytest.raises(PipelineError) as caught:
        Schema.parse(schema, where=Where(positions))
    assert (caught.value.file, caught.value.line) == ("p.yaml", 5)
    assert "#/properties/a/maxlength" in str(caught.value)
    assert "Did you mean 'maxLength'?" in caught.value.advice


def test_a_reply_is_an_object() -> None:
    with pytest.raises(PipelineError, match="a reply is an object with named fields, not string"):
        Schema.parse({"$ref": "#/$defs/x", "$defs": {"x": {"type": "string"}}})


class Rank(enum.Enum):
    sergeant = "Sgt."
    officer = "PO"


class Officer(BaseModel):
    """An officer named in the text."""

    name: str = About(min_length=1, description="as written")
    rank: Rank
    badge: int | None = None
    sworn: datetime.date


class Force(BaseModel):
    kind: Literal["force"]
    weapon: str


class Search(BaseModel):
    kind: Literal["search"]
    places: list[str] = []


class Report(BaseModel):
    """A report."""

    officers: list[Officer] = About(max_length=5)
    act: Force | Search = About(discriminator="kind")
    score: float = About(gt=0, le=1)
    level: Literal[1, 2, 3]
    counts: dict[str, int]
    at: datetime.datetime
    notes: list[str] | None = None


def test_a_pydantic_model_is_read_with_its_constraints_and_descriptions() -> None:
    schema = Schema.of(Report)
    officer = '{name: string[1..] "as written", rank: enum["Sgt.", PO], badge: integer?, sworn: date}'
    act = '{kind: enum[force], weapon: string} | {kind: enum[search], places: list[string] "If not stated: []."}'
    assert schema.fields == (
        Field("officers", parse_type(f"list[{officer}, 5]", Where()), "An officer named in the text."),
        Field("act", parse_type(act, Where())),
        Field("score", parse_type("number(0<..1)", Where())),
        Field("level", parse_type("integer[1, 2, 3]", Where())),
        Field("counts", parse_type("dict[integer]", Where())),
        Field("at", parse_type("datetime", Where())),
        Field("notes", parse_type("list[string]?", Where())),
    )
    assert Schema.parse(schema.to_yaml()) == schema


def test_a_reply_that_fits_is_an_instance_of_the_pydantic_model() -> None:
    officer = {"name": "Ann Roe", "rank": "PO", "badge": None, "sworn": "2024-02-29"}
    reply = {
        **{"officers": [officer], "act": {"kind": "search", "places": []}, "score": 1, "level": 2},
        **{"counts": {"shots": 2}, "at": "2024-02-29T10:00", "notes": None},
    }
    report = Report.model_validate(Schema.of(Report).read(reply))
    assert report.officers[0].sworn == datetime.date(2024, 2, 29)


def test_of_takes_schemas_and_mappings_too() -> None:
    schema = Schema.parse({"a": "string"})
    assert Schema.of(schema) is schema
    assert Schema.of({"a": "str"}) == schema
    with pytest.raises(PipelineError):
        Schema.of(3)  # type: ignore[arg-type]


class Tree(BaseModel):
    children: list[Tree]


class Unique(BaseModel):
    tags: set[str]


@pytest.mark.parametrize(("model", "message"), [(Tree, "refers to itself"), (Unique, "uniqueItems")])
def test_a_pydantic_model_that_cannot_be_enforced_is_refused(model: type[BaseModel], message: str) -> None:
    with pytest.raises(PipelineError, match=message):
        Schema.of(model)
