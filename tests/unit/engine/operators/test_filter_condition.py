"""filter with a condition: code decides, nothing is asked, nothing is lost."""

from __future__ import annotations

import pytest

from engine.errors import ItemError, PipelineError
from engine.language.templates import Template
from engine.loader import parse_pipeline
from engine.operators.filter import Filter, run
from engine.rows import Row


class NoTools:
    def progress(self, done: int, total: int) -> None:
        """Take progress and forget it."""


def row(**values: object) -> Row:
    return Row.source("d", repr(sorted(values.items())), values)


async def test_rows_for_which_it_holds_stay_and_the_others_are_rejected_with_the_values_it_read() -> None:
    node = Filter(name="found", condition='input.outcome in ["sustained", "admitted"]')
    rows = [row(outcome="sustained"), row(outcome="cleared"), row(outcome="admitted")]
    outcome = await run(node, rows, NoTools())  # type: ignore[arg-type]
    assert [r.values["outcome"] for r in outcome.rows] == ["sustained", "admitted"]
    assert [r.parents for r in outcome.rows] == [(rows[0].id,), (rows[2].id,)]
    assert [item.row for item in outcome.rejected] == [rows[1]]
    assert 'outcome = "cleared"' in outcome.rejected[0].reason


async def test_the_condition_is_read_once_however_many_rows_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Filter(name="few", condition="input.n < 2")
    await run(node, [row(n=0)], NoTools())  # type: ignore[arg-type]
    monkeypatch.setattr("engine.language.expressions.ast.parse", None)
    outcome = await run(node, [row(n=n) for n in range(5)], NoTools())  # type: ignore[arg-type]
    assert [r.values["n"] for r in outcome.rows] == [0, 1]


async def test_a_field_that_is_not_there_fails_the_row() -> None:
    outcome = await run(Filter(name="f", condition="input.missing == 1"), [row(a=1)], NoTools())  # type: ignore[arg-type]
    assert "missing" in outcome.failed[0].error


@pytest.mark.parametrize(
    ("condition", "message"), [("input.a ==", "is no expression"), ("nobody.a", "unknown name 'nobody'")]
)
def test_a_wrong_condition_is_found_before_the_run(condition: str, message: str) -> None:
    with pytest.raises(PipelineError, match=message):
        Filter(name="f", condition=condition)


def test_a_condition_and_a_prompt_exclude_each_other() -> None:
    with pytest.raises(PipelineError, match="not both"):
        Filter(name="f", condition="true", prompt=Template.parse("{{ input.a }}"))


def test_it_declares_what_it_reads_and_asks_no_model() -> None:
    traits = Filter(name="f", condition="input.a > input.b").traits()
    assert traits.reads == {"a", "b"}
    assert not traits.calls_model


@pytest.mark.parametrize(
    ("text", "person", "expected"),
    [
        ("Ofc. K. Brandmoor did not switch it on.", "Officer Kelvin T. Brandmoor", "true"),
        ("VARRICK, DESMOND R. struck him.", "Sgt. D. Varrick", "true"),
        ("Officer Corinne Varrick saw it.", "Sgt. Desmond Varrick", "false"),
        ("The charge is sustained.", "Officer Brandmoor", "false"),
        ("He was late.", "the employee", "false"),
    ],
)
def test_names_person_knows_the_forms_of_a_name(text: str, person: str, expected: str) -> None:
    template = Template.parse("{{ input.text | names_person(input.person) }}")
    assert template.render(input={"text": text, "person": person}) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Sgt. A. Diaz", "true"),
        ("DIAZ,ANA #4417", "true"),
        ("Det. Tu1lock", "true"),
        ("3A14", "false"),
        ("Sergeant", "false"),
    ],
)
def test_is_person(text: str, expected: str) -> None:
    assert Template.parse("{{ input.text | is_person }}").render(input={"text": text}) == expected


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{ input.text | around(input.quote) }}", "She fell. He ran. It rained."),
        ("{{ input.text | around(input.quote, 0) }}", "He ran."),
        ("{{ input.text | around('She fell.') }}", "It began. She fell. He ran."),
        ("{{ input.text | around('Not there.') }}", "Not there."),
        ("{{ input.text | around('HE  ran', 0) }}", "He ran."),
        ("{{ input.text | around('rained', 1) }}", "He ran. It rained."),
        ("{{ input.text | around('fell. He', 0) }}", "She fell. He ran."),
        ("{{ input.text | around('she fell. he ran.', 0) }}", "She fell. He ran."),
        ("{{ input.text | around('ran. It rained.', 1) }}", "She fell. He ran. It rained."),
        ("{{ input.text | around('a', 0) }}", "a"),
        ("{{ input.text | around('', 0) }}", ""),
        ("{{ input.text | around('[', 0) }}", "["),
    ],
)
def test_around_gives_the_sentences_of_a_passage_with_neighbours(template: str, expected: str) -> None:
    row = {"text": "It began. She fell.\nHe ran. It rained.", "quote": "He ran."}
    assert Template.parse(template).render(input=row) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Sgt. Ana Diaz", "Officer Diaz fell.\nShe got up.\nDIAZ, ANA left."),
        ("Roe", "It rained.\nOfficer Diaz fell.\nShe got up.\nDIAZ, ANA left."),
        (None, "It rained.\nOfficer Diaz fell.\nShe got up.\nDIAZ, ANA left."),
    ],
)
def test_sentences_about_a_person_are_those_that_name_it_and_the_next(name: str | None, expected: str) -> None:
    row = {"text": "It rained. Officer Diaz fell.\nShe got up. DIAZ, ANA left.", "name": name}
    assert Template.parse("{{ input.text | sentences_about(input.name) }}").render(input=row) == expected


@pytest.mark.parametrize("value", [None, 7, ["Ana Diaz"]])
def test_what_is_no_text_is_no_person_and_no_sentence(value: object) -> None:
    row = {"value": value, "text": "None came. 7 left."}
    assert Template.parse("{{ input.value | is_person }}").render(input=row) == "false"
    assert Template.parse("{{ input.text | names_person(input.value) }}").render(input=row) == "false"
    assert Template.parse("{{ input.text | around(input.value) }}").render(input=row) == ""


@pytest.mark.parametrize("count", ["-1", "'x'", "1.5", "true"])
def test_around_wants_a_count_of_sentences(count: str) -> None:
    row = {"text": "She fell down. He ran away.", "quote": "He ran away."}
    with pytest.raises(ItemError, match="around.*whole number"):
        Template.parse("{{ input.text | around(input.quote, " + count + ") }}").render(input=row)


def test_the_yaml_form() -> None:
    loaded = parse_pipeline(
        "datasets: {d: {type: folder, path: x}}\n"
        "operations: [{name: f, type: filter, condition: input.pages > 2}]\n"
        "pipeline: {steps: [{name: s, input: d, operations: [f]}]}\n"
    )
    assert loaded.plan.operator("f") == Filter(name="f", condition="input.pages > 2")
