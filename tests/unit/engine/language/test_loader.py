from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import PipelineError
from engine.language.schema import Schema
from engine.language.templates import Template
from engine.language.writer import to_yaml
from engine.loader import load_pipeline, parse_pipeline
from engine.plan.plan import Dataset, Output, Settings, Step, SystemPrompt

GOOD = """\
default_model: qwen
system_prompt:
  dataset_description: police records
  persona: an investigator
settings:
  temperature: 1
datasets:
  records:
    type: folder
    path: records
operations:
  - name: find
    type: ask
    prompt: |
      Who is in this text?
      {{ input.text }}
    output:
      schema:
        officer: string
        said: {type: quote, description: what they said}
      n: 2
    threshold: 1
    drop_keys: text
    mode: slow
    options: {a: [1, {b: null}]}
    pairs: [[x, y]]
    windows:
      previous: {count: 2}
      next: {head: {count: 1, content_key: body}}
  - name: per_officer
    type: group
    reduce_key: [officer]
    prompt: "{% for i in inputs %}{{ i.said }}{% endfor %} {{ reduce_key }}"
    output: {schema: {acts: "list[string]"}}
pipeline:
  steps:
    - name: main
      input: records
      operations: [find, per_officer]
  output:
    type: file
    path: officers.csv
"""


def edit(old: str, new: str) -> str:
    assert GOOD.count(old) == 1, old
    return GOOD.replace(old, new)


def place(text: str, at: str) -> str:
    """Count the line and column of the first `at` in `text`."""
    before = text[: text.index(at)]
    return f"{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"


def failure(text: str, registry: object) -> PipelineError:
    with pytest.raises(PipelineError) as caught:
        parse_pipeline(text, file="p.yaml", registry=registry)  # type: ignore[arg-type]
    return caught.value


def test_every_kind_of_field_is_converted(registry: dict) -> None:
    loaded = parse_pipeline(GOOD, file="p.yaml", registry=registry)
    plan = loaded.plan
    find = plan.operator("find")
    assert loaded.warnings == ()
    assert plan.datasets == (Dataset("records", "folder", "records"),)
    assert plan.steps == (Step("main", ("records",), ("find", "per_officer")),)
    assert (plan.default_model, plan.output) == ("qwen", Output(path="officers.csv"))
    assert plan.system_prompt == SystemPrompt("police records", "an investigator")
    assert plan.settings == Settings(temperature=1.0)
    assert find.prompt == Template("Who is in this text?\n{{ input.text }}\n")
    assert find.schema == Schema.parse(
        {"officer": "string", "said": {"type": "quote", "description": "what they said"}}
    )
    assert (find.samples, find.threshold, find.mode, find.drop_keys) == (2, 1.0, "slow", ("text",))
    assert isinstance(find.threshold, float)
    assert find.options == {"a": (1, {"b": None})}
    assert find.pairs == (("x", "y"),)
    assert (find.windows.previous.count, find.windows.following.content_key) == (2, "body")
    hash(plan)


def test_positions_lead_back_to_the_file(registry: dict) -> None:
    positions = parse_pipeline(GOOD, registry=registry).positions
    prompt = positions.operator("find", "prompt")
    assert (prompt.line, prompt.inside(2, 4).line, prompt.inside(2, 4).column) == (14, 16, 10)
    assert positions.operator("find", "not", "written").line == 12


