"""Each value is looked at by itself; another day that is as likely contradicts the answer."""

from __future__ import annotations

import pytest
from scripted_run import pipeline, prompt_of, write_jsonl
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
    questions: [{name: answer, question: "%s", type: %s, shape: single, keywords: [date]%s}]
"""
QUESTION = "What is the effective date?"
RENTS = (
    "The rent is USD 1,200 per month.",
    "The deposit is USD 2,400.",
    "From May on, the rent is USD 1,300 per month.",
)


@pytest.fixture
def run(tmp_path, bench):
    def run(reply, holds, more="", *, lines=LINES, question=QUESTION, kind="date", filename="x"):
        def answer(request):
            if "second look" in request.purpose.task:
                return next((said for words, said in holds.items() if f'"{words}"' in prompt_of(request)), False)
            return {"items": reply, "complete_answer_found": "check" not in request.purpose.task}

        source = write_jsonl(tmp_path / "rows.jsonl", [{"text": "\n".join(lines), "filename": filename}])
        desk = bench(answer)
        steps = "[{name: s, input: records, operations: [ask]}]"
        (row,) = desk.values(desk.run_again(pipeline(source, ANSWER % (question, kind, more), steps=steps)))
        return desk, row

    return run


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


def test_another_sum_that_holds_contradicts_the_answer(run):
    rent = {"lines": RENTS, "question": "How much is the rent?", "kind": "amount"}
    _, row = run([item("USD 1,200 per month", 1)], {"USD 1,200 per month": True, "USD 1,300": True}, **rent)
    assert (row["answer"], row["answer_status"]) == (None, "conflict")
    assert [(i["value"]["value"], i["lines"]) for i in row["answer_items"]] == [(1200, [[1, 1]]), (1300, [[3, 3]])]


def test_what_the_model_overlooks_is_named_by_code_and_judged_by_the_model(run):
    _, row = run([], {"USD 1,200": True}, lines=RENTS, question="How much is the rent?", kind="amount")
    assert (row["answer"]["value"], row["answer"]["currency"], row["answer_status"]) == (1200, "USD", "found")
    assert row["answer_items"][0]["lines"] == [[1, 1]]


def test_values_that_do_not_hold_are_dropped(run):
    bench, row = run([AMENDED], {})
    assert (row["answer"], row["answer_status"], row["answer_items"]) == (None, "none", [])
    assert len(bench.calls) == 3  # the answer, its second look, and that of the one other day on a line that says it
    (round_1,) = [stored.record for stored in bench.case.ledger.decisions(bench.case.runs.all()[-1].id)]
    assert "at a second look" in round_1.detail


def test_items_that_stay_as_they_were_are_not_asked_for_again(run):
    bench, row = run([item("2 May 2024", 4)], {})
    tasks = [request.purpose.task for request in bench.calls]
    assert tasks[:3] == ["answer answer round 1", "answer answer round 1 check 1", "answer answer second look"]
    assert row["answer_status"] == "none"


def test_where_values_are_looked_at_again_the_first_reply_is_not_told_to_be_shy(run):
    bench, _ = run([AMENDED], {"1 April 2024": True})
    assert "there are no items" not in prompt_of(bench.calls[0])


def test_what_the_user_has_said_is_asked_with_the_question_and_nothing_more_is_asked_back(run):
    more = ", clarification: Which?, clarified: the amended one"
    bench, row = run([], {}, more)
    assert "What is meant: the amended one" in prompt_of(bench.calls[0])
    assert row["answer_status"] == "none"


def test_what_the_user_has_said_of_one_document_is_asked_of_that_one(run):
    more = ", clarification: Which?, clarified: the first, clarified_for: {a.txt: the amended one}"
    bench, _ = run([], {}, more, filename="a.txt")
    assert "What is meant: the amended one" in prompt_of(bench.calls[0])


def test_of_all_others_what_holds_for_all(run):
    more = ", clarification: Which?, clarified: the first, clarified_for: {a.txt: the amended one}"
    bench, _ = run([], {}, more, filename="b.txt")
    assert "What is meant: the first" in prompt_of(bench.calls[0])


def test_without_it_the_user_is_asked(run):
    _, row = run([], {}, ", clarification: Which?")
    assert (row["answer_status"], row["answer_note"]) == ("clarify", "Please say: Which?")
