"""Other days that could be the answer: found by code on lines that speak of the same."""

from __future__ import annotations

from engine.answers.checking import Checker
from engine.answers.rivals import other_values
from engine.answers.shown import Shown
from engine.answers.specs import Leaf
from engine.answers.values import answer_type
from engine.operators.numbered_text import NumberedText

DATE = answer_type("date")
QUESTION = "What is the effective date?"


def others(*lines, answered, kind=DATE, shown=None):
    text = NumberedText.of("\n".join(lines))
    there = Shown.of(text, range(len(lines)) if shown is None else shown)
    item = Checker(there, ("verbatim",)).item(
        Leaf(kind), {"spans": [{"line_start": answered[0], "line_end": answered[0]}], "value": answered[1]}
    )
    found = other_values(kind, QUESTION, there, [item])
    return [(written["spans"][0]["line_start"], written["value"]) for written in found]


LINES = (
    "Effective: 15 March 2024 (original)",
    "Signed on 3 May 2024",
    "Effective date: 1 April 2024 (amended)",
    "It was effective in March 2024.",
    "As said, it was made effective on March 15, 2024.",
)


def test_days_on_lines_that_share_a_word_with_question_and_answer():
    assert others(*LINES, answered=(3, "1 April 2024")) == [(1, "15 March 2024")]  # each day once, whole days alone
    assert others(*LINES, answered=(3, "1 April 2024"), shown=[1, 2, 3, 4]) == [(5, "March 15, 2024")]


def test_nothing_where_the_answers_line_shares_no_word_with_the_question():
    assert others(*LINES, answered=(2, "3 May 2024")) == []


def test_nothing_for_other_types():
    assert others(*LINES, answered=(3, "1 April 2024"), kind=answer_type("text")) == []
