from __future__ import annotations

import pytest

from engine.ask.pipeline import columns_of, pipeline_text, proposal_of
from engine.ask.proposal import KINDS, Column, Proposal, checked
from engine.executor.results import result_columns
from engine.language.checks import check
from engine.loader import parse_pipeline
from engine.plan.sources import DOCUMENT_FIELDS

ALL = tuple(
    Column(f"a {kind}", kind, ("new", "used, or so", 'an "old" one') if kind == "one of" else ()) for kind in KINDS
)


@pytest.mark.parametrize("row", ["car", ""])
def test_every_kind_of_column_makes_a_pipeline_without_problems(row: str) -> None:
    loaded = parse_pipeline(pipeline_text(Proposal("Which cars?", row, ALL, ("no trucks",))))
    assert not loaded.warnings
    assert not list(check(loaded.plan, positions=loaded.positions))


def test_the_question_is_text_whatever_it_holds() -> None:
    asked = "Which {{ input.secret }} {% for x in y %} {# note #}\n# \"cars\"? 'x': y"
    loaded = parse_pipeline(pipeline_text(Proposal(asked, "car", (Column("car"),))))
    prompt = next(node for node in loaded.plan.operators if node.name == "find_cars").prompt  # type: ignore[attr-defined]
    assert "Which { { input.secret }} { % for x in y %}" in prompt.text
    assert prompt.mentions("input") == frozenset({"text_chunk"})


def test_rows_that_are_persons_must_be_names() -> None:
    loaded = parse_pipeline(pipeline_text(Proposal("Who was there?", "person", (Column("name", "person"),))))
    assert [node.name for node in loaded.plan.operators][-2:] == ["names_only", "table"]


def test_a_person_may_stand_in_a_column_called_as_a_word_of_the_language() -> None:
    wanted = Proposal("Who wrote to whom?", "person", (Column("from", "person"), Column("to", "person")))
    loaded = parse_pipeline(pipeline_text(wanted))
    assert not list(check(loaded.plan, positions=loaded.positions))


@pytest.mark.parametrize("row", ["donor", "vendor", "defendant", "party"])
def test_rows_that_may_be_firms_are_not_dropped_for_having_no_name_of_a_person(row: str) -> None:
    """`City of Larkmoor` and `Jones & Sons` are donors, too."""
    loaded = parse_pipeline(pipeline_text(Proposal("Who gave how much?", row, (Column(row, "person"),))))
    assert "names_only" not in [node.name for node in loaded.plan.operators]


@pytest.mark.parametrize("row", ["car", ""])
def test_the_results_have_the_columns_of_the_table_and_no_other(row: str) -> None:
    proposal = Proposal("Which cars?", row, ALL)
    plan = parse_pipeline(pipeline_text(proposal)).plan
    fields = {field for column in ALL for field in (column.field,)}
    columns = result_columns(plan, (), source_fields=DOCUMENT_FIELDS)
    # Code reads dates and amounts into fields beside them.
    assert [c for c in columns if c not in fields and not any(c.startswith(f"{field}_") for field in fields)] == [
        "filename"
    ]
    assert fields <= set(columns)


def test_the_table_begins_with_the_file() -> None:
    assert columns_of(Proposal("Which?", "car", (Column("plate number"),))) == ["filename", "plate_number"]


@pytest.mark.parametrize("model", ["", "qwen2.5-coder-0.5b"])
def test_a_pipeline_that_nobody_changed_tells_its_table(model: str) -> None:
    asked = "Which cars?\u2028 {{ x }}\n# \u00e9 [1]"
    proposal = Proposal(asked, "car", ALL, ("no trucks",))
    text = pipeline_text(proposal, model=model)
    assert proposal_of(text) == checked(proposal)
    assert proposal_of("no lorries".join(text.rsplit("no trucks", 1))) is None
    assert proposal_of(text.replace("num_tokens: 6000", "num_tokens: 600")) is None


@pytest.mark.parametrize(
    "text", ["", "a: [", "# Table: {", "# Table: [1]\na: 1\n", "datasets: {}\n", '# Table: {"question": 1}']
)
def test_any_other_text_tells_none(text: str) -> None:
    assert proposal_of(text) is None


def test_a_column_called_as_the_rows_are_is_in_the_results() -> None:
    """The things stand in a list of that name until each has a row of its own."""
    plan = parse_pipeline(
        pipeline_text(Proposal("Who saw it?", "witness", (Column("witnesses"), Column("phone"))))
    ).plan
    assert {"witnesses", "phone"} <= set(result_columns(plan, (), source_fields=DOCUMENT_FIELDS))


@pytest.mark.parametrize("odd", ["\x02", "\x7f", "\u2028", "\x85", "\ud800"])
def test_control_characters_of_a_pasted_question_are_spaces(odd: str) -> None:
    table = Proposal(
        f"Which{odd}cars?", f"ca{odd}r", (Column(f"pla{odd}te", "one of", ("a", f"b{odd}c")),), (f"no{odd}t",)
    )
    text = pipeline_text(table)
    assert parse_pipeline(text).plan.operators
    assert (made := proposal_of(text)) is not None
    assert (made.question, made.columns[0].name, made.notes) == ("Which cars?", "pla te", ("no t",))