# What is changed; at which text of the changed file the error points; the message and a part of the advice.
MISTAKES = [
    ("    mode: slow", "    mod: slow", "mod: slow", "unknown key 'mod'", "Did you mean 'mode'? Valid here:"),
    ("      n: 2", "      nn: 2", "nn: 2", "unknown key 'nn'", "Valid here: n, schema."),
    ("      n: 2", "      n: two", "two\n", "expected a whole number, not the text 'two'", ""),
    ("      n: 2", "      n: true", "true\n", "expected a whole number, not true", ""),
    ("      n: 2", "      n: 0", "name: find", "samples must be at least 1, not 0", ""),
    ("mode: slow", "mode: slwo", "slwo", "the text 'slwo' is not one of the choices", "'slow'"),
    ("threshold: 1", "threshold: high", "high", "expected a number, not the text 'high'", ""),
    ("pairs: [[x, y]]", "pairs: [[x]]", "[x]", "expected a list of 2, not of 1", ""),
    ("previous: {count: 2}", "previous: {}", "{}", "the key 'count' is missing", "Add count."),
    ("previous: {count: 2}", "previous: 3", "3\n", "expected a mapping, not the number 3", "count"),
    ("officer: string\n", "officer: strng\n", "strng", "unknown type 'strng'", "'string'"),
    ("{{ input.text }}", "{{ inptu.text }}", "inptu", "the prompt uses 'inptu', which nothing provides", "'input'"),
    ("type: ask", "type: aks", "aks", "unknown operator type 'aks'", "Did you mean 'ask'?"),
    ("type: ask", "type: web_fetch", "web_fetch", "web_fetch is refused", "folder dataset"),
    ("[find, per_officer]", "[find, per_offcer]", "per_offcer]", "step 'main' names the operator", "'per_officer'"),
    ("input: records", "input: recrods", "recrods", "step 'main' reads 'recrods'", "'records'"),
    ("- name: main", "- name: records", "records\n      input", "'records' is already the name of a dataset", ""),
    ("type: folder", "type: foldr", "foldr", "the text 'foldr' is not one of the choices", "'folder'"),
    ("    path: records\n", "", "type: folder", "dataset 'records' of type folder needs a path", "type: memory"),
    ("default_model", "defualt_model", "defualt_model", "unknown key 'defualt_model'", "'default_model'"),
    ("default_model: qwen", "default_model: 7", "7\n", "expected text, not the number 7", "quotation marks"),
    ("  persona:", "  personna:", "personna", "unknown key 'personna'", "'persona'"),
    ("temperature: 1", "temperature: -1", "temperature: -1", "settings need seed >= 0", ""),
    ("pipeline:\n", "pipelines:\n", "pipelines:", "unknown key 'pipelines'", "'pipeline'"),
]


@pytest.mark.parametrize(("old", "new", "at", "message", "advice"), MISTAKES)
def test_errors_name_the_place_and_the_remedy(
    old: str, new: str, at: str, message: str, advice: str, registry: dict
) -> None:
    text = edit(old, new)
    error = failure(text, registry)
    assert str(error).startswith(f"p.yaml:{place(text, at)}: ")
    assert message in str(error)
    assert advice in error.advice
    assert error.operator == ("find" if text.find("name: find") <= text.index(at) < text.find("name: per_") else "")


def test_two_operators_of_one_name(registry: dict) -> None:
    text = edit("name: per_officer", "name: find")
    error = failure(text, registry)
    first = text[: text.index("name: find")].count("\n") + 1
    assert f"two operators are named 'find' (the first is at line {first})" in str(error)
    assert error.line == text[: text.rindex("name: find")].count("\n") + 1


def test_an_operator_without_a_name(registry: dict) -> None:
    text = edit("  - name: per_officer\n    type: group", "  - type: group")
    assert str(failure(text, registry)) == f"p.yaml:{place(text, 'type: group')}: the key 'name' is missing"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("- a\n- b\n", "p.yaml:1:1: expected a mapping, not a list"),
        ("a: [1, 2\nb: 3\n", "p.yaml:2:"),
        ("a: 1\na: 2\n", "p.yaml:2:1: the key 'a' is written twice"),
        ("a: !!python/object/apply:os.system [x]\n", "p.yaml:1:4: the YAML tag !!python/object/apply:os.system"),
        ("a: !secret x\n", "p.yaml:1:4: the YAML tag !secret is not accepted"),
        ("a: &a [*a]\n", "the YAML is nested more than 100 deep"),
        ("[" * 5000, "nested more than 100 deep"),
        ("? [a]\n: b\n", "a key must be a single value"),
        ("a: 1\n---\nb: 2\n", "p.yaml:2:1: not valid YAML"),
        ("operations: []\npipeline: {steps: []}\n", "there are no operators"),
        ("a: *nope\n", "not valid YAML"),
        ("a: \x00\n", "not valid YAML"),
        ("x" * 2_000_001, "a pipeline may have 2000000"),
    ],
)  # fmt: skip
def test_broken_and_hostile_yaml_is_refused(text: str, message: str, registry: dict) -> None:
    assert message in str(failure(text, registry))


def test_an_alias_bomb_is_refused(registry: dict) -> None:
    bomb = "a0: &a0 [x, x]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12))
    assert "expands to more than 100000 values" in str(failure(bomb, registry))


def test_merge_keys_and_aliases_work(registry: dict) -> None:
    text = edit("    threshold: 1\n", "    <<: {threshold: 0.25, mode: fast}\n")
    find = parse_pipeline(text, registry=registry).plan.operator("find")
    assert (find.threshold, find.mode) == (0.25, "slow")  # what is written wins over what is merged


def test_cloud_keys_give_one_warning_naming_them(registry: dict) -> None:
    text = "rate_limits: {llm_call: []}\n" + edit("    mode: slow", "    litellm_completion_kwargs: {a: 1}")
    loaded = parse_pipeline(text, file="p.yaml", registry=registry)
    assert [str(w) for w in loaded.warnings] == [
        "p.yaml:1:1: warning: these keys have no effect on this machine: rate_limits, "
        "litellm_completion_kwargs.a (find)"
    ]


