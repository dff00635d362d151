"""Where a small model overlooks what is there, or says yes to what is not: a closer look, and more to be sure of."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from scripted_model import ScriptedBackend
from scripted_run import pipeline, prompt_of, write_jsonl
from worked_answers import FILLER, item, shown_numbers

ANSWER = """
  - name: ask
    type: answer
    max_tokens: 300
    retrieval: fts
    questions:
      - {name: answer, question: "Which disasters are excluded?", type: text, shape: list, keywords: [excluded]}
"""
LINES = [FILLER[n % len(FILLER)] for n in range(120)]
LINES[100:102] = ["Section 6. Disasters that are excluded", "(a) damage from earthquake;"]


class SureBackend(ScriptedBackend):
    """A scripted model that says of each second look how sure it is."""

    def __init__(self, answer, sure):
        super().__init__(answer)
        self._sure = sure

    async def ask(self, request):
        reply = await super().ask(request)
        if not request.probabilities:
            return reply
        return replace(reply, alternatives={"": {"true": self._sure, "false": 1 - self._sure}})


@pytest.fixture
def run(tmp_path, bench):
    def run(answer, sure=1.0):
        def reply(request):
            return True if "second look" in request.purpose.task else answer(request)

        source = write_jsonl(tmp_path / "rows.jsonl", [{"text": "\n".join(LINES)}])
        desk = bench(backend=SureBackend(reply, sure))
        steps = "[{name: s, input: records, operations: [ask]}]"
        result = asyncio.run(desk.run(pipeline(source, ANSWER, steps=steps)))
        (row,) = desk.values(result)
        return [request for request in desk.calls if "second look" not in request.purpose.task], row

    return run


def told(*items):
    return {"items": list(items), "complete_answer_found": True}


def test_what_is_overlooked_in_many_lines_is_looked_for_in_few(run):
    def answer(request):
        shown = shown_numbers(prompt_of(request))
        return told(item("damage from earthquake", 102)) if 102 in shown and len(shown) < 60 else told()

    asked, row = run(answer)
    assert [request.purpose.task for request in asked] == ["answer answer round 1", "answer answer round 1 closer"]
    assert shown_numbers(prompt_of(asked[0])) == list(range(1, 121))
    assert shown_numbers(prompt_of(asked[1])) == list(range(98, 110))  # 3 lines before, 8 behind the one that says it
    assert (row["answer"], row["answer_status"]) == (["damage from earthquake"], "found")
    assert row["answer_items"][0]["lines"] == [[102, 102]]


@pytest.mark.parametrize(
    ("value", "line", "sure", "status"),
    [
        ("damage from earthquake", 102, 0.6, "found"),  # the line before shares words with the question
        (FILLER[3], 4, 0.6, "none"),
        (FILLER[3], 4, 0.75, "found"),
        ("damage from earthquake", 102, 0.4, "none"),
    ],
)
def test_a_value_among_lines_without_a_word_of_the_question_must_be_surer(run, value, line, sure, status):
    _, row = run(lambda request: told(item(value, line)) if line in shown_numbers(prompt_of(request)) else told(), sure)
    assert row["answer_status"] == status
