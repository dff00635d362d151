"""Several readings of a question: how far they agree is kept by its name, and orders the review."""

from __future__ import annotations

from scripted_run import pipeline, write_jsonl
from worked_answers import item

from engine.results.doubt import doubt_of

ANSWER = """
  - name: ask
    type: answer
    agree: 2
    max_tokens: 300
    retrieval: whole
    second_look: false
    rounds: 1
    questions:
      - {name: landlord, question: Who is the landlord?, type: text, shape: single, keywords: [landlord]}
      - {name: tenant, question: Who is the tenant?, type: text, shape: single, keywords: [tenant]}
"""


def test_readings_that_differ_are_kept_by_the_name_of_the_question(tmp_path, bench):
    def answer(request):
        first = request.sampling.temperature == 0
        if "landlord" in request.purpose.task:
            return {"items": [item("Ana Ruiz" if first else "Corvin Estates", 1)], "complete_answer_found": True}
        return {"items": [item("Mara Tullock", 2)], "complete_answer_found": True}

    source = write_jsonl(
        tmp_path / "rows.jsonl", [{"text": "Ana Ruiz lets, and so does Corvin Estates.\nMara Tullock."}]
    )
    desk = bench(answer)
    steps = "[{name: s, input: records, operations: [ask]}]"
    (row,) = desk.values(desk.run_again(pipeline(source, ANSWER, steps=steps)))
    assert (row["landlord"], row["tenant"]) == ("Ana Ruiz", "Mara Tullock")
    shares = {name: found["share"] for name, found in row["_ask_agreement"].items()}
    assert shares == {"landlord": 0.5, "tenant": 1}
    doubt = doubt_of(row)
    assert (doubt.disagreement, list(doubt.cells)) == (0.5, ["landlord"])
