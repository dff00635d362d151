"""Changing one value of a YAML text: what was not asked for stays, to the last character."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

from engine.errors import PipelineError
from engine.language.yaml_edit import insert, move, remove, rename_key, set_value
from engine.language.yaml_reader import read_yaml

TEXT = """\
# What this is for.
operations:
  # The first one.
  - name: a   # its name
    type: map
    prompt: |
      {{ input.text }}

      Who?
    output:
      schema:
        # Who it was.
        who: string
        when: {type: date?, description: "the day"}

  # The second one.
  - {name: b, type: filter, condition: input.who}

pipeline:
  steps:
    - {name: s, input: d, operations: [a, b]}
"""


def difference(new: str, old: str = TEXT) -> list[str]:
    """Return the lines taken out and put in."""
    lines = difflib.ndiff(old.split("\n"), new.split("\n"))
    return [line for line in lines if line[0] in "+-"]


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (("operations", 0, "name"), "c", ["-   - name: a   # its name", "+   - name: c   # its name"]),
        (("operations", 0, "prompt"), "{{ input.text }}\n\nWhere?\n", ["-       Who?", "+       Where?"]),
        (("operations", 0, "max_tokens"), 40, ["+     max_tokens: 40"]),
        (("operations", 0, "output", "n"), 3, ["+       n: 3"]),
        (
            ("operations", 1, "condition"),
            "input.when: x",
            [
                "-   - {name: b, type: filter, condition: input.who}",
                '+   - {name: b, type: filter, condition: "input.when: x"}',
            ],
        ),
        (
            ("operations", 0, "output", "schema", "when", "description"),
            "day",
            [
                '-         when: {type: date?, description: "the day"}',
                "+         when: {type: date?, description: day}",
            ],
        ),
        (("default_model",), "small", ["+ default_model: small", "+ "]),
        (("operations", 0, "type"), "true", ["-     type: map", '+     type: "true"']),
        (("operations", 0, "limits"), [float("-inf"), float("nan")], ["+     limits: [-.inf, .nan]"]),
    ],
)
def test_a_value_is_set(path: tuple, value: object, expected: list[str]) -> None:
    assert difference(set_value(TEXT, path, value)) == expected


def test_lists_and_mappings_are_set() -> None:
    assert difference(set_value(TEXT, ("operations", 0, "drop_keys"), ["who", "when"])) == [
        "+     drop_keys: [who, when]"
    ]
    many = [f"field_number_{number}" for number in range(12)]
    assert len(difference(set_value(TEXT, ("operations", 0, "drop_keys"), many))) > 1  # too long for one line
    schema = difference(set_value(TEXT, ("operations", 0, "output", "schema"), {"x": "string"}))
    assert "+         x: string" in schema


def test_entries_come_and_go_with_their_comments() -> None:
    without = remove(TEXT, ("operations", 0))
    assert "The first one" not in without and "The second one" in without
    assert read_yaml(without)[0]["operations"] == read_yaml(TEXT)[0]["operations"][1:]
    assert "The second one" not in remove(TEXT, ("operations", 1))
    assert difference(remove(TEXT, ("operations", 0, "output", "schema", "who"))) == [
        "-         # Who it was.",
        "-         who: string",
    ]
    both = remove(
        remove(TEXT, ("operations", 0, "output", "schema", "who")),
        ("operations", 0, "output", "schema", "when"),
        floor=2,
    )
    assert "output" not in read_yaml(both)[0]["operations"][0]  # nothing is left of it


def test_entries_change_places_with_their_comments() -> None:
    moved = move(TEXT, ("operations",), 0, 1)
    assert (
        moved.index("The second one") < moved.index("name: b") < moved.index("The first one") < moved.index("name: a")
    )
    fields = move(TEXT, ("operations", 0, "output", "schema"), 1, 0)
    assert list(read_yaml(fields)[0]["operations"][0]["output"]["schema"]) == ["when", "who"]
    assert fields.index("when:") < fields.index("# Who it was.") < fields.index("who:")
    steps = move(TEXT, ("pipeline", "steps", 0, "operations"), 1, 0)
    assert "operations: [b, a]" in steps


def test_items_are_put_in_and_keys_renamed() -> None:
    new = insert(TEXT, ("operations",), 1, {"name": "c", "type": "map", "prompt": "one\ntwo\n"})
    assert [one["name"] for one in read_yaml(new)[0]["operations"]] == ["a", "c", "b"]
    assert new.index("The second one") > new.index("name: c")
    assert "    prompt: |\n      one\n      two\n" in new
    renamed = rename_key(TEXT, ("operations", 0, "output", "schema", "who"), "person")
    assert difference(renamed) == ["-         who: string", "+         person: string"]
    with pytest.raises(PipelineError, match="already"):
        rename_key(TEXT, ("operations", 0, "output", "schema", "who"), "when")


def test_what_others_share_is_left_to_the_person() -> None:
    shared = "a: &one {x: 1}\nb: *one\n"
    with pytest.raises(PipelineError, match="by itself"):
        set_value(shared, ("a",), 3)


def test_the_examples_are_changed_without_loss() -> None:
    for file in Path("examples").rglob("*.yaml"):
        text = file.read_text(encoding="utf-8")
        root = read_yaml(text)[0]
        for index in range(len(root.get("operations", []) if isinstance(root, dict) else [])):
            new = set_value(text, ("operations", index, "sample"), 2)
            added = [line for line in difference(new, text) if line.startswith("+")]
            assert len(added) == 1, file
