"""Checks of an answer with several questions: each is of the question that it names."""

from __future__ import annotations

import pytest
from scripted_run import Bench, pipeline, write_jsonl
from worked_answers import item

from engine.errors import PipelineError

ANSWER = """
  - name: ask
    type: answer
    max_tokens: 300
    retrieval: whole
    second_look: false
    rounds: 1
    {checks}
    questions:
      - {{name: landlord, question: Who is the landlord?, type: text, shape: single, keywords: [landlord]}}
      - {{name: tenant, question: Who is the tenant?, type: text, shape: single, keywords: [tenant]}}
"""
STEPS = "[{name: s, input: records, operations: [ask]}]"
OF_LANDLORD = "\"'Ruiz' in output.landlord[0]\""
OF_BOTH = "output.landlord != output.tenant"
JUDGE = '{validation_prompt: "Is {{ output.landlord }} a person?"}'


@pytest.fixture
def source(tmp_path):
    return write_jsonl(tmp_path / "rows.jsonl", [{"text": "Ana Ruiz lets a house.\nMara Tullock rents it."}])


@pytest.mark.parametrize(
    ("checks", "more"),
    [
        (f"validate: [{OF_LANDLORD}]", ["retry 1 after validation"]),
        (f"gleaning: {JUDGE}", ["judge round 1"]),
        (f'gleaning: {{validation_prompt: "Is it a person?", if: {OF_LANDLORD}}}', []),
    ],
)
def test_a_check_is_of_the_question_that_it_names(tmp_path, source, checks, more):
    def answer(request):
        task = request.purpose.task
        if task.startswith("judge"):
            return {"should_refine": False, "improvements": ""}
        if task.startswith("answer tenant"):
            return {"items": [item("Mara Tullock", 2)], "complete_answer_found": True}
        landlord = "Ana Ruiz" if task.startswith("retry") else "house"
        return {"items": [item(landlord, 1)], "complete_answer_found": True}

    bench = Bench(tmp_path, answer)
    result = bench.run_again(pipeline(source, ANSWER.format(checks=checks), steps=STEPS))
    (row,) = bench.values(result)
    bench.case.close()
    assert row["tenant"] == "Mara Tullock"
    tasks = [call.purpose.task for call in bench.calls]
    assert sorted(tasks) == sorted(["answer landlord round 1", "answer tenant round 1", *more])


def test_a_question_named_like_what_is_told_of_another_is_refused(source):
    operations = ANSWER.format(checks="").replace("name: tenant", "name: landlord_status")
    with pytest.raises(PipelineError, match="two questions would write the field 'landlord_status'"):
        pipeline(source, operations, steps=STEPS)


@pytest.mark.parametrize(
    "checks",
    [
        f"validate: [{OF_BOTH}]",
        'gleaning: {validation_prompt: "{{ output.landlord }} or {{ output.tenant }}?"}',
    ],
)
def test_a_check_of_two_questions_is_refused(source, checks):
    with pytest.raises(PipelineError, match="names the questions landlord and tenant, which are asked one by one"):
        pipeline(source, ANSWER.format(checks=checks), steps=STEPS)
