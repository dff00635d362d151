"""What a person says that a question means, written into a pipeline and nothing else changed."""

from __future__ import annotations

import pytest

from engine.errors import UsageError
from engine.language.yaml_reader import read_yaml
from engine.results.decisions import clarified_text, clarify
from engine.results.shown import LONGEST_SAID

LISTED = """# mine
operations:
  - name: ask   # it asks
    type: answer
    questions:
      - {name: rent, question: How much is the rent?}   # a note
      - name: law
        question: Which law?
"""
ALONE = """operations:
  - name: ask
    type: answer
    question: How much is the rent?
    rounds: 1
"""


def test_the_key_is_added_changed_and_taken_away():
    said = clarified_text(LISTED, "ask", "rent", "that of a year")
    assert said == LISTED.replace("the rent?}", "the rent?, clarified: that of a year}")
    other = clarified_text(said, "ask", "rent", "that of a month")
    assert other == said.replace("a year", "a month")
    assert clarified_text(other, "ask", "rent", "") == LISTED
    assert clarified_text(LISTED, "ask", "rent", "") == LISTED
    assert clarified_text(LISTED, "ask", "law", "of England?") == f"{LISTED}        clarified: of England?\n"


def test_it_can_be_said_for_one_document_alone():
    said = clarified_text(LISTED, "ask", "rent", "that of a year", "lease no. 2.pdf")
    both = clarified_text(said, "ask", "rent", "that of a month", "b.pdf")
    asked = read_yaml(both)[0]["operations"][0]["questions"][0]
    assert asked["clarified_for"] == {"lease no. 2.pdf": "that of a year", "b.pdf": "that of a month"}
    assert "clarified" not in asked
    assert clarified_text(both, "ask", "rent", "", "b.pdf") == said
    assert clarified_text(LISTED, "ask", "rent", "", "b.pdf") == LISTED
    rest = read_yaml(clarified_text(said, "ask", "rent", "", "lease no. 2.pdf"))[0]["operations"][0]["questions"][0]
    assert "clarified_for" not in rest


def test_a_question_alone_becomes_a_list_of_one():
    said = clarified_text(ALONE, "ask", "answer", "that of a year")
    (operation,) = read_yaml(said)[0]["operations"]
    asked = {"name": "answer", "question": "How much is the rent?", "clarified": "that of a year"}
    assert operation == {"name": "ask", "type": "answer", "rounds": 1, "questions": [asked]}
    assert clarified_text(said, "ask", "answer", "x").count("clarified") == 1


@pytest.mark.parametrize(
    ("operator", "question", "said", "message"),
    [
        ("asks", "rent", "x", "no operator 'asks'"),
        ("ask", "rents", "x", "no question 'rents'"),
        ("ask", "rent", "x" * (LONGEST_SAID + 1), "too long"),
    ],
)
def test_what_cannot_be_written_is_refused(operator, question, said, message):
    with pytest.raises(UsageError, match=message):
        clarified_text(LISTED, operator, question, said)


def test_the_file_is_written_whole(tmp_path):
    file = tmp_path / "a.yaml"
    steps = "pipeline: {steps: [{name: s, input: d, operations: [ask]}]}\n"
    file.write_text(f"datasets: {{d: {{type: case}}}}\n{LISTED}{steps}", encoding="utf-8")
    clarify(file, "ask", "rent", "  that of \n a year ")
    assert "clarified: that of a year}" in file.read_text(encoding="utf-8")
