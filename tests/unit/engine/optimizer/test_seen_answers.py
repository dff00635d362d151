"""How answers look, field by field."""

from __future__ import annotations

from plan_outputs import the_plan

from engine.directives.base import AnswersSeen
from engine.optimizer.evaluating import identifiers, not_always_text, not_always_there, seen_answers
from engine.optimizer.outputs import OutputCell, OutputRow, PlanOutput
from engine.rows import Row


def test_texts_are_looked_up_as_whole_words_in_what_they_were_made_of():
    value = [{"id": "1234", "told": "he likes it a lot"}, {"id": "12", "told": "Good fun."}]
    row = OutputRow(id="r", cells=(OutputCell(field="found", value=value),), sources=("r",))
    output = PlanOutput(plan=the_plan(), inputs={"r": {"text": "Review 1234:\ngood  fun"}}, rows=(row,))
    assert seen_answers(output) == {
        "found.id": AnswersSeen(verbatim=0.5, words=1.0),
        "found.told": AnswersSeen(verbatim=0.5, words=3.5),
    }


def test_of_no_answer_nothing_is_known():
    assert seen_answers(None) == {}
    assert seen_answers(PlanOutput(plan=the_plan(), inputs={}, rows=())) == {}


def test_a_field_that_holds_one_word_with_a_digit_in_every_row_is_an_identifier():
    rows = [
        Row.source("d", f"r{n}", {"id": f"ade-{n}", "name": f"Harmon {n}", "badge": "" if n else "A12", "n": n})
        for n in range(3)
    ]
    assert identifiers(rows) == {"id"}
    assert identifiers(rows[:1]) == frozenset()  # of one row nobody knows
    assert identifiers([*rows, Row.source("d", "x", {"id": "none", "name": "x"})]) == frozenset()


def test_fields_that_some_row_lacks_or_has_no_text_in():
    rows = [
        Row.source("d", "a", {"text": "a", "badge": "1", "note": None, "n": 1}),
        Row.source("d", "b", {"text": "b", "note": "x", "n": 2}),
    ]
    assert not_always_there(rows) == {"badge"}
    assert not_always_text(rows) == {"badge", "note", "n"}
    assert not_always_there([]) == not_always_text([]) == frozenset()
