"""Rows that will not fit a prompt are named before anything runs, with what can be done."""

from __future__ import annotations

from dataclasses import replace

import pytest
from scripted_run import pipeline, write_jsonl, write_texts

from engine.estimate.sources import look_at
from engine.estimate.too_long import too_long

MAP = '  - {name: list, type: map, prompt: "{{ input.text }}", output: {schema: {n: integer}}, max_tokens: 100}'


def problems(path, operations, context=1000):
    loaded = pipeline(path, operations)
    return too_long(loaded.plan, look_at(loaded), context, loaded.positions)


@pytest.fixture
def rows(tmp_path):
    texts = [{"text": "x" * length} for length in (900, 3_000, 5_401, 90_000)]
    return write_jsonl(tmp_path / "in.jsonl", texts)


def test_rows_that_cannot_fit_are_errors_and_those_that_may_not_are_warnings(rows) -> None:
    # 1000 - 100 for the reply leave 900: from 5401 characters on not even six characters a token fit,
    # and 2520 characters are 840 tokens at three characters each, with 60 for the system message.
    error, warning = problems(rows, MAP)
    assert (error.severity, warning.severity) == ("error", "warning")
    assert error.message.startswith("1 of 4 rows of 'records' do not fit a prompt of 900 tokens: row 4 (15,000-30,060")
    assert warning.message.startswith("2 of 4 rows of 'records' may not fit a prompt of 900 tokens: row 3 (900-1,860")
    for remedy in ("split and gather", "fold_prompt", "too_long"):
        assert remedy in error.advice
    assert (error.operator, error.line) == ("list", 4)
    assert problems(rows, MAP, context=100_000) == []


def test_the_prompt_as_rendered_counts(rows) -> None:
    short = MAP.replace("{{ input.text }}", "{{ input.text[:900] }}")
    assert problems(rows, short) == []
    long = MAP.replace("{{ input.text }}", "y" * 6000 + "{{ input.text[:1] }}")
    assert problems(rows, long)[0].message.startswith("4 of 4 rows")


@pytest.mark.parametrize(
    "operations",
    [
        MAP.replace("max_tokens", "model: other, max_tokens").replace("type: map", "type: map").replace(
            "{{ input.text }}", "{{ input.other | default('') }}"
        ),
        "  - {name: cut, type: split, split_key: text, method: delimiter, method_kwargs: {delimiter: x}}\n" + MAP,
        "  - {name: first, type: map, prompt: short, output: {schema: {text: string}}}\n" + MAP,
    ],
)  # fmt: skip
def test_rows_that_are_not_known_before_a_run_are_not_judged(rows, operations) -> None:
    assert [p for p in problems(rows, operations) if p.operator == "list"] == []


@pytest.mark.parametrize(
    "before",
    [
        '  - {name: few, type: filter, condition: "len(input.text) < 100"}\n',
        "  - {name: few, type: add_uuid, sample: 1}\n",
    ],
)
def test_rows_that_may_be_left_out_before_are_warnings(rows, before) -> None:
    assert {problem.severity for problem in problems(rows, before + MAP)} == {"warning"}
    for key in ("sample: 1", "limit: 1"):
        few = MAP.replace("type: map", f"type: map, {key}")
        assert {problem.severity for problem in problems(rows, few)} == {"warning"}


def test_an_operator_that_says_what_to_do_with_long_rows_is_left_alone(rows) -> None:
    loaded = pipeline(rows, MAP)
    [node] = loaded.plan.operators
    object.__setattr__(node, "too_long", "split")
    assert too_long(replace(loaded.plan), look_at(loaded), 1000) == []


def test_guessed_sizes_give_warnings_only(tmp_path) -> None:
    folder = write_texts(tmp_path / "in", {"a.txt": "x" * 90_000})
    (folder / "b.pdf").write_bytes(bytes(9_000_000))
    error, warning = problems(folder, MAP)
    assert "a.txt" in error.message
    assert "b.pdf" in warning.message


def test_a_prompt_that_may_cut_the_text_of_a_file_gives_a_warning_only(tmp_path) -> None:
    folder = write_texts(tmp_path / "in", {"a.txt": "x" * 90_000})
    (problem,) = problems(folder, MAP.replace("{{ input.text }}", "{{ input.text[:900] }}"))
    assert problem.severity == "warning"
