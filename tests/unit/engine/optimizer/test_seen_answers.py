"""How answers look, field by field."""

from __future__ import annotations

from plan_outputs import the_plan

from engine.directives.base import AnswersSeen
from engine.optimizer.outputs import OutputCell, OutputRow, PlanOutput
from engine.optimizer.seen_answers import seen_answers


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