def test_an_unused_operator_is_a_warning(registry: dict) -> None:
    text = edit("[find, per_officer]", "[find]")
    loaded = parse_pipeline(text, file="p.yaml", registry=registry)
    assert [str(w) for w in loaded.warnings] == [
        f"p.yaml:{place(text, 'name: per_officer')}: warning: operator 'per_officer': no step runs this operator"
    ]


def test_files_are_read_and_paths_start_at_them(tmp_path: Path, registry: dict) -> None:
    path = tmp_path / "p.yaml"
    path.write_text("\ufeff" + GOOD, encoding="utf-8")
    loaded = load_pipeline(path, registry=registry)
    assert loaded.plan.datasets[0].location(loaded.directory) == tmp_path.resolve() / "records"


def test_files_that_cannot_be_read(tmp_path: Path, registry: dict) -> None:
    (tmp_path / "latin.yaml").write_bytes(b"a: \xff\n")
    for name, message in (("no.yaml", "No such file"), ("latin.yaml", "not UTF-8")):
        with pytest.raises(PipelineError, match=message):
            load_pipeline(tmp_path / name, registry=registry)


def test_written_yaml_loads_as_the_same_plan(registry: dict) -> None:
    plan = parse_pipeline(GOOD, registry=registry).plan
    text = to_yaml(plan)
    assert parse_pipeline(text, registry=registry).plan == plan
    assert "    prompt: |\n      Who is in this text?\n" in text
    assert "keep:" not in text  # defaults are left out


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("a:\n\t- b\n", "Indent with spaces: here is a tab."),
        ("a: list[{b: c}]: d\n", "braces in quotation marks"),
        ("a:\n  b: 1\n   c: 2\n", "quotation marks"),
        ("a:\n  - b: 1\n c: 2\n", "Indent this line"),
        ("a:\n  b:c\n  d: e\n", "a space after the colon"),
    ],
)
def test_slips_in_yaml_come_with_what_to_do(text: str, advice: str) -> None:
    with pytest.raises(PipelineError) as caught:
        parse_pipeline(text)
    assert advice in caught.value.advice


def test_a_single_name_where_a_list_belongs_is_shown_as_a_list() -> None:
    with pytest.raises(PipelineError, match="expected a list of operator names") as caught:
        parse_pipeline(
            "datasets: {r: {type: folder, path: r}}\n"
            "operations: [{name: keep, type: filter, condition: 'true'}]\n"
            "pipeline: {steps: [{name: s, input: r, operations: keep}]}\n"
        )
    assert caught.value.advice == "Write operations: [keep]."


ROWS = "datasets: {rows: {type: memory, data: [{t: a}]}}\n"
KEEP = "operations: [{name: keep, type: filter, condition: 'true'}]\n"
STEPS = "pipeline: {steps: [{name: s, input: rows, operations: [keep]}]}\n"
TOP = "operations: [{name: keep, type: topk, method: fts, k: .inf, keys: [t], query: a}]\n"
PARSED = "datasets: {rows: {type: file, path: a.csv, parsing: [{function: [txt_to_string]}]}}\n"


@pytest.mark.parametrize(
    ("text", "at", "message"),
    [
        (ROWS + KEEP.replace("filter", "[compute]") + STEPS, "[compute]", "unknown operator type ['compute']"),
        (PARSED + KEEP + STEPS, "[txt_to_string]", "expected text, not a list"),
        (ROWS + KEEP + STEPS.replace("[keep]", "[[k]]"), "[k]", "expected the name of an operator, not a list"),
        (
            ROWS + KEEP + STEPS.replace("input: rows", "input: {name: rows}"),
            "{name: rows}",
            "expected the name of a dataset or an earlier step, not a mapping",
        ),
        (
            ROWS + KEEP + STEPS.replace("input: rows", "input: [rows, {name: rows}]"),
            "{name: rows}",
            "expected the name of a dataset or an earlier step, not a mapping",
        ),
        (ROWS + TOP + STEPS, "{name: keep", "k must be a whole number of at least 1"),
        (ROWS + TOP.replace(".inf", ".nan") + STEPS, "{name: keep", "k must be a whole number of at least 1"),
    ],
)
def test_a_value_of_a_wrong_kind_is_told_with_its_place(text: str, at: str, message: str) -> None:
    with pytest.raises(PipelineError) as caught:
        parse_pipeline(text, file="p.yaml")
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"p.yaml:{place(text, at)}")
