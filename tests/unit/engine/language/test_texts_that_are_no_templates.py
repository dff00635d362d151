"""A prompt without {{ }} is followed by the fields of its row, as DocETL does, and check says so."""

from __future__ import annotations

from typing import Any

import pytest

from engine.language.checks import check
from engine.loader import parse_pipeline

PIPELINE = """\
datasets:
  rows: {type: memory, data: [{a: x}]}
  more: {type: memory, data: [{b: x}]}
operations:
  - name: ask
    type: map
    prompt: Who is named?
    output: {schema: {who: string}}
  - {name: keep, type: filter, prompt: Is anybody named?, output: {schema: {yes: boolean}}}
  - name: both
    type: parallel_map
    prompts: [{prompt: Who is hurt?, output_keys: [hurt]}]
    output: {schema: {hurt: string}}
  - name: same
    type: resolve
    comparison_prompt: Are they the same?
    resolution_prompt: Write one name.
    output: {schema: {who: string}}
  - name: all
    type: reduce
    reduce_key: _all
    prompt: What do they say?
    output: {schema: {said: string}}
  - {name: join, type: equijoin, comparison_prompt: Do they belong together?}
pipeline:
  steps:
    - {name: one, input: rows, operations: [ask, keep, both, same, all]}
    - {name: two, operations: [join: {left: rows, right: more}]}
"""


@pytest.fixture
def loaded() -> Any:
    return parse_pipeline(PIPELINE, file="p.yaml")


# The texts are those of DocETL's strict_render; values are written as JSON, as in any prompt.
@pytest.mark.parametrize(
    ("operator", "key", "values", "text"),
    [
        ("ask", "prompt", {"input": {"a": "x"}}, 'Who is named?\n\nHere is the document: {"a":"x"}'),
        ("keep", "prompt", {"input": {"a": 1}}, 'Is anybody named?\n\nHere is the document: {"a":1}'),
        ("all", "prompt", {"inputs": [{"a": 1}]}, 'What do they say?\n\nHere are the documents: [{"a":1}]'),
        ("same", "resolution_prompt", {"inputs": [{"a": 1}]}, 'Write one name.\n\nHere are the documents: [{"a":1}]'),
        (
            "same",
            "comparison_prompt",
            {"input1": {"a": 1}, "input2": {"a": 2}},
            'Are they the same?\n\nHere are the documents:\nDocument 1: {"a":1}\nDocument 2: {"a":2}',
        ),
        (
            "join",
            "comparison_prompt",
            {"left": {"a": 1}, "right": {"b": 2}},
            'Do they belong together?\n\nHere are the documents:\nLeft document: {"a":1}\nRight document: {"b":2}',
        ),
    ],
)
def test_what_it_is_about_stands_behind_the_text(
    loaded: Any, operator: str, key: str, values: dict[str, Any], text: str
) -> None:
    assert getattr(loaded.plan.operator(operator), key).render(**values) == text


def test_a_prompt_of_a_parallel_map_too(loaded: Any) -> None:
    [part] = loaded.plan.operator("both").prompts
    assert part.prompt.render(input={"a": 1}) == 'Who is hurt?\n\nHere is the document: {"a":1}'
    assert part.prompt.text == "Who is hurt?"  # what the pipeline says stays what it says


def test_check_says_so_for_each_prompt_at_its_line(loaded: Any) -> None:
    warnings = [p for p in check(loaded.plan, positions=loaded.positions) if "added after it" in p.message]
    assert [p.severity for p in warnings] == ["warning"] * 7
    lines = PIPELINE.split("\n")
    told = [lines[p.line - 1] for p in warnings if p.line]
    assert len(told) == 7
    assert all("prompt" in line for line in told)


def test_all_fields_are_read(loaded: Any) -> None:
    assert loaded.plan.operator("ask").traits().reads_unknown


def test_a_template_stays_what_it_is() -> None:
    template = PIPELINE.replace("prompt: Who is named?", 'prompt: "{% if input.a %}Who?{% endif %}"')
    prompt = parse_pipeline(template).plan.operator("ask").prompt  # type: ignore[attr-defined]
    assert prompt.render(input={"a": "x"}) == "Who?"
