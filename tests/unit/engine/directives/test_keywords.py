"""Words that are looked for in texts whose letters are made small as a template makes them."""

from __future__ import annotations

from engine.directives.deterministic_compression import keyword_condition
from engine.directives.passages import keywords_of
from engine.language.expressions import RowExpression
from engine.loader import parse_pipeline
from engine.operators.map import Map

PLAN = parse_pipeline("""
datasets: {records: {type: folder, path: in}}
operations:
  - {name: find, type: map, prompt: "{{ input.text }} In welcher Straße?", output: {schema: {where: string}}}
pipeline: {steps: [{name: report, input: records, operations: [find]}]}
""").plan


def test_a_word_is_found_however_its_letters_are_written():
    condition = RowExpression.parse(keyword_condition("text", ["STRASSE", "Straße"]))
    for text in ("In der Straße.", "in der STRASSE"):
        assert condition.holds({"text": text})
    assert not condition.holds({"text": "in der Gasse"})


def test_the_words_of_a_question_are_looked_for_as_they_are_written():
    [find] = PLAN.operators
    assert isinstance(find, Map)
    assert "straß" in keywords_of(find)
