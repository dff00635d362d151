"""Each value is looked at by itself; another day that is as likely contradicts the answer."""

from __future__ import annotations

import pytest
from scripted_run import Bench, pipeline, prompt_of, write_jsonl
from worked_answers import item

LINES = (
    "The archive is open on weekdays.",
    "Effective: 15 March 2024 (original)",
    "Signed on 3 May 2024",
    "Effective date: 1 April 2024 (amended)",
)
ANSWER = """
  - name: ask
    type: answer
    max_tokens: 300
    retrieval: whole
    questions: [{name: answer, question: "What is the effective date?", type: date, shape: single, keywords: [date]%s}]
"""


@pytest.fixture
def run(tmp_path):
    benches = []

    def run(reply, holds, more=""):
        def answer(request):
            if "second look" in request.purpose.task:
                return next((said for words, said in holds.items() if f'"{words}"' in prompt_of(request)), False)
            return {"items": reply, "complete_answer_found": True}

        source = write_jsonl(tmp_path / "rows.jsonl", [{"text": "\n".join(LINES)}])
        bench = Bench(tmp_path, answer)
        benches.append(bench)
        steps = "[{name: s, input: records, operations: [ask]}]"
        (row,) = bench.values(bench.run_again(pipeline(source, ANSWER % more, steps=steps)))
        return bench, row

    yield run
    for bench in benches:
        bench.case.close()


AMENDED = item("1 April 2024", 4)


def test_another_day_that_holds_contradicts_the_answer(run):
    _, row = run([AMENDED], {"1 April 2024": True, "15 March 2024": True})
    assert (row["answer"], row["answer_status"]) == (None, "conflict")
    assert [(i["value"]["iso"], i["lines"]) for i in row["answer_items"]] == [
        ("2024-03-15", [[2, 2]]),
        ("2024-04-01", [[4, 4]]),
    ]


def test_another_day_that_does_not_hold_is_left_alone(run):
    bench, row = run([AMENDED], {"1 April 2024": True})
    assert (row["answer"]["iso"], row["answer_status"]) == ("2024-04-01", "found")
    tasks = [request.purpose.task for request in bench.calls]
    assert tasks == ["answer answer round 1", "answer answer second look", "answer answer second look"]


def test_values_that_do_not_hold_are_dropped_and_nothing_else_is_looked_for(run):
    bench, row = run([AMENDED], {"15 March 2024": True})
    assert (row["answer"], row["answer_status"], row["answer_items"]) == (None, "none", [])
    assert len(bench.calls) == 2
    (round_1,) = [stored.record for stored in bench.case.decisions(bench.case.runs()[-1].id)]
    assert "at a second look" in round_1.detail


def test_where_values_are_looked_at_again_the_first_reply_is_not_told_to_be_shy(run):
    bench, _ = run([AMENDED], {"1 April 2024": True})
    assert "there are no items" not in prompt_of(bench.calls[0])


def test_what_the_user_has_said_is_asked_with_the_question_and_nothing_more_is_asked_back(run):
    more = ", clarification: Which?, clarified: the amended one"
    bench, row = run([], {}, more)
    assert "What is meant: the amended one" in prompt_of(bench.calls[0])
    assert row["answer_status"] == "none"


def test_without_it_the_user_is_asked(run):
    _, row = run([], {}, ", clarification: Which?")
    assert (row["answer_status"], row["answer_note"]) == ("clarify", "Please say: Which?")
