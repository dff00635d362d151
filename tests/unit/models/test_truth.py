"""Expected choices are the sums of the probabilities given, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from models.choices import Step, choice_probabilities
from models.jobs import MOST_SPELLINGS, likeliest


@pytest.mark.parametrize(
    ("odds", "chosen"),
    [
        ({b"true": 0.4, b"false": 0.35, b"f": 0.25}, b"false"),  # 0.4 against 0.6
        ({b" true": 0.3, b" false": 0.35, b" f": 0.1, b" t": 0.25}, b" true"),  # 0.55 against 0.45
        ({b" t": 0.1, b" true": 0.3, b" false": 0.35, b" fal": 0.02, b" ": 0.2, b" tr": 0.03}, b" true"),  # 0.43, 0.37
        ({b" ": 0.5, b" true": 0.2, b" false": 0.3}, b" "),  # the answer stays open
        ({b"true": 0.4, b"null": 0.3, b"false": 0.2, b"f": 0.1}, b"true"),  # not a plain yes or no
        ({b"tree": 0.4, b"false": 0.35, b"f": 0.25}, b"tree"),
        ({b"true}": 0.4, b"false}": 0.35, b"false": 0.25}, b"false}"),
        ({b"true": 0.3, b"t": 0.7}, b"t"),
    ],
)
def test_the_likelier_answer_is_chosen_by_its_likeliest_token(odds: dict[bytes, float], chosen: bytes) -> None:
    pieces = list(odds)
    scores = np.asarray([math.log(p) for p in odds.values()], np.float32)
    at = likeliest(np.arange(len(pieces)), scores, lambda token: pieces[token])
    assert pieces[at] == chosen


def test_without_bytes_or_with_many_tokens_the_highest_score_is_chosen() -> None:
    scores = np.log(np.asarray([0.4, 0.35, 0.25], np.float32))
    assert likeliest(np.arange(3), scores, None) == 0
    many = np.zeros(MOST_SPELLINGS + 1, np.float32)
    many[7] = 1.0
    assert likeliest(np.arange(many.size), many, lambda token: pytest.fail("read without need")) == 7


@pytest.mark.parametrize("masses", [(0.49, 0.48, 0.03), (0.34, 0.33, 0.33), (0.2, 0.79, 0.01)])
def test_choice_and_probability_agree(masses: tuple[float, float, float]) -> None:
    pieces = [b" true", b" false", b" ", b'{"keep":', b"}"]
    scores = np.log(np.asarray(masses, np.float32))
    chosen = likeliest(np.arange(3), scores, lambda token: pieces[token])
    steps = [Step(1, np.arange(3), np.asarray(masses))]
    schema = {"type": "object", "properties": {"keep": {"type": "boolean"}}}
    told = choice_probabilities([3, chosen, 4], steps, schema, lambda token: pieces[token])
    first, second = sorted(masses[:2])
    assert told["/keep"] == pytest.approx(second / (first + second))
    assert told["/keep"] >= 0.5
