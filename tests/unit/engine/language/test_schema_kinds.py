"""Types with patterns, ranges, lengths, choices and alternatives: how they are read, compiled and described."""

from __future__ import annotations

import math
from typing import Any

import pytest

from engine.errors import ItemError, PipelineError
from engine.language.position import Position, Positions, Where
from engine.language.schema import (
    DictOf,
    Either,
    Enum,
    Field,
    ListOf,
    Nullable,
    Number,
    Quote,
    Record,
    Scalar,
    Schema,
    Text,
    Type,
)
from engine.language.schema_text import parse_type
from models.fits import find_misfits

STRING = Scalar("string")
INTEGER = Scalar("integer")


def no_quotes(_: Quote) -> list[str]:
    return []


def fits(text: str, value: Any) -> bool:
    return not find_misfits({"x": value}, Schema.parse({"x": text}).json_schema(no_quotes))


@pytest.mark.parametrize(
    ("text", "kind", "canonical"),
    [
        ("string", Scalar("string"), None),
        ("str", Scalar("string"), None),
        ("text", Scalar("string"), None),
        ("Integer", Scalar("integer"), None),
        ("int", Scalar("integer"), None),
        ("number", Scalar("float"), None),
        ("float", Scalar("float"), None),
        ("bool", Scalar("boolean"), None),
        ("date", Scalar("date"), None),
        ("string?", Nullable(Scalar("string")), None),
        ("list[str]", ListOf(Scalar("string")), None),
        ("list[str, 8]", ListOf(Scalar("string"), 8), None),
        ("list[ list[int] ]?", Nullable(ListOf(ListOf(Scalar("integer")))), None),
        ("enum[Not Sustained, sustained]", Enum(("Not Sustained", "sustained")), None),
        ("enum[\"a, b\", 'c]', it's]", Enum(("a, b", "c]", "it's")), None),
        ("quote", Quote(), None),
        ("quote(full text)?", Nullable(Quote("full text")), None),
        ("quote(text, officer)", Quote("text", "officer"), None),
        ("string or Nothing", Nullable(Scalar("string"), "Nothing"), None),
        ('list[date or "not given"]', ListOf(Nullable(Scalar("date"), "not given")), None),
        ("{name: string, n: int,}", Record((Field("name", Scalar("string")), Field("n", Scalar("integer")))), None),
        ('{type: string "what kind"}', Record((Field("type", Scalar("string"), "what kind"),)), None),
        ("varchar", STRING, "string"),
        ("decimal", Scalar("float"), "float"),
        ("datetime", Scalar("datetime"), "datetime"),
        ("integer(1..5)", Number("integer", 1, 5), "integer(1..5)"),
        ("number(0..1)?", Nullable(Number("float", 0, 1)), "float(0..1)?"),
        ("int( 1 .. )", Number("integer", 1), "integer(1..)"),
        ("float(..-0.5)", Number("float", None, -0.5), "float(..-0.5)"),
        ("number(0<..<1)", Number("float", 0, 1, True, True), "float(0<..<1)"),
        ("integer(0<..<5)", Number("integer", 1, 4), "integer(1..4)"),
        ("number(1e-3..2.50)", Number("float", 0.001, 2.5), "float(0.001..2.5)"),
        ("number(-0..1)", Number("float", 0, 1), "float(0..1)"),
        ("integer[1, -2]", Enum((1, -2), "integer"), "integer[1, -2]"),
        ("number[0.5, 1.0]", Enum((0.5, 1), "float"), "float[0.5, 1]"),
        ("boolean[true]", Enum((True,), "boolean"), "boolean[true]"),
        ("string([A-Z]{2}-\\d+)", Text("[A-Z]{2}-\\d+"), "string([A-Z]{2}-\\d+)"),
        ("string((a|b)\\)[)(]+)", Text("(a|b)\\)[)(]+"), "string((a|b)\\)[)(]+)"),
        ("string([]a)]+)", Text("[]a)]+"), "string([]a)]+)"),
        ("string('1..5')", Text("1..5"), 'string("1..5")'),
        ('string("\\"x\\"")', Text('"x"'), 'string("\\"x\\"")'),
        ("string[..80]", Text(None, 0, 80), "string[..80]"),
        ("string[80]", Text(None, 0, 80), "string[..80]"),
        ("string([a-z]+)[2..4]?", Nullable(Text("[a-z]+", 2, 4)), "string([a-z]+)[2..4]?"),
        ("list[str, 2..8]", ListOf(STRING, 8, 2), "list[string, 2..8]"),
        ("list[str, ..8]", ListOf(STRING, 8), "list[string, 8]"),
        ("list[str, 2..]", ListOf(STRING, None, 2), "list[string, 2..]"),
        ("dict[int]", DictOf(INTEGER), "dict[integer]"),
        ("list[object]", ListOf(DictOf(STRING)), "list[dict[string]]"),
        ("int | str", Either((INTEGER, STRING)), "integer | string"),
        ("int? | str", Nullable(Either((INTEGER, STRING))), "integer | string | null"),
        ("null | int", Nullable(INTEGER), "integer?"),
        ("int | int", INTEGER, "integer"),
        (
            "int | str or none given",
            Nullable(Either((INTEGER, STRING)), "none given"),
            "integer | string or none given",
        ),
        ('enum["", a|b]', Enum(("", "a|b")), 'enum["", "a|b"]'),
        ("{or: str, type: enum[list]}", Record((Field("or", STRING), Field("type", Enum(("list",))))), None),
        ("{名前: str, 'é': int}", Record((Field("名前", STRING), Field("é", INTEGER))), "{名前: string, é: integer}"),
    ],
)
def test_each_type_is_read_and_written(text: str, kind: Type, canonical: str | None) -> None:
    read = parse_type(text, Where())
    assert read == kind
    assert parse_type(read.text(), Where()) == kind
    assert canonical in (None, read.text())


