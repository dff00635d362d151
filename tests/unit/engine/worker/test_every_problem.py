"""`redwell check` tells everything that cannot be read at once, each with its own message, line and column."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripted_redwell import ScriptedModels

from engine.errors import PipelineError
from engine.loader import load_pipeline, parse_pipeline
from engine.worker.checking import all_problems

PIPELINE = """\
datasets:
  rows: {type: file, path: rows.json}
  more: {type: flder, path: x}
operations:
  - name: ask
    type: map
    prompt: "{{ input.text }}"
    output: {schema: {n: integer, x: strng}}
    validate: ['n = 3', 'output.x == f"{input.y}"', 'output.n > 0']
    modle: small
  - name: match
    type: equijoin
    comparison_prompt: "{{ left.a }} {{ right.a }}"
    blocking_conditions: ["left.a == "]
  - {name: other, type: equijoin, comparison_prompt: "{{ left.a }} {{ right.a }}"}
  - {name: keep, type: filter, condition: input.a}
  - {name: gone, type: filtr}
pipeline:
  steps:
    - {name: one, input: two, operations: [keep]}
    - {name: two, input: three, operations: [keep]}
    - {name: three, input: one, operations: [keep]}
    - {name: late, input: later, operations: [keep]}
    - {name: later, input: rows, operations: [keep, other, absent]}
    - {name: last, input: rows, operations: [keep, other]}
  output: {type: file, path: out.csv, tabel: x}
settings: {seed: -1}
"""


def place(at: str) -> tuple[int, int]:
    before = PIPELINE[: PIPELINE.index(at)]
    return before.count("\n") + 1, len(before) - before.rfind("\n")


@pytest.fixture
def problems(tmp_path: Path) -> list[tuple[int | None, int | None, str]]:
    file = tmp_path / "p.yaml"
    file.write_text(PIPELINE)
    checked = all_problems(lambda: load_pipeline(file), str(file), lambda: pytest.fail("no model is looked for"))
    assert checked.loaded is None
    return [(p.line, p.column, p.message) for p in checked.problems]


@pytest.mark.parametrize(
    ("at", "message"),
    [
        ("strng", "unknown type 'strng'"),
        ("= 3'", "a single = gives a name a value"),
        ('f"{input.y}"', "an f-string is not available"),
        ("modle", "unknown key 'modle'"),
        ("filtr", "unknown operator type 'filtr'"),
        ("two, operations", "these steps wait for each other: one reads two reads three reads one"),
        ("later, operations", "step 'late' reads 'later', which comes after it"),
        ("absent", "step 'later' names the operator 'absent', which is not under operations"),
        ("other]", "step 'last' joins with 'other' after other operators"),
        ("tabel", "unknown key 'tabel'"),
        ("flder", "'flder' is not one of the choices"),
        ("rows.json", "dataset 'rows': there is no file or folder"),
        ("{seed: -1}", "settings need seed >= 0"),
    ],
)
def test_each_mistake_has_its_own_message_at_its_own_place(
    problems: list[tuple[int | None, int | None, str]], at: str, message: str
) -> None:
    matching = [(line, column) for line, column, text in problems if message in text]
    assert matching == [place(at)]


def test_what_only_follows_from_another_mistake_is_not_told(
    problems: list[tuple[int | None, int | None, str]],
) -> None:
    assert len(problems) == 13 + 1  # besides those above, the condition of the join
    assert sum("is no expression" in message for _, _, message in problems) == 2


def test_the_error_of_a_run_is_the_first_one() -> None:
    with pytest.raises(PipelineError, match="unknown type 'strng'|n = 3|modle") as caught:
        parse_pipeline(PIPELINE)
    assert len(caught.value.each()) == 13  # the data is not looked for


def test_a_prompt_that_is_written_as_an_f_string_is_told() -> None:
    from engine.language.checks import check

    loaded = parse_pipeline(
        "datasets: {d: {type: folder, path: x}}\n"
        "operations:\n- {name: a, type: map, prompt: 'f\"Who is in {input.text}?\"', output: {schema: {x: string}}}\n"
        "pipeline: {steps: [{name: s, input: d, operations: [a]}]}\n"
    )
    assert "the prompt is written as an f-string of Python" in [p.message for p in check(loaded.plan)]


def test_paths_in_the_home_of_nobody_are_no_defect(tmp_path: Path) -> None:
    text = (
        "datasets: {d: {type: memory, data: [{a: x}]}}\n"
        "operations:\n"
        '- {name: ask, type: map, prompt: "{{ input.a }}", model: ~nobody-here/m.gguf, output: {schema: {n: string}}}\n'
        "pipeline:\n"
        "  steps: [{name: s, input: d, operations: [ask]}]\n"
        "  output: {type: file, path: ~nobody-here/out.csv, intermediate_dir: ~nobody-here/rows}\n"
    )
    checked = all_problems(lambda: parse_pipeline(text, directory=tmp_path), "p.yaml", ScriptedModels)
    assert checked.loaded is not None
    assert [problem.message for problem in checked.problems if problem.severity == "error"] == []
    typed = "types: ~nobody-here/types.yaml\n" + text
    (problem,) = all_problems(lambda: parse_pipeline(typed, directory=tmp_path), "p.yaml", ScriptedModels).problems
    assert "types.yaml" in problem.message
