import pytest

from engine.directives.division import (
    answered_together,
    choices_of_items,
    divided_examples,
    even_parts,
    grouped,
    listed_kinds,
    only_fields,
    without_kinds,
)
from engine.language.schema import Schema

LISTED = "Extract:\n1. Parties: who signed\n2. Date\n3. Law\n4. Term\nBe brief.\n"


@pytest.mark.parametrize(
    ("names", "most", "parts"),
    [
        ("abc", 5, [("a",), ("b",), ("c",)]),
        ("abcde", 2, [("a", "b"), ("c", "d", "e")]),
        ("a", 3, [("a",)]),
    ],
)
def test_even_parts(names, most, parts):
    assert even_parts(list(names), most) == parts


def test_kinds_are_the_entries_of_lists_where_there_are_four_or_more():
    assert listed_kinds(LISTED) == ["Parties: who signed", "Date", "Law", "Term"]
    assert listed_kinds("- a b\n- c d\n- e f\n") == []
    assert listed_kinds("- {{ input.a }}\n" * 5) == []  # what a row holds is no kind
    assert grouped(listed_kinds(LISTED), 8) == [("Parties: who signed", "Date"), ("Law", "Term")]


def test_kinds_are_left_out_and_all_else_stays():
    left = without_kinds(LISTED, {"Date", "Law"})
    assert left == "Extract:\n1. Parties: who signed\n4. Term\nBe brief.\n"


def test_the_choices_of_a_lists_items():
    schema = Schema.parse({"c": "list[{text: string, kind: enum[a, b, c, d]?}]", "few": "list[{kind: enum[a, b]}]"})
    assert choices_of_items(schema.fields[0].type) == ("kind", ("a", "b", "c", "d"))
    assert choices_of_items(schema.fields[1].type) == ("", ())


def test_a_quote_is_answered_together_with_what_it_stands_before():
    schema = Schema.parse({"name": "string", "said": "quote(text)?", "guilty": "boolean", "last": "quote"})
    assert answered_together(schema) == [("name",), ("said", "guilty"), ("last",)]


def test_examples_are_divided_and_those_that_lack_a_field_left_out():
    schema = only_fields(Schema.parse({"a": "string", "b": "string"}), {"b"})
    whole = {"input": {"text": "t"}, "output": {"a": "1", "b": "2"}}
    examples = [whole, {"input": {"text": "u"}, "output": {"a": "1"}}]
    assert divided_examples(examples, ["a"], schema) == ({"input": {"text": "t", "a": "1"}, "output": {"b": "2"}},)
