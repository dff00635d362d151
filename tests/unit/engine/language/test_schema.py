from __future__ import annotations

import pytest

from engine.errors import ItemError, PipelineError
from engine.language.position import Where
from engine.language.schema import Quote, Record, Schema
from engine.language.schema_text import parse_type
from models.fits import find_misfits


def type_of(text: str) -> object:
    return Schema.parse({"x": text}).fields[0].type


def test_a_word_for_null_is_asked_for_and_read_as_null() -> None:
    schema = Schema.parse({"acts": "list[{what: string or Nothing}]", "note": "string?"})
    what = schema.json_schema(quotes)["properties"]["acts"]["items"]["properties"]["what"]
    assert what == {"anyOf": [{"type": "string"}, {"type": "string", "enum": ["Nothing"]}]}
    assert 'string or "Nothing"' in schema.describe()
    reply = {"acts": [{"what": "Nothing"}, {"what": "Nothing new"}], "note": "Nothing"}
    assert find_misfits(reply, schema.json_schema(quotes)) == []
    assert schema.read(reply) == {"acts": [{"what": None}, {"what": "Nothing new"}], "note": "Nothing"}


def test_null_in_quotation_marks_is_null_where_a_value_may_be_missing():
    kinds = {"may": "string?", "must": "string", "acts": "list[{span: string?}]", "word": "enum[null, x]?"}
    reply = {"may": "null", "must": "null", "acts": [{"span": "null"}, {"span": "null and void"}], "word": "null"}
    read = {"may": None, "must": "null", "acts": [{"span": None}, {"span": "null and void"}], "word": "null"}
    assert Schema.parse(kinds).read(reply) == read


def test_a_word_for_null_is_no_choice_of_its_enum() -> None:
    with pytest.raises(PipelineError, match="one of the choices already"):
        type_of("enum[a, none] or none")


def test_native_lists_mappings_and_long_forms_mean_the_same_as_text() -> None:
    native = Schema.parse(
        {"people": {"type": [{"name": {"type": "string", "description": "as written"}, "age": "int?"}]}}
    )
    text = Schema.parse({"people": 'list[{name: string "as written", age: integer?}]'})
    assert native == text


def test_a_mapping_with_type_and_other_keys_is_an_object() -> None:
    assert (
        type_of("{type: string, name: string}") == Schema.parse({"x": {"type": "string", "name": "str"}}).fields[0].type
    )


@pytest.mark.parametrize("value", [None, [], ["string", "int"], 3, {}, "string"])
def test_what_is_no_schema_is_refused(value: object) -> None:
    with pytest.raises(PipelineError):
        Schema.parse({"x": value} if value != "string" else value)


def test_field_names_must_be_text() -> None:
    with pytest.raises(PipelineError, match="field name must be text"):
        Schema.parse({1: "string"})


OFFICERS = Schema.parse(
    {
        "officers": {
            "type": "list[{name: string, quote: quote, guilty: boolean, on: date?}]",
            "description": "every officer\n  named",
        },
        "rank": "enum[Sgt., PO]",
        "note": "quote(summary)?",
    }
)


def quotes(quote: Quote) -> list[str]:
    return ["He ran.", "He ran.", "She saw it."] if quote.source is None else []


def test_json_schema_keeps_order_and_requires_everything() -> None:
    schema = OFFICERS.json_schema(quotes)
    item = schema["properties"]["officers"]["items"]
    assert list(schema["properties"]) == schema["required"] == ["officers", "rank", "note"]
    assert list(item["properties"]) == item["required"] == ["name", "quote", "guilty", "on"]
    assert schema["additionalProperties"] is item["additionalProperties"] is False
    assert item["properties"]["quote"] == {"type": "string", "enum": ["He ran.", "She saw it."]}
    assert schema["properties"]["note"] == {"type": "null"}  # nothing to quote from


def test_a_list_that_cannot_be_quoted_is_empty_and_a_plain_quote_is_an_error() -> None:
    in_list = Schema.parse({"facts": "list[{said: quote(body)}]"})
    assert in_list.json_schema(lambda _: [])["properties"]["facts"] == {"type": "array", "maxItems": 0}
    with pytest.raises(ItemError, match="no text to quote from in body"):
        Schema.parse({"said": "quote(body)"}).json_schema(lambda _: [])


def test_quote_fields() -> None:
    assert OFFICERS.quote_fields() == {None, "summary"}
    assert OFFICERS.has_quotes
    assert not Schema.parse({"a": "string"}).has_quotes


def test_describe_says_what_a_model_must_write() -> None:
    assert OFFICERS.describe() == (
        '{"officers": [{"name": string, "quote": a sentence copied from the text, "guilty": true or false, '
        '"on": date "YYYY-MM-DD" or null}, ...] (every officer named), "rank": one of "Sgt.", "PO", '
        '"note": a sentence copied from summary or null}'
    )


def test_schema_round_trips_through_yaml_and_text() -> None:
    assert Schema.parse(OFFICERS.to_yaml()) == OFFICERS
    assert parse_type(Record(OFFICERS.fields).text(), Where()) == Record(OFFICERS.fields)
