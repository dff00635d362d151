from __future__ import annotations

import pytest

from engine.ask.proposal import Column, Proposal
from engine.ask.wording import draft_from_words, kind_of, settle, without_named
from engine.errors import UsageError


def test_names_are_put_in_order() -> None:
    columns = (Column("the  owner", "person"), Column("Owner"), Column("badge number", "number"))
    settled = settle(Proposal("Cars with owner and badge number", "the cars", columns))
    assert settled.row == "car"
    assert settled.columns == (Column("owner", "person"), Column("badge number"))
    assert settle(Proposal("What is it about?", "Document", (Column("subject"),))).row == ""


def test_things_that_are_asked_for_have_a_column() -> None:
    plate, phone = Column("plate"), Column("phone number")
    assert settle(Proposal("Which cars are mentioned, with plate?", "car", (plate,))).columns == (Column("car"), plate)
    witnesses = settle(Proposal("a table of all the witnesses, with phone", "witness", (phone,)))
    assert witnesses.columns == (Column("witness", "person"), phone)
    for asked, row, columns in (
        ("payments: plate", "payment", (plate,)),
        ("Which contracts were signed?", "document", (plate,)),
        ("Which witnesses have a phone?", "witness", (Column("name", "person"), phone)),
        ("What bites are there, word for word?", "bite", (Column("sentence", "quotation"),)),
    ):
        assert settle(Proposal(asked, row, columns)).columns == columns


def test_a_table_without_columns_is_no_draft() -> None:
    with pytest.raises(UsageError):
        settle(Proposal("Cars?", "car", (Column("--"),)))


def test_the_words_alone_give_a_usable_table() -> None:
    cars = draft_from_words("Which cars are mentioned, with plate number and date seen?")
    assert (cars.row, [(c.name, c.kind) for c in cars.columns]) == (
        "car", [("car", "text"), ("plate number", "text"), ("date seen", "date")],
    )  # fmt: skip
    assert [c.kind for c in draft_from_words("Is a weapon mentioned?").columns] == ["yes/no", "quotation"]
    assert draft_from_words("Wer war anwesend?").columns == (Column("answer"), Column("sentence", "quotation"))
    with pytest.raises(UsageError, match="there is no question"):
        draft_from_words("  ")


def test_choices_that_the_question_does_not_name_are_dropped() -> None:
    asked = "What language is it in, and was it sustained, not sustained or exonerated?"
    columns = (
        Column("language", "one of", ("English", "French")),
        Column("finding", "one of", ("sustained", "not sustained", "exonerated", "closed")),
    )
    settled = settle(Proposal(asked, "document", columns))
    assert settled.columns[0] == Column("language")
    assert settled.columns[1].choices == ("sustained", "not sustained", "exonerated")


def test_names_tell_kinds() -> None:
    names = ("badge number", "number of shots", "date filed", "fee for leaving", "was searched", "colour")
    assert [kind_of(name) for name in names] == ["text", "number", "date", "amount", "yes/no", "text"]


HIVES = ("hive number", "beekeeper", "e-mail", "cost of food", "cost")


@pytest.mark.parametrize(
    ("note", "kept"),
    [
        ("cost can go", "hive number, beekeeper, e-mail, cost of food"),
        ("No e-mail or beekeeper, for privacy reasons. Keep the rest.", "hive number, cost of food, cost"),
        ("I don't need the hive number or the cost, thanks", "beekeeper, e-mail, cost of food"),
        ("please drop food", "hive number, beekeeper, e-mail, cost"),
        ("no hive number no beekeeper pls", "e-mail, cost of food, cost"),
        ("the beekeeper column isn't needed", "hive number, e-mail, cost of food, cost"),
        ("no beekeepers under 18", ", ".join(HIVES)),
        ("drop the cost and the queen", ", ".join(HIVES)),
        ("only hives, no swarms", ", ".join(HIVES)),
        ("no dead hives", ", ".join(HIVES)),
        ("drop hive number, the beekeeper and e-mail", "cost of food, cost"),
        ("no cost, keep the beekeeper", "hive number, beekeeper, e-mail, cost of food"),
    ],
)
def test_a_note_that_names_columns_drops_them(note: str, kept: str) -> None:
    table = Proposal("Which hives?", "hive", tuple(map(Column, HIVES)))
    assert ", ".join(column.name for column in without_named(table, note)[0].columns) == kept


def test_the_last_column_stays() -> None:
    cars = Proposal("Cars?", "car", (Column("car"),))
    assert without_named(cars, "no car")[0] == cars


@pytest.mark.parametrize(
    "asked", ["- which cars\n- which officers", "9/11: which witnesses?", "$: all payments", "🚗: which cars?"]
)
def test_a_question_that_begins_with_no_word_has_a_table(asked: str) -> None:
    assert draft_from_words(asked).columns
