"""The common keys in YAML: read, written back, and what is wrong with them told with the line."""

from __future__ import annotations

import re

import pytest

from engine.errors import PipelineError
from engine.language.checks import check
from engine.language.writer import to_yaml
from engine.loader import parse_pipeline

HEAD = """\
datasets: {records: {type: folder, path: records}}
operations:
  - name: find
    type: map
    prompt: "{{ input.text }}"
    output: {schema: {officers: "list[string]", count: integer}}
"""
TAIL = """\
retrievers:
  kb: {dataset: records, index_types: [fts], fts: {index_phrase: "{{ input.text }}", query_phrase: "{{ input.text }}"}}
pipeline: {steps: [{name: s, input: records, operations: [find]}]}
"""


def load(*lines: str):
    return parse_pipeline(HEAD + "".join(f"    {line}\n" for line in lines) + TAIL, file="p.yaml")


def problems(*lines: str) -> list[str]:
    loaded = load(*lines)
    return [f"{problem} | {problem.advice}" for problem in check(loaded.plan, positions=loaded.positions)]


ALL = (
    "validate:",
    '  - len(output["officers"]) >= 1',
    "  - output.count == len(output.officers)",
    "num_retries_on_validate_failure: 4",
    "gleaning:",
    "  num_rounds: 2",
    "  model: judge",
    "  if: len(output['officers']) < 3",
    "  validation_prompt: Are all of {{ output.officers }} in {{ input.text }}?",
    "timeout: 90",
    "limit: 5",
    "skip_on_error: true",
    "examples:",
    "  - {input: {text: Roy came.}, output: {officers: [Roy], count: 1}}",
    "retriever: kb",
    "save_retriever_output: true",
    "too_long: middle_out",
)


def test_all_keys_are_read_and_written_back() -> None:
    loaded = load(*ALL)
    node = loaded.plan.operators[0]
    assert [e.text for e in node.validate] == ['len(output["officers"]) >= 1', "output.count == len(output.officers)"]
    assert (node.gleaning.num_rounds, node.gleaning.model, node.other_models) == (2, "judge", ("judge",))
    assert node.gleaning.condition.text == "len(output['officers']) < 3"
    assert (node.reply_seconds, node.limit, node.fails_run, node.too_long) == (90, 5, False, "middle_out")
    assert parse_pipeline(to_yaml(loaded.plan)).plan == loaded.plan
    assert problems(*ALL) == []


def test_a_block_of_expressions_is_one_a_line() -> None:
    node = load("validate: |", "  output.count > 0", "  len(output.officers) > 0").plan.operators[0]
    assert [e.text for e in node.validate] == ["output.count > 0", "len(output.officers) > 0"]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["validate:", "  - output.count > 0", "  - len(output.officers >= 1"], r"p\.yaml:9:\d+: .*is no expression"),
        (["validate:", '  - re.match("a", output.officers)'], r"p\.yaml:8:9: .*the method 'match' is not available"),
        (["validate: [foo(output.count)]"], r"p\.yaml:7:\d+: .*unknown function 'foo'"),
        (["validate: [3]"], r"p\.yaml:7:\d+: .*expected text, not the number 3"),
        (["gleaning: {num_rounds: 0, validation_prompt: Good?}"], r"p\.yaml:7:\d+: .*num_rounds must be at least 1"),
        (["gleaning: {num_rounds: 1}"], r"p\.yaml:7:\d+: .*'validation_prompt' is missing"),
        (["gleaning: {validation_prompt: 'ok {{ outputs }}'}"], "uses 'outputs', which nothing provides"),
        (["gleaning: {validation_prompt: ok, rounds: 2}"], r"p\.yaml:7:\d+: .*unknown key 'rounds'"),
        (["gleaning: {validation_prompt: ok, if: 'output.count >'}"], r"p\.yaml:7:\d+: .*is no expression"),
        (["too_long: truncate"], "is not one of the choices"),
        (["on_error: stop"], "is not one of the choices"),
        (["limit: 0"], "limit must be at least 1"),
        (["limit: many"], "expected a whole number"),
        (["examples: [{input: {text: x}}]"], "an example has input and output"),
        (["num_retries_on_validate_failur: 1"], "Did you mean 'num_retries_on_validate_failure'"),
    ],
)
def test_a_wrong_key_is_an_error_with_its_line(lines: list[str], message: str) -> None:
    with pytest.raises(PipelineError) as caught:
        load(*lines)
    assert re.search(message, f"{caught.value} {caught.value.advice}")


def test_an_expression_that_names_no_field_is_found_with_its_line() -> None:
    [problem] = problems("validate:", "  - output.count > 0", '  - len(output["officer"]) >= 1')
    assert problem.startswith("p.yaml:9:13: operator 'find': validate reads the field 'officer', which nothing before")
    assert "Did you mean 'officers'? Fields here: officers, count, filename" in problem


def test_a_gleaning_condition_and_prompt_that_name_no_field_are_found() -> None:
    [first] = problems("gleaning:", "  if: output.cuont > 1", "  validation_prompt: Good?")
    assert first.startswith("p.yaml:8:11: operator 'find': gleaning.if reads the field 'cuont'")
    [second] = problems("gleaning:", "  validation_prompt: Is {{ output.cuont }} right?")
    assert "gleaning.validation_prompt reads the field 'cuont'" in second