@pytest.mark.parametrize(
    ("text", "message", "column", "advice"),
    [
        ("strin", "unknown type 'strin'", 1, "Did you mean 'string'?"),
        ("list[{a: bol}]", "unknown type 'bol'", 10, "Did you mean 'bool'?"),
        ("list", "type 'list' is incomplete", 1, "list[string]"),
        ("list[string", "expected ']', found the end", 12, ""),
        ("{a string}", "expected ':', found '}'", 10, ""),
        ("enum[]", "at least one choice", 1, ""),
        ("enum[a, a]", "'a' is written twice", 1, ""),
        ("{a: int, a: int}", "'a' is written twice", 1, ""),
        ("string string", "unexpected 's'", 8, ""),
        ("", "expected a type, found the end", 1, "Valid types"),
        ('enum["a]', "quotation mark is not closed", 6, ""),
        ("list[" * 60, "nested more than 40 deep", 201, ""),
        ("[string]", "expected a type, found '['", 1, "list[T]"),
        ("integer(5..1)", "no number is in the range integer(5..1)", 1, "smaller end first"),
        ("number(1<..1)", "no number is in the range", 1, ""),
        ("integer(0<..<1)", "no number is in the range integer(1..0)", 1, ""),
        ("integer(1.5..)", "1.5 is not a whole number", 9, ""),
        ("integer(1e400..)", "1e400 is too large a number", 9, ""),
        ("number(0..1e300)", "ends at 9007199254740991 or before", 1, "open"),
        ("number(1e-300..1)", "no token mask can be made of float(1e-300..1)", 1, "fewer digits"),
        ("integer(..)", "expected a number, found ')'", 11, ""),
        ("integer(3)", "expected a range, found ')'", 10, "integer(0..1)"),
        ("integer[]", "at least one choice", 1, ""),
        ("integer[1, 1]", "the choice 1 is written twice", 1, ""),
        ("integer[a]", "expected a number, found 'a'", 9, ""),
        ("boolean[yes]", "expected true or false, found 'y'", 9, ""),
        ("string()", "the pattern is empty", 8, ""),
        ("string(a", "the pattern is not closed", 8, "quotation marks"),
        ("list[string([)]", "the pattern is not closed", 13, "quotation marks"),
        ("string(*)", "is no regular expression", 1, ""),
        ("string([a&&b])", "is no regular expression", 1, ""),
        ("string((?=a)b)", "look-around", 1, "look-around"),
        ("string((a)\\1)", "backreferences are not supported", 1, ""),
        ("string(a$b)", "no token mask can be made of string(a$b)", 1, "anchors"),
        ("string([^\\s\\S])", "no text matches it", 1, ""),
        ("string([a-z]{3})[..2]", "no text matches it", 1, ""),
        ("string((((a{1000}){1000}){1000}))", "longer than 20000 with its repetitions", 1, "[..200]"),
        ("string(1..5)", "is read as a regular expression", 8, "string[1..5]"),
        ("varchar(255)", "is read as a regular expression", 9, "string[255]"),
        ("string[5..2]", "at least 5 and at most 2 characters", 1, ""),
        ("string[..]", "or a range such as 2..8", 8, ""),
        ("string[0]", "at least 1", 8, ""),
        ('string("\\ud800")', "half of a surrogate pair", 8, ""),
        ("list[int, 8..2]", "at least 8 and at most 2 items", 1, ""),
        ("list[int, 0]", "at least 1", 11, ""),
        ("list[int, 12345678]", "expected ']'", 17, ""),
        ("null", "type 'null' is incomplete", 1, "string?"),
        ("null | null", "type 'null' is incomplete", 1, ""),
        ("int | strng", "unknown type 'strng'", 7, "Did you mean 'string'?"),
        ("string? or none", "null is allowed already", 9, "not both"),
        ("dict[", "expected a type, found the end", 6, ""),
        ("time", "unknown type 'time'", 1, "datetime"),
        ("{'': int}", "expected a field name", 2, ""),
    ],
)
def test_errors_point_into_the_type(text: str, message: str, column: int, advice: str) -> None:
    positions = Positions("p.yaml", {("s", "x"): Position(7, 12, 7, 12, True)})
    with pytest.raises(PipelineError) as caught:
        parse_type(text, Where(positions, ("s", "x")))
    assert message in str(caught.value)
    assert (caught.value.line, caught.value.column) == (7, 11 + column)
    assert advice in caught.value.advice


