from __future__ import annotations

from dataclasses import replace

import pytest

from engine.ask.english import plural, singular
from engine.ask.proposal import Column, Proposal, checked, field_name, from_json
from engine.errors import UsageError

CARS = Proposal("Which cars?", "car", (Column("make"), Column("plate number"), Column("seen", "date")))


def test_it_is_said_in_a_sentence() -> None:
    assert CARS.sentence == "One row per car and document, with make, plate number and seen (date)."
    assert replace(CARS, row="").sentence.startswith("One row per document, with make,")


def test_names_become_fields_that_a_pipeline_can_have() -> None:
    assert [field_name(name) for name in ("plate number", "Who's there?", "2nd owner", "text", "-")] == [
        "plate_number", "who_s_there", "n_2nd_owner", "the_text", "",
    ]  # fmt: skip


def test_names_in_other_scripts_keep_their_vowels() -> None:
    fields = [field_name(name) for name in ("गाड़ी नंबर", "ชื่อ", "Nume\u0301ro d'e\u0301tat")]
    assert fields == ["गाड़ी_नंबर", "ชื่อ", "numéro_d_état"]
    assert all(field.isidentifier() for field in fields)


def of_columns(*columns: dict[str, object]) -> Proposal:
    return from_json({"question": "Which cars?", "row": "car", "columns": columns})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda: of_columns({"name": " "}), "a column cannot be called"),
        (lambda: of_columns({"name": "plate number"}, {"name": "Plate Number"}), "two columns would be called"),
        (lambda: of_columns({"name": "a", "kind": "colour"}), "there is no kind of column 'colour'"),
        (
            lambda: of_columns({"name": "a", "kind": "one of", "choices": ["new"]}),
            "needs 2 to 30 different choices, not 1",
        ),
        (lambda: checked(Proposal("", "", (Column("a"),))), "there is no question"),
        (lambda: checked(Proposal("q", "", ())), "a table has 1 to 12 columns, not 0"),
        (lambda: checked(Proposal("q" * 2001, "", (Column("a"),))), "the question is too long: 2,001 characters"),
        (lambda: from_json({"question": "q", "columns": [{"kind": "text"}]}), "this is no proposal: KeyError('name')"),
    ],
)
def test_what_cannot_be_a_table_is_refused(change, said: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UsageError) as raised:
        change()
    assert said in str(raised.value)
    assert raised.value.advice


def test_json_and_back_is_the_same() -> None:
    assert from_json(CARS.to_json()) == CARS


@pytest.mark.parametrize(
    ("many", "one"),
    [
        ("cars", "car"), ("parties", "party"), ("license plates", "license plate"), ("people", "person"),
        ("addresses", "address"), ("witnesses", "witness"), ("boxes", "box"), ("diagnoses", "diagnosis"),
    ],
)  # fmt: skip
def test_singular_and_plural(many: str, one: str) -> None:
    assert singular(many) == one
    assert plural(one) == many
    assert singular(one) == one