def test_a_prompt_that_shows_what_no_retriever_finds_is_found() -> None:
    text = HEAD.replace("{{ input.text }}", "{{ input.text }} {{ retrieval_context }}") + TAIL
    loaded = parse_pipeline(text, file="p.yaml")
    [problem] = check(loaded.plan, positions=loaded.positions)
    assert "uses retrieval_context, but the operator has no retriever" in str(problem)
    assert (problem.line, problem.severity) == (5, "error")


def test_an_example_without_what_the_prompt_reads_is_found() -> None:
    [problem] = problems("examples:", "  - {input: {txt: Roy came.}, output: {count: 1}}")
    assert problem.startswith("p.yaml:8:9: operator 'find': the input of this example lacks text")


def test_an_example_is_held_to_the_prompt_and_not_to_the_judges() -> None:
    judge = 'gleaning: {validation_prompt: "Good? {{ input.kind }}"}'
    [problem] = problems(judge, "examples:", "  - {input: {txt: Roy came.}, output: {count: 1}}")
    assert "the input of this example lacks text" in problem
    assert problems(judge, "examples:", "  - {input: {text: Roy came.}, output: {count: 1}}") == []


def problems_of(operator: str) -> list[str]:
    operations = f"operations: [{{name: find, {operator}}}]\n"
    loaded = parse_pipeline("datasets: {records: {type: folder, path: records}}\n" + operations + TAIL, file="p.yaml")
    return [problem.message for problem in check(loaded.plan, positions=loaded.positions)]


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("inputs: [{text: a}]", ["this example has no reduce_key, which the prompt uses"]),
        ("inputs: [{text: a}], reduce_key: {}", ["the reduce_key of this example lacks kind, which the prompt reads"]),
        ("inputs: [{text: a}], reduce_key: {kind: a}", []),
    ],
)
def test_an_example_has_all_variables_that_the_prompt_uses(given: str, found: list[str]) -> None:
    prompt = '"{{ reduce_key.kind }}: {% for i in inputs %}{{ i.text }}{% endfor %}"'
    more = f"output: {{schema: {{who: string}}}}, examples: [{{{given}, output: {{who: b}}}}]"
    assert problems_of(f"type: reduce, reduce_key: kind, prompt: {prompt}, {more}") == found


@pytest.mark.parametrize(
    ("output", "found"),
    [
        ("{who: Roy}", []),
        ("{long: 3}", ["the input of this example lacks pages, which the prompt reads"]),
        ("{who: Roy, long: 3}", ["the input of this example lacks pages, which the prompt reads"]),
    ],
)
def test_an_example_is_held_to_the_prompts_that_answer_what_it_answers(output: str, found: list[str]) -> None:
    parts = '{prompt: "{{ input.text }}", output_keys: [who]}, {prompt: "{{ input.pages }}", output_keys: [long]}'
    operator = f"type: parallel_map, prompts: [{parts}], output: {{schema: {{who: string, long: integer}}}}"
    assert problems_of(f"{operator}, examples: [{{input: {{text: a}}, output: {output}}}]") == found


def test_a_key_that_changes_nothing_is_warned_about() -> None:
    text = HEAD.replace('    prompt: "{{ input.text }}"\n', "").replace("type: map", "type: filter")
    text = text.replace('    output: {schema: {officers: "list[string]", count: integer}}\n', "")
    text += "    condition: input.pages > 1\n    validate: ['1 == 1']\n" + TAIL
    loaded = parse_pipeline(text, file="p.yaml")
    [problem] = check(loaded.plan, positions=loaded.positions)
    assert "validate has no effect: this operator asks no model" in str(problem)
    assert problem.severity == "warning"


def test_what_a_kept_context_is_called_is_known_further_down() -> None:
    loaded = parse_pipeline(
        HEAD
        + "    retriever: kb\n    save_retriever_output: true\n"
        + "  - {name: next, type: map, prompt: '{{ input._find_retrieved_context }}', output: {schema: {x: string}}}\n"
        + TAIL.replace("[find]", "[find, next]")
    )
    assert [p for p in check(loaded.plan) if p.severity == "error"] == []


@pytest.mark.parametrize(
    ("prompt", "warned"),
    [
        ("{ input.text }", True),
        ("Is this it?", True),
        ("{{ 1 + 1 }}", True),
        ("{{ input.text | default('') }}", False),
        ("{{ input }}", False),
    ],
)
def test_a_prompt_that_says_nothing_of_the_row_is_warned_of(prompt: str, warned: bool) -> None:
    loaded = parse_pipeline(HEAD.replace("{{ input.text }}", prompt) + TAIL, file="p.yaml")
    found = [
        p
        for p in check(loaded.plan, positions=loaded.positions)
        if "reads no field" in p.message or "no {{ }}" in p.message
    ]
    assert [(p.severity, p.line) for p in found] == ([("warning", 5)] if warned else [])
