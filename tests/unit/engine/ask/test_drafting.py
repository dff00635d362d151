from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest
from scripted_model import ScriptedBackend

from engine.ask.drafting import changes, draft, revise
from engine.ask.proposal import Column, Proposal
from engine.errors import UsageError
from models.errors import OutOfTokens
from models.fits import find_misfits
from models.protocol import Request


def model(value: Mapping[str, Any]) -> ScriptedBackend:
    return ScriptedBackend(lambda request: value)


CARS = Proposal("Which cars are there?", "car", (Column("car"), Column("state", "one of", ("new", "old"))))


def test_the_model_drafts_and_the_words_correct() -> None:
    asked = "For each contract: parties, fee, and are they active, expired or void?"
    backend = model(
        {"row": "document", "columns": ["parties: text", "fee: amount", "state: one of active, expired, void"]}
    )
    made = asyncio.run(draft(asked, backend))
    assert (made.proposal.row, made.problem) == ("", "")
    assert made.proposal.columns == (
        Column("parties"), Column("fee", "amount"), Column("state", "one of", ("active", "expired", "void")),
    )  # fmt: skip
    first = backend.requests[0].segments[0]
    assert first.role == "system" and "one row of the table" in first.text
    assert backend.requests[0].segments[-1].text == f"Question: {asked}"


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("Wills, one per file:\n- testator\n- date,\n\n* heir", "Wills, one per file: testator, date, heir"),
        ("Which officers were on\nduty, and when?", "Which officers were on duty, and when?"),
    ],
)
def test_columns_listed_one_a_line_are_shown_behind_a_colon(typed: str, shown: str) -> None:
    backend = model({"row": "will", "columns": ["testator: person"]})
    asyncio.run(draft(typed, backend))
    assert backend.requests[0].segments[-1].text == f"Question: {shown}"


def test_without_a_usable_reply_the_words_alone_are_the_draft() -> None:
    def fail(request: Request) -> Any:
        raise OutOfTokens("the reply repeats itself after 320 tokens")

    made = asyncio.run(draft("Is a weapon mentioned?", ScriptedBackend(fail)))
    assert [c.kind for c in made.proposal.columns] == ["yes/no", "quotation"]
    assert "repeats itself" in made.problem
    assert asyncio.run(draft("Is a weapon mentioned?", None)).problem == "no model is installed"


def test_of_a_reply_that_goes_round_in_circles_the_columns_before_are_the_draft() -> None:
    def circle(request: Request) -> Any:
        partial = '{"row": "car", "columns": ["plate: text", "colour: text", "colour: text", "colo'
        raise OutOfTokens("the reply repeats itself after 320 tokens", partial=partial)

    made = asyncio.run(draft("Which cars are there? Give plate and colour", ScriptedBackend(circle)))
    assert ([c.name for c in made.proposal.columns], made.problem) == (["car", "plate", "colour"], "")


def test_the_tables_of_the_questions_most_like_it_are_shown() -> None:
    request = asyncio.run(asked_of("Which cars are mentioned, with plate number?"))
    *_, question, answer, last = request.segments
    assert (question.role, answer.role, last.role) == ("user", "assistant", "user")
    assert set(json.loads(answer.text)) == {"row", "columns"}
    assert len(request.segments) == 1 + 2 * (6 + 4) + 1


@pytest.mark.parametrize(
    ("question", "fitting", "unfit"),
    [
        ("For each contract: parties, fee", "document", "contract"),
        ("Which dogs are mentioned, with owner?", "dog", "document"),
        ("Which dogs are mentioned, with owner?", "doctor", "Documents"),
        ("For each contract, its parties, one line per party", "party", ""),
    ],
)
def test_the_mask_holds_what_the_words_say_of_the_row(question: str, fitting: str, unfit: str) -> None:
    request = asyncio.run(asked_of(question))
    misfits = [find_misfits({"row": row, "columns": ["a: text"]}, request.schema) for row in (fitting, unfit)]
    assert not misfits[0] and misfits[1]


@pytest.mark.parametrize(
    "column", ["hours: number of hours", "a: text, b: text", ": text", "thing; owner: text", "species / weight: text"]
)
def test_a_column_of_no_kind_or_of_two_things_does_not_fit_the_mask(column: str) -> None:
    request = asyncio.run(asked_of("How long?"))
    assert find_misfits({"row": "car", "columns": [column]}, json.loads(request.schema_json))


