"""Layouts of replies, and how the one that a model answers best in is found."""

from __future__ import annotations

import json
from typing import Any

import pytest
from scripted_model import ScriptedBackend

from models.errors import ModelError
from models.layouts import (
    LAYOUTS,
    LayoutName,
    best_layout,
    can_lay_out,
    choose_layout,
    layout_named,
    score,
    shipped_questions,
    unwrap,
)
from models.protocol import Request, Segment


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_a_reply_is_read_back_whatever_its_layout(layout: Any) -> None:
    value = {"found": [{"a": "```", "b": []}], "c": {}}
    text = f"{layout.opening}{layout.write(value)}{layout.closing}"
    assert json.loads(unwrap(text)) == value


def test_the_json_of_earlier_turns_is_laid_out_and_other_text_is_not() -> None:
    fenced = layout_named("fenced")
    told = [Segment("user", '{"a": 1}'), Segment("assistant", '{"a":[1]}'), Segment("assistant", "true")]
    texts = [segment.text for segment in fenced.lay_out([*told, Segment("assistant", "Yes.")])]
    assert texts == ['{"a": 1}', '```json\n{\n  "a": [\n    1\n  ]\n}\n```', "true", "Yes."]


def test_an_unknown_layout_is_refused_with_those_there_are() -> None:
    with pytest.raises(ModelError) as caught:
        layout_named("yaml")
    assert "one_line" in caught.value.advice


class Writes(ScriptedBackend):
    """Answers all questions right in one layout and nothing in the others."""

    def __init__(self, best: LayoutName) -> None:
        super().__init__(self.reply)
        self.best, self.layout = best, "indented"

    def reply(self, request: Request) -> Any:
        asked = request.segments[-1].text
        question = next(q for q in shipped_questions() if q.prompt == asked)
        whole = question.answer if isinstance(question.answer, dict) else {"answer": question.answer}
        empty = {key: [] if isinstance(value, list) else "" for key, value in whole.items()}
        return whole if self.layout == self.best else empty


@pytest.mark.parametrize("best", [layout.name for layout in LAYOUTS])
async def test_the_layout_with_the_best_answers_is_chosen(best: LayoutName) -> None:
    backend = Writes(best)
    assert can_lay_out(backend)
    assert await choose_layout(backend) == best
    assert backend.layout == "indented"


def test_the_default_stands_where_another_gains_too_little() -> None:
    assert best_layout({"one_line": 0.84, "indented": 0.8, "indented_4": 0.8, "fenced": 0.7}) == "indented"
    assert best_layout({"one_line": 0.86, "indented": 0.8, "indented_4": 0.8, "fenced": 0.7}) == "one_line"


def test_answers_are_counted_by_their_values_and_an_empty_list_is_one() -> None:
    gold = [{"ship": "Heron", "time": "09:30"}]
    assert score([({"answer": [{"ship": "heron.", "time": "9"}]}, gold)]) == pytest.approx(2 * 1 / (2 + 2))
    assert score([({"answer": []}, []), ({"answer": ["x"]}, [])]) == pytest.approx(2 * 1 / (2 + 2))
    assert score([(None, gold)]) == 0
