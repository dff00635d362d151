"""What unnest writes is known from the types of a schema, so that a misspelt key is found before a model is asked."""

from __future__ import annotations

import pytest

from engine.language.checks import check, field_flow
from engine.loader import parse_pipeline

PIPELINE = """\
datasets:
  records: {{type: folder, path: records}}
operations:
  - name: find
    type: map
    prompt: "{{{{ input.text }}}}"
    output: {{schema: {{people: "{type}"}}}}
  - name: each
    type: unnest
    unnest_key: people
{keys}
  - name: group
    type: reduce
    reduce_key: {key}
    prompt: "{{% for item in inputs %}}{{{{ item.{read} }}}}{{% endfor %}}"
    output: {{schema: {{all: string}}}}
pipeline:
  steps:
    - {{name: main, input: records, operations: [find, each, group]}}
"""


def problems(type: str, key: str, read: str, keys: str = "") -> list[str]:
    lines = "\n".join(f"    {line}" for line in keys.split("; ") if line)
    text = PIPELINE.format(type=type, key=key, read=read, keys=lines)
    loaded = parse_pipeline(text, file="p.yaml")
    return [f"{p.line}: {p.message} {p.advice}" for p in check(loaded.plan, positions=loaded.positions)]


def test_a_misspelt_key_after_unnest_of_a_list_fails_with_its_line_and_the_fields_there_are() -> None:
    [problem] = problems("list[string]", "poeple", "people")
    assert problem.startswith("14: reduce_key reads the field 'poeple', which nothing before it writes")
    assert "Did you mean 'people'?" in problem
    assert "Fields here: " in problem and "people" in problem.split("Fields here: ")[1]


@pytest.mark.parametrize(
    ("type", "key", "keys"),
    [
        ("list[{name: string, age: integer}]", "people", ""),
        ("{name: string, age: integer}", "name", ""),
        ("list[{name: string, age: integer}]", "age", "recursive: true"),
        ("list[list[{name: string}]]", "name", "recursive: true; depth: 3"),
        ("list[{name: string}]?", "name", "recursive: true"),
        ("dict[string]", "anything", ""),
        ("list[dict[string]]", "anything", "recursive: true"),
    ],
)
def test_fields_that_unnest_lifts_are_there(type: str, key: str, keys: str) -> None:
    assert problems(type, key, key, keys) == []


@pytest.mark.parametrize(
    ("type", "key", "keys"),
    [
        ("list[{name: string, age: integer}]", "name", ""),  # the elements stay whole
        ("{name: string, age: integer}", "nme", ""),
        ("list[list[{name: string}]]", "name", "recursive: true; depth: 2"),  # opened twice: the dictionary stays
    ],
)
def test_fields_that_it_does_not_lift_are_not(type: str, key: str, keys: str) -> None:
    [problem] = problems(type, key, key, keys)
    assert f"reads the field {key!r}" in problem


def test_the_type_of_the_element_is_known_to_the_next_unnest() -> None:
    text = PIPELINE.format(type="list[{name: string}]", key="nmae", read="name", keys="")
    text = text.replace("[find, each, group]", "[find, each, again, group]").replace(
        "  - name: group", "  - {name: again, type: unnest, unnest_key: people}\n  - name: group"
    )
    loaded = parse_pipeline(text, file="p.yaml")
    [problem] = check(loaded.plan, positions=loaded.positions)
    assert "'nmae'" in problem.message
    assert "Did you mean 'name'?" in problem.advice


def test_entries_of_a_dictionary_that_become_fields_are_known_too() -> None:
    text = PIPELINE.format(type="{name: string}", key="name", read="nmae", keys="")
    text = text.replace("type: unnest\n", "type: unnest_columns\n")
    loaded = parse_pipeline(text, file="p.yaml")
    [problem] = check(loaded.plan, positions=loaded.positions)
    assert problem.message == "prompt reads the field 'nmae', which nothing before it writes"


def test_where_the_type_is_not_known_any_field_may_be_there() -> None:
    text = PIPELINE.format(type="string", key="x", read="x", keys="").replace("unnest_key: people", "unnest_key: text")
    plan = parse_pipeline(text, file="p.yaml").plan
    assert check(plan) == []
    assert field_flow(plan)["main"] == {"x", "all", "_counts_prereduce_group"}


@pytest.mark.parametrize(
    "type", ["string", "string[2..80]", "quote", "integer(1..5)", "boolean", "enum[a, b]", "string?", "string | float"]
)
def test_what_is_neither_a_list_nor_a_dictionary_is_refused(type: str) -> None:
    [problem] = problems(type, "people", "people")
    assert problem.startswith(f"10: the field 'people' is of type {type}, not a list or a dictionary")


@pytest.mark.parametrize("type", ["list[string]?", "dict[string]", "{name: string}", "date()", "list[string] | string"])
def test_what_may_be_a_list_or_a_dictionary_is_not(type: str) -> None:
    assert problems(type, "people", "people") == []


@pytest.mark.parametrize(("type", "advice"), [("list[string]", "Use unnest for lists."), ("string", "Name a field")])
def test_columns_are_made_of_dictionaries_alone(type: str, advice: str) -> None:
    text = PIPELINE.format(type=type, key="kind", read="kind", keys="")
    loaded = parse_pipeline(text.replace("type: unnest\n", "type: unnest_columns\n"), file="p.yaml")
    [problem] = check(loaded.plan, positions=loaded.positions)
    assert (problem.message, problem.line) == (f"the field 'people' is of type {type}, not a dictionary", 10)
    assert problem.advice.startswith(advice)


CLASH = "the dictionary in 'people' has a field 'kind', and so have the rows: where the two differ, a row fails"


@pytest.mark.parametrize(
    ("type", "keys", "warned"),
    [
        ("{kind: string, name: string}", "", True),
        ("{kind: string, name: string}", "expand_fields: [name]", False),
        ("list[{kind: string, name: string}]", "recursive: true", True),
        ("list[{kind: string, name: string}]", "", False),
    ],
)
def test_a_lifted_field_that_rows_have_already_is_warned_of(type: str, keys: str, warned: bool) -> None:
    found = problems(type, "kind", "kind", keys)
    assert [problem.split(" List")[0] for problem in found] == ([f"10: {CLASH}"] if warned else [])
    assert all("List the fields to lift in expand_fields" in problem for problem in found)


@pytest.mark.parametrize(("keys", "warned"), [("", True), ("keys: [name]", False)])
def test_an_entry_that_rows_have_already_as_a_field_is_warned_of(keys: str, warned: bool) -> None:
    text = PIPELINE.format(type="{kind: string, people: string}", key="kind", read="kind", keys=f"    {keys}")
    loaded = parse_pipeline(text.replace("type: unnest\n", "type: unnest_columns\n"), file="p.yaml")
    found = [(p.message, p.severity) for p in check(loaded.plan, positions=loaded.positions)]
    assert found == ([(CLASH, "warning")] if warned else [])


def test_code_may_make_a_list_of_a_text() -> None:
    code = "def transform(doc): return {'people': doc['people'].split()}"
    text = PIPELINE.format(type="string", key="people", read="people", keys="")
    text = text.replace("[find, each, group]", "[find, cut, each, group]").replace(
        "  - name: each", f'  - {{name: cut, type: code_map, code: "{code}"}}\n  - name: each'
    )
    assert check(parse_pipeline(text, file="p.yaml").plan) == []