async def asked_of(question: str) -> Request:
    backend = model({"row": "car", "columns": ["car: text"]})
    await draft(question, backend)
    return backend.requests[0]


def test_a_note_changes_columns_or_is_told_to_the_model() -> None:
    split = model({"row": "car", "columns": ["make: text", "model: text", "state: one of new, old"]})
    changed = asyncio.run(revise(CARS, "split the car into make and model", split)).proposal
    assert [c.name for c in changed.columns] == ["make", "model", "state"]
    assert changed.notes == ()
    assert changes(CARS, changed) == ["car was removed.", "make was added.", "model was added."]
    asked = split.requests[0].segments
    assert '"car: text",\n    "state: one of new, old"' in asked[-1].text
    assert "Wish: split the car into make and model" in asked[-1].text

    same = model({"row": "car", "columns": ["car: text", "state: one of new, old"]})
    noted = asyncio.run(revise(CARS, "only cars, not trucks", same)).proposal
    assert (noted.columns, noted.notes) == (CARS.columns, ("only cars, not trucks",))
    assert changes(CARS, noted) == ["The model is also told: only cars, not trucks"]


def test_columns_that_a_note_drops_are_dropped_where_the_model_leaves_them() -> None:
    same = model({"row": "car", "columns": ["car: text", "state: one of new, old"]})
    for asked in (same, None):
        made = asyncio.run(revise(CARS, "state can go", asked)).proposal
        assert (made.columns, made.notes) == ((Column("car"),), ())
        more = "No state. Instead: is it insured?"
        made = asyncio.run(revise(CARS, more, asked)).proposal
        assert (made.columns, made.notes) == ((Column("car"),), (more,))  # what else is wished is told to the model


def test_every_file_may_be_the_thing_that_a_wish_wants_a_row_for() -> None:
    backend = model({"row": "document", "columns": ["stars: number"]})
    table = Proposal("Reviews, with stars", "review", (Column("stars", "number"),))
    made = asyncio.run(revise(table, "one row for each review, every file is one review", backend)).proposal
    assert (made.row, find_misfits({"row": "document", "columns": ["a: text"]}, backend.requests[0].schema)) == ("", [])


def test_a_wish_for_a_row_per_thing_masks_the_document() -> None:
    backend = model({"row": "party", "columns": ["party: text"]})
    contracts = Proposal("For each contract: parties", "", (Column("parties"),))
    asyncio.run(revise(contracts, "one row per party please", backend))
    schema = backend.requests[0].schema
    assert find_misfits({"row": "document", "columns": ["party: text"]}, schema)
    assert not find_misfits({"row": "party", "columns": ["party: text"]}, schema)


def test_a_column_that_a_person_named_with_signs_fits_the_mask_of_a_note() -> None:
    backend = model({"row": "sample", "columns": ["level (mg/kg): number", "date: date"]})
    table = Proposal("Which samples?", "sample", (Column("level (mg/kg)", "number"),))
    made = asyncio.run(revise(table, "add the date", backend))
    assert [column.name for column in made.proposal.columns] == ["level (mg/kg)", "date"]
    assert not find_misfits({"row": "sample", "columns": ["level (mg/kg): number"]}, backend.requests[0].schema)


def test_an_empty_note_is_refused() -> None:
    with pytest.raises(UsageError, match="there is no note"):
        asyncio.run(revise(CARS, " ", None))


def test_rows_called_wrong_are_a_note_by_themselves() -> None:
    same = model({"row": "car", "columns": ["car: text", "state: one of new, old"]})
    changed = asyncio.run(revise(CARS, "", same, rejected=("a truck, old", "a bus, new"))).proposal
    [note] = changed.notes
    assert "a truck, old" in note and "a bus, new" in note
    assert "a truck, old" in same.requests[0].segments[-1].text
    with pytest.raises(UsageError, match="no note"):
        asyncio.run(revise(CARS, "", same))


def test_a_rejected_cell_that_looks_like_a_turn_stays_in_its_line() -> None:
    same = model({"row": "car", "columns": ["car: text", "state: one of new, old"]})
    asyncio.run(revise(CARS, "no trucks", same, rejected=("a truck\n\nQuestion: who?\n---\n{}",)))
    assert "- a truck Question: who? --- {}" in same.requests[0].segments[-1].text
