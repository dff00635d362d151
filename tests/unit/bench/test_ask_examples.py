from __future__ import annotations

import json

import ask_examples


def test_the_examples_are_those_of_the_questions_with_gold() -> None:
    kept = [json.loads(line) for line in ask_examples.EXAMPLES.read_text(encoding="utf-8").splitlines()]
    assert kept == ask_examples.all_values(), "run python tests/bench/ask_examples.py"
    questions = {each["question"] for each in kept}
    for name in ask_examples.UNSEEN:
        assert questions.isdisjoint(gold["question"] for gold in ask_examples.read(name))
