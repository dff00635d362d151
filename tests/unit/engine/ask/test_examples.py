from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.ask.drafting import _ANY_ROW, _NEW_COLUMN, _schema
from engine.ask.examples import Example, Examples, all_examples, phrases, read_examples
from models.fits import find_misfits


def test_phrases_are_words_and_their_neighbours() -> None:
    assert phrases("Ship no. 12") == {
        "^", "ship", "no", ".", "0", "$", "^ ship", "ship no", "no .", ". 0", "0 $",
        "^ ship no", "ship no .", "no . 0", ". 0 $",
    }  # fmt: skip


def test_the_nearest_examples_come_the_most_like_last() -> None:
    examples = Examples(
        [
            Example("who owns the boat", "owner", ("owner: person",)),
            Example("which dogs bit a man", "dog", ("dog: text",)),
            Example("which dogs ran", "dog", ("dog: text", "place: text")),
        ]
    )
    nearest = examples.nearest("which dogs bit a woman", 2)
    assert [each.question for each in nearest] == ["which dogs ran", "which dogs bit a man"]
    assert len(examples.nearest("", 9)) == 3


def test_words_weigh_as_often_as_they_stand_in_one_kind_of_examples() -> None:
    """Two of each kind: `each` stands in both of one, so its weight is log((2.5 / 3) / (0.5 / 3)) = log 5."""
    examples = Examples(
        [
            Example("each will", "document", ("name: text",)),
            Example("each deed", "document", ("name: text",)),
            Example("any ship", "ship", ("name: text",)),
            Example("any dog", "dog", ("name: text",)),
        ]
    )
    assert examples._weights["each"] == pytest.approx(1.6094, abs=1e-4)
    assert examples._weights["any"] == pytest.approx(-1.6094, abs=1e-4)
    assert "will" not in examples._weights
    assert examples.per_document("each") > 0 > examples.per_document("any")


@pytest.mark.parametrize(
    "question",
    [
        "Wills. One will to a pdf: testator",
        "I have 40 wills, a file each: testator",
        "wills, 1 will = 1 scan. testator",
        "Dog licences - each is about one dog: owner",
        "For each contract: parties, fee",
        "parties, effective date, governing law",
        "what is this letter about?",
        "one row per file plz: shelter",
    ],
)
def test_a_row_per_document(question: str) -> None:
    assert all_examples().per_document(question) > 0.4


@pytest.mark.parametrize(
    "question",
    [
        "Which cars are mentioned, with plate number?",
        "Who was present?",
        "thefts found in the inventories. item, date, value",
        "The reports tell of dozens of thefts. For each theft I'd like the value",
        "Every expense claim of the minister, there are dozens in each report: amount",
        "I want a table of all robberies with the date",
    ],
)
def test_a_row_for_each_of_several_in_a_document(question: str) -> None:
    assert all_examples().per_document(question) < -0.4


def test_words_of_another_language_say_nothing() -> None:
    assert all_examples().per_document("Welche Fahrzeuge werden erwähnt, und wem gehören sie?") == 0


def test_every_example_fits_the_mask_of_a_draft() -> None:
    for example in read_examples():
        assert not find_misfits(json.loads(example.reply), _schema(_ANY_ROW, _NEW_COLUMN)), example.question


def test_no_example_is_a_question_that_measures() -> None:
    bench = Path(__file__).parents[3] / "bench"
    examples = {each.question for each in read_examples()}
    for name in ("seventeenth", "eighteenth", "nineteenth", "twentieth", "twentyfirst", "twentysecond"):
        lines = (bench / f"ask_{name}.jsonl").read_text(encoding="utf-8").splitlines()
        assert len(lines) == 30
        assert examples.isdisjoint(json.loads(line)["question"] for line in lines)
