"""Pipelines that ask the same question, whatever a person said later of what it means."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.language.writer import to_yaml
from engine.loader import parse_pipeline
from engine.results.decisions import clarified_text
from engine.results.same_question import question_text

ALONE = """datasets: {d: {type: case}}
default_model: m
operations:
  - {name: ask, type: answer, question: How much is the rent?}
pipeline: {steps: [{name: s, input: d, operations: [ask]}]}
"""
LISTED = ALONE.replace("question: How", "questions: [{name: rent, question: How").replace("rent?}", "rent?}]}")


def asked(text: str) -> str:
    """Return what is compared of a pipeline as a run keeps it."""
    return question_text(to_yaml(parse_pipeline(text, file="a.yaml", directory=Path()).plan))


@pytest.mark.parametrize(("text", "name"), [(ALONE, "answer"), (LISTED, "rent")])
@pytest.mark.parametrize("document", ["", "lease.pdf"])
def test_what_a_person_said_it_means_makes_no_other_question(text: str, name: str, document: str) -> None:
    assert asked(clarified_text(text, "ask", name, "that of a year", document)) == asked(text)


def test_another_question_is_another() -> None:
    texts = [ALONE, LISTED, ALONE.replace("rent", "fee"), LISTED.replace("rent?", "fee?")]
    assert len({asked(text) for text in texts}) == len(texts)