def test_a_long_type_is_shown_around_the_error() -> None:
    text = "{" + ", ".join(f"field{i}: string" for i in range(200)) + ", last: strin}"
    with pytest.raises(PipelineError) as caught:
        parse_type(text, Where())
    assert "last: strin}" in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("text", "good", "bad"),
    [
        ("integer(1..5)", [1, 5, 3.0], [0, 6, 1.5, "3", None, True]),
        ("number(0<..<1)", [0.5, 1e-9], [0, 1, -0.0, math.nan, math.inf]),
        ("number(0..1)?", [0, 1, -0.0, None], [1.0000001]),
        ("integer[1, 3]", [1, 3.0], [2, "1", True]),
        ("boolean[true]", [True], [False, 1]),
        ("string([A-Z]{2}|x)", ["AB", "x"], ["ABC", "xx", "AB\n", "\nx", ""]),
        ("string(^[a-z]$)", ["a"], ["ab", "a\n"]),
        ("string[2..3]", ["ab", "日本語", "🚓🚓"], ["a", "abcd", "🚓"]),
        ("list[integer, 2..3]", [[1, 2], [1, 2, 3]], [[1], [1, 2, 3, 4], [1, "2"]]),
        ("dict[integer]", [{}, {"a": 1, "": 2}], [{"a": "1"}, [], None]),
        ("integer | list[string]", [1, [], ["a"]], ["a", [1], None]),
        ("enum[Officer, witness]", ["Officer"], ["officer", "Officer "]),
        ("datetime", ["2024-02-29T23:59", "2024-01-31T00:00:59", "2024-01-31T10:00:00+05:30", "2024-01-31T10:00Z"], []),
        ("datetime", [], ["2023-02-29T10:00", "2024-01-31", "2024-01-31T24:00", "2024-01-31 10:00", "2024-01-31T1:00"]),
        ("date", ["2024-02-29", "2000-02-29", "0001-01-01", "1999-12-31", "2023-04-30"], []),
        ("date", [], ["2023-04-31", "2023-02-30", "2023-02-29", "1900-02-29", "0000-01-01", "2023-13-01", "2023-1-1"]),
        ("date", [], ["x2023-01-01", "2023-01-01\n", "٢٠٢٣-01-01"]),
    ],
)
def test_the_json_schema_says_what_the_type_says(text: str, good: list[Any], bad: list[Any]) -> None:
    assert [value for value in good if not fits(text, value)] == []
    assert [value for value in bad if fits(text, value)] == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("integer(1..5)", "integer from 1 to 5"),
        ("number(0<..)", "number above 0"),
        ("number(..<1)?", "number below 1 or null"),
        ("integer(1..)", "integer of at least 1"),
        ("number(0..<1)", "number of at least 0 and below 1"),
        ("integer[1, 2]", "one of 1, 2"),
        ("enum[only]", '"only"'),
        ("string([A-Z]{2})[..80]", "string matching [A-Z]{2} with at most 80 characters"),
        ("string[1..]", "string with at least 1 character"),
        ("list[string, 2..8]", "[string, ...] with 2 to 8 items"),
        ("list[string, 2..2]", "[string, ...] with 2 items"),
        ("dict[number]", '{"<name>": number, ...}'),
        ("integer | string | null", "integer or string or null"),
        ("datetime", 'date and time "YYYY-MM-DDTHH:MM"'),
    ],
)
def test_describe(text: str, words: str) -> None:
    assert Schema.parse({"x": text}).describe() == f'{{"x": {words}}}'


