"""Other days and sums that could be the answer: found by code on lines that speak of the same."""

from __future__ import annotations

import pytest

from engine.answers.checking import Checker
from engine.answers.rivals import likely_values, rival_values
from engine.answers.shown import Shown
from engine.answers.specs import answer_type, contradict
from engine.language.schema_types import Value
from engine.text.numbered_text import NumberedText

DATE, AMOUNT = answer_type("date"), answer_type("amount")
QUESTION = "What is the effective date?"
RENT = "How much is the rent?"


def show(*lines, shown=None):
    return Shown.of(NumberedText.of("\n".join(lines)), range(len(lines)) if shown is None else shown)


def places(rivals):
    return [(rival.written["spans"][0]["line_start"], rival.written["value"]) for rival in rivals]


def rivals(*lines, answered, kind=DATE, question=QUESTION, shown=None):
    there = show(*lines, shown=shown)
    item = Checker(there, ("verbatim",)).item(
        Value(kind), {"spans": [{"line_start": answered[0], "line_end": answered[0]}], "value": answered[1]}
    )
    return rival_values(kind, question, there, [item])


def others(*lines, **given):
    return places(rivals(*lines, **given))


LINES = (
    "Effective: 15 March 2024 (original)",
    "Signed on 3 May 2024",
    "Effective date: 1 April 2024 (amended)",
    "It was effective in March 2024.",
    "As said, it was made effective on March 15, 2024.",
)
RENTS = (
    "The rent is USD 1,200 per month.",
    "Rent of the second year: USD 1,300 a month, for all 5 of the top 2 rooms",
    "The deposit is USD 2,400.",
    "The rent of a year, USD 14,400 per year, is due in parts.",
    "Rent of twelve hundred (1,200) dollars was agreed on.",
)


def test_days_on_lines_that_share_a_word_with_question_and_answer():
    assert others(*LINES, answered=(3, "1 April 2024")) == [(1, "15 March 2024")]  # each day once, whole days alone
    assert others(*LINES, answered=(3, "1 April 2024"), shown=[1, 2, 3, 4]) == [(5, "March 15, 2024")]


def test_nothing_where_the_answers_line_shares_no_word_with_the_question():
    assert others(*LINES, answered=(2, "3 May 2024")) == []


def test_nothing_for_types_that_code_does_not_find():
    assert others(*LINES, answered=(3, "1 April 2024"), kind=answer_type("text")) == []
    assert likely_values(answer_type("text"), QUESTION, show(*LINES)) == []


def test_sums_for_the_same_thing():
    rent = {"kind": AMOUNT, "question": RENT}
    assert others(*RENTS, answered=(1, "USD 1,200 per month"), **rent) == [(2, "USD 1,300")]
    assert others(*RENTS, answered=(1, "USD 1,200"), **rent) == [(2, "USD 1,300")]  # the line says: per month
    assert others(RENTS[4], RENTS[3], answered=(1, "1,200) dollars"), **rent) == [(2, "USD 14,400")]


def test_a_rival_behind_the_same_label_is_told_apart():
    labelled = (*LINES, "Effective date of the annex: 2 April 2024")
    found = {
        place: rival.is_named_alike
        for rival in rivals(*labelled, answered=(3, "1 April 2024"))
        for place in [rival.written["spans"][0]["line_start"]]
    }
    assert found == {1: True, 6: False}


def test_without_an_answer_code_names_what_is_likely():
    assert places(likely_values(DATE, QUESTION, show(*LINES)))[0] == (1, "15 March 2024")
    assert places(likely_values(AMOUNT, RENT, show("Rent", "USD 900", "Deposit", "USD 1,800"))) == [(2, "USD 900")]
    assert likely_values(DATE, "Who signed?", show("Paid on 3 May 2024")) == []


def sum_of(text):
    return AMOUNT.cell(text)


@pytest.mark.parametrize(
    ("one", "other", "are_apart"),
    [
        (sum_of("USD 250"), sum_of("$250.00"), False),  # which dollars is not said
        (sum_of("USD 250"), sum_of("EUR 250"), True),
        (sum_of("USD 250"), sum_of("USD 260"), True),
        (sum_of("USD 250 per month"), sum_of("US$ 250 monthly"), False),
        (sum_of("USD 250 per month"), sum_of("USD 250 per year"), True),
        (sum_of("USD 250 per month"), sum_of("USD 250"), False),
        (DATE.cell("March 2024"), DATE.cell("15 March 2024"), False),
        (DATE.cell("March 2024"), DATE.cell("1 April 2024"), True),
        (answer_type("person").cell("John Smith"), answer_type("person").cell("John A. Smith"), False),
        ("Acme", "Acme Corporation", False),
        ("Acme", "Apex", True),
    ],
)
def test_values_contradict_each_other_in_what_both_say(one, other, are_apart):
    assert contradict(one, other) is are_apart is contradict(other, one)
