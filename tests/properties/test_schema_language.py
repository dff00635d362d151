from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import PipelineError
from engine.language.position import Where
from engine.language.schema import Enum, Field, ListOf, Nullable, Quote, Record, Scalar, Schema, Type
from engine.language.schema_text import parse_type
from engine.language.validation import validate

WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8).filter(str.strip)
SCALARS = st.sampled_from(["string", "integer", "float", "boolean", "date"]).map(Scalar)
ENUMS = st.lists(WORDS, min_size=1, max_size=4, unique=True).map(lambda v: Enum(tuple(v)))
QUOTES = st.builds(Quote, st.none() | WORDS)
LEAVES = SCALARS | ENUMS | QUOTES


def records(types: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    fields = st.builds(Field, WORDS, types, st.just("") | WORDS)
    return st.lists(fields, min_size=1, max_size=3, unique_by=lambda f: f.name).map(lambda f: Record(tuple(f)))


def nested(types: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    nullable = types.filter(lambda t: not isinstance(t, Nullable)).map(Nullable)
    bare = types.filter(lambda t: not isinstance(t, Nullable | Enum))
    with_word = st.builds(Nullable, bare, WORDS)
    return types.map(ListOf) | nullable | with_word | records(types)


TYPES = st.recursive(LEAVES, nested, max_leaves=8)
SCHEMAS = records(TYPES).map(lambda record: Schema(record.fields))
PASSAGES = ("He ran.", "She saw it.")
MONTH_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def passages(quote: Quote) -> Sequence[str]:
    return PASSAGES


def days() -> st.SearchStrategy[str]:
    years = st.integers(0, 9999)
    months = st.integers(1, 12).flatmap(lambda m: st.tuples(st.just(m), st.integers(1, MONTH_DAYS[m - 1])))
    return st.tuples(years, months).map(lambda d: f"{d[0]:04}-{d[1][0]:02}-{d[1][1]:02}")


def values_of(kind: Type) -> st.SearchStrategy[Any]:
    """Give values of a type, from what the language says it means and not from its JSON Schema."""
    simple = {
        "string": st.text(max_size=5),
        "integer": st.integers(),
        "float": st.floats(allow_nan=False, allow_infinity=False),
        "boolean": st.booleans(),
        "date": days(),
    }
    match kind:
        case Scalar(name=name):
            return simple[name]
        case Enum(values=values):
            return st.sampled_from(values)
        case Quote():
            return st.sampled_from(PASSAGES)
        case ListOf(item=item):
            return st.lists(values_of(item), max_size=3)
        case Nullable(inner=inner, word=word):
            return st.just(word) | values_of(inner)
        case Record(fields=fields):
            return st.fixed_dictionaries({f.name: values_of(f.type) for f in fields})


@given(TYPES)
def test_reading_what_a_type_writes_gives_the_type(kind: Type) -> None:
    assert parse_type(kind.text(), Where()) == kind


@given(SCHEMAS)
def test_a_schema_survives_yaml_values(schema: Schema) -> None:
    assert Schema.parse(schema.to_yaml()) == schema


@given(SCHEMAS.flatmap(lambda s: st.tuples(st.just(s), values_of(Record(s.fields)))))
def test_every_value_of_a_schema_passes_its_json_schema(pair: tuple[Schema, Any]) -> None:
    schema, value = pair
    assert validate(json.loads(json.dumps(value)), schema.json_schema(passages)) == []


@given(SCHEMAS.flatmap(lambda s: st.tuples(st.just(s), values_of(Record(s.fields)))), st.data())
def test_a_value_with_a_field_missing_or_added_fails(pair: tuple[Schema, Any], data: st.DataObject) -> None:
    schema, value = pair
    name = data.draw(st.sampled_from(schema.names))
    json_schema = schema.json_schema(passages)
    assert validate({k: v for k, v in value.items() if k != name}, json_schema)
    assert validate({**value, "".join(schema.names) + "x": 1}, json_schema)
    assert validate(None, json_schema)


@given(SCHEMAS)
def test_json_schema_keeps_the_written_order(schema: Schema) -> None:
    json_schema = schema.json_schema(passages)
    assert tuple(json_schema["properties"]) == tuple(json_schema["required"]) == schema.names


@given(st.text(st.sampled_from("[]{}(),:?\"'\\ \nabenumlistquotestring"), max_size=40))
@settings(max_examples=300)
def test_any_text_is_a_type_or_a_pipeline_error(text: str) -> None:
    try:
        kind = parse_type(text, Where())
    except PipelineError as error:
        assert str(error)
    else:
        assert parse_type(kind.text(), Where()) == kind