def test_reading_a_reply_gives_plain_values() -> None:
    schema = Schema.parse(
        {"n": "integer", "f": "number", "e": "integer[1, 2]", "d": "dict[integer or none]", "l": "list[number]"}
    )
    read = schema.read({"n": 2.0, "f": -0.0, "e": 1.0, "d": {"a": "none", "b": 1.0}, "l": [1.5, -0.0]})
    assert read == {"n": 2, "f": 0, "e": 1, "d": {"a": None, "b": 1}, "l": [1.5, 0]}
    assert [type(read[k]) for k in "ne"] == [int, int]
    assert math.copysign(1, read["f"]) == math.copysign(1, read["l"][1]) == 1


def test_a_word_for_null_is_read_in_the_alternative_it_was_written_for() -> None:
    schema = Schema.parse({"x": "{a: string, b: string} | {a: string or none, c: integer} | list[enum[x] or none]"})
    assert schema.read({"x": {"a": "none", "b": "none"}}) == {"x": {"a": "none", "b": "none"}}
    assert schema.read({"x": {"a": "none", "c": 1}}) == {"x": {"a": None, "c": 1}}
    assert schema.read({"x": ["x", "none"]}) == {"x": ["x", None]}


def test_quotes_inside_the_new_types() -> None:
    schema = Schema.parse({"d": "dict[quote]", "e": "quote(body) | integer", "l": "list[quote, ..3]"})
    assert schema.quote_fields() == {None, "body"}
    empty = schema.json_schema(no_quotes)["properties"]
    assert empty["d"] == {"type": "object", "additionalProperties": False}
    assert empty["e"] == {"anyOf": [{"type": "integer"}]}
    assert empty["l"] == {"type": "array", "maxItems": 0}
    for text in ("list[quote, 1..3]", "quote | quote(body)"):
        with pytest.raises(ItemError, match="no text to quote from"):
            Schema.parse({"x": text}).json_schema(no_quotes)


def nested_mapping(levels: int) -> Any:
    value: Any = "string"
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize("deepest", [nested_mapping(40), {"a": "list[" * 39 + "int" + "]" * 39}])
def test_forty_levels_are_read_and_written_and_forty_one_refused(deepest: Any) -> None:
    schema = Schema.parse(deepest)
    assert Schema.parse(schema.to_yaml()) == schema
    with pytest.raises(PipelineError, match="nested more than 40 deep"):
        Schema.parse({"a": deepest})


def test_hostile_nesting_is_refused_without_a_deep_stack() -> None:
    long_form: Any = "string"
    for _ in range(500):
        long_form = {"type": long_form}
    for value in (nested_mapping(500), long_form, {"a": "list[" * 5000}, {"a": "x" * 2_000_000}):
        with pytest.raises(PipelineError):
            Schema.parse({"x": value})


def test_an_enormous_enum_survives_yaml_and_a_larger_one_is_refused() -> None:
    choices = tuple(f"choice number {i}" for i in range(10_001))
    schema = Schema((Field("x", Enum(choices[1:])),))
    assert Schema.parse(schema.to_yaml()) == schema
    for larger in (Enum(choices).text(), {"enum": list(choices)}):
        with pytest.raises(PipelineError, match="at most 10000 choices, not 10001"):
            Schema.parse({"x": larger})


@pytest.mark.parametrize("name", ["\ud800", "  ", ""])
def test_a_name_that_no_json_can_hold_is_refused(name: str) -> None:
    with pytest.raises(PipelineError):
        Schema.parse({name: "string"})


def test_descriptions_of_items_go_to_the_field() -> None:
    schema = Schema.parse({"x": {"type": [{"type": "string", "description": "each one"}], "description": "all"}})
    assert schema.fields == (Field("x", ListOf(STRING), "all each one"),)
