"""The schema language: what is written is read back, and a schema accepts exactly what its JSON Schema accepts.

Three judges must agree on every value: what docs/schemas.md says a type means (fixtures/schema_types.py), our check of
a reply, and the jsonschema package.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import jsonschema
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema.protocols import Validator
from schema_types import JSON, SCHEMAS, TYPES, WORDS, means, mutated, passages, values_of

from engine.errors import PipelineError
from engine.language.position import Where
from engine.language.schema import Record, Schema, Type
from engine.language.schema_text import parse_type
from models.fits import find_misfits

WITH_VALUES = SCHEMAS.flatmap(lambda s: st.tuples(st.just(s), values_of(Record(s.fields))))
THOROUGH = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def whole_text(validator: Validator, pattern: str, value: Any, schema: Any) -> Iterator[jsonschema.ValidationError]:
    """Check `pattern` with the `$` of JSON Schema, which is not that of Python: no line break may follow it."""
    if isinstance(value, str) and not re.search(re.sub(r"(?<!\\)\$$", r"\\Z", pattern), value):
        yield jsonschema.ValidationError(f"{value!r} does not match {pattern!r}")


JUDGE = jsonschema.validators.extend(jsonschema.Draft202012Validator, {"pattern": whole_text})


def judges_agree(schema: Schema, value: Any) -> bool:
    json_schema = json.loads(json.dumps(schema.json_schema(passages)))
    verdicts = (
        means(Record(schema.fields), value),
        not find_misfits(value, json_schema),
        JUDGE(json_schema).is_valid(value),
    )
    assert len(set(verdicts)) == 1, (Record(schema.fields).text(), value, verdicts)
    return verdicts[0]


@given(TYPES)
def test_reading_what_a_type_writes_gives_the_type(kind: Type) -> None:
    assert parse_type(kind.text(), Where()) == kind


@given(SCHEMAS)
def test_a_schema_survives_yaml_values(schema: Schema) -> None:
    assert Schema.parse(schema.to_yaml()) == schema


@given(SCHEMAS)
def test_a_schema_is_described_on_one_line(schema: Schema) -> None:
    assert "\n" not in schema.describe().replace("\\n", "")
    assert all(json.dumps(name, ensure_ascii=False) in schema.describe() for name in schema.names)


@THOROUGH
@given(WITH_VALUES)
def test_every_value_of_a_schema_passes_its_json_schema(pair: tuple[Schema, Any]) -> None:
    schema, value = pair
    JUDGE.check_schema(json.loads(json.dumps(schema.json_schema(passages))))
    assert judges_agree(schema, json.loads(json.dumps(value)))


@THOROUGH
@given(WITH_VALUES, st.data())
def test_a_value_that_is_a_little_different_is_judged_the_same_by_all(
    pair: tuple[Schema, Any], data: st.DataObject
) -> None:
    schema, value = pair
    judges_agree(schema, json.loads(json.dumps(data.draw(mutated(value)))))


@given(SCHEMAS, JSON)
def test_any_json_is_judged_the_same_by_all(schema: Schema, value: Any) -> None:
    judges_agree(schema, json.loads(json.dumps(value)))


@given(WITH_VALUES, st.data())
def test_a_value_with_a_field_missing_or_added_fails(pair: tuple[Schema, Any], data: st.DataObject) -> None:
    schema, value = pair
    name = data.draw(st.sampled_from(schema.names))
    json_schema = schema.json_schema(passages)
    assert find_misfits({k: v for k, v in value.items() if k != name}, json_schema)
    assert find_misfits({**value, "".join(schema.names) + "x": 1}, json_schema)
    assert find_misfits(None, json_schema)


@given(WITH_VALUES)
def test_reading_a_reply_keeps_its_fields(pair: tuple[Schema, Any]) -> None:
    schema, value = pair
    read = schema.read(value)
    assert set(read) == set(schema.names)
    json.dumps(read, allow_nan=False)


@given(SCHEMAS)
def test_json_schema_keeps_the_written_order(schema: Schema) -> None:
    json_schema = schema.json_schema(passages)
    assert tuple(json_schema["properties"]) == tuple(json_schema["required"]) == schema.names


@given(st.text(st.sampled_from("[]{}(),:?|.<1-\"'\\ \nabenumlistquotestringdictfloat"), max_size=40))
@settings(max_examples=300)
def test_any_text_is_a_type_or_a_pipeline_error(text: str) -> None:
    try:
        kind = parse_type(text, Where())
    except PipelineError as error:
        assert str(error)
    else:
        assert parse_type(kind.text(), Where()) == kind


COUNTS = st.integers(0, 3)
STRINGS = st.fixed_dictionaries(
    {"type": st.just("string")},
    optional={"minLength": COUNTS, "maxLength": st.integers(3, 6), "description": WORDS, "title": WORDS},
)
PATTERNED = st.sampled_from(["^[a-c]+$", "b", "^a", "c$", "a|b", "^\\$+$", "[|]", "^(a|b)$"]).map(
    lambda p: {"type": "string", "pattern": p}
)
NUMBERS = st.fixed_dictionaries(
    {"type": st.sampled_from(["integer", "number"])},
    optional={"minimum": st.integers(-5, 0) | st.just(-0.5), "exclusiveMaximum": st.integers(2, 9) | st.just(2.5)},
)
CONSTANTS = st.one_of(
    st.lists(WORDS | st.integers(-9, 9) | st.none() | st.booleans(), min_size=1, max_size=4, unique_by=repr),
).map(lambda values: {"enum": values})
SIMPLE = st.sampled_from([{"type": t} for t in ("string", "boolean", "integer", "number")])
FORMATS = st.just({"type": "string", "format": "date"})


def deeper(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    array = st.fixed_dictionaries(
        {"type": st.just("array"), "items": inner}, optional={"minItems": COUNTS, "maxItems": st.integers(3, 4)}
    )
    union = st.lists(inner | st.just({"type": "null"}), min_size=1, max_size=3).map(lambda s: {"anyOf": s})
    free = inner.map(lambda s: {"type": "object", "additionalProperties": s})
    return array | union | free | objects(inner)


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    def closed(properties: dict[str, Any]) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }

    return st.dictionaries(WORDS, inner, min_size=1, max_size=3).map(closed)


JSON_SCHEMAS = objects(st.recursive(STRINGS | PATTERNED | NUMBERS | CONSTANTS | SIMPLE | FORMATS, deeper, max_leaves=6))


def read_or_none(json_schema: dict[str, Any]) -> Schema | None:
    """Read a schema; one in which a value is always null is refused, which is no concern here."""
    try:
        return Schema.parse(json_schema)
    except PipelineError as error:
        assert "always null" in str(error)  # noqa: PT017
        return None


@THOROUGH
@given(JSON_SCHEMAS, st.data())
def test_a_json_schema_means_what_it_meant_and_survives_yaml(json_schema: dict[str, Any], data: st.DataObject) -> None:
    schema = read_or_none(json_schema)
    if schema is None:
        return
    assert Schema.parse(schema.to_yaml()) == schema
    JUDGE.check_schema(json.loads(json.dumps(schema.json_schema(passages))))
    value = data.draw(values_of(Record(schema.fields)))
    for candidate in (value, data.draw(mutated(value))):
        plain = json.loads(json.dumps(candidate))
        checker = jsonschema.FormatChecker(["date"])
        theirs = JUDGE(json_schema, format_checker=checker).is_valid(plain)
        assert judges_agree(schema, plain) == theirs, (json_schema, plain)


@given(JSON_SCHEMAS, st.data())
def test_what_may_be_left_out_may_be_null_instead(json_schema: dict[str, Any], data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(list(json_schema["properties"])))
    schema = read_or_none(json_schema | {"required": [n for n in json_schema["required"] if n != name]})
    if schema is None:
        return
    value = data.draw(values_of(Record(schema.fields)))
    assert judges_agree(schema, json.loads(json.dumps({**value, name: None})))
    assert not judges_agree(schema, json.loads(json.dumps({k: v for k, v in value.items() if k != name})))


@given(
    JSON,
    st.sampled_from(["type", "properties", "enum", "anyOf", "$ref", "items", "minimum", "pattern", "required"]),
    JSON,
)
def test_any_json_for_a_schema_is_read_or_a_pipeline_error(value: Any, key: str, part: Any) -> None:
    for mapping in (value, {"x": value}, {"type": "object", "properties": value}, {"x": {"type": "string", key: part}}):
        try:
            schema = Schema.parse(mapping)
        except PipelineError as error:
            assert str(error)
        else:
            assert Schema.parse(schema.to_yaml()) == schema
