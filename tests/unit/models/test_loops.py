"""Replies that go round in circles are noticed; those that copy a repetitive prompt, or only begin to, are not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.loops import LEAST_CHARACTERS, LEAST_TOKENS, ROUNDS, block_length, loops, text_loops

NO_PROMPT = np.arange(1000, 1100, dtype=np.int32)


@given(
    start=st.lists(st.integers(10, 99), max_size=40),
    block=st.lists(st.integers(0, 9), min_size=1, max_size=30),
    rest=st.integers(0, 29),
)
def test_a_block_written_often_enough_is_a_loop_wherever_it_is_cut(
    start: list[int], block: list[int], rest: int
) -> None:
    rounds = max(ROUNDS, -(-LEAST_TOKENS // len(block)))
    reply = [*start, *block * rounds, *block[: rest % len(block)]]
    assert loops(reply, NO_PROMPT)
    found = block_length(np.asarray(reply, np.int32), LEAST_TOKENS)
    assert len(block) % found == 0  # the shortest block: that of 1 2 1 2 is 1 2


@pytest.mark.parametrize(
    ("block", "rounds"),
    [(LEAST_TOKENS // 2, ROUNDS - 1), (8, LEAST_TOKENS // 8 - 1), (1, LEAST_TOKENS - 1)],
)
def test_too_few_rounds_or_tokens_are_none(block: int, rounds: int) -> None:
    assert not loops([*range(500, 900), *list(range(block)) * rounds], NO_PROMPT)


def test_what_goes_on_after_the_rounds_is_none() -> None:
    assert not loops([*[1, 2, 3] * LEAST_TOKENS, 7], NO_PROMPT)


def test_rows_that_the_prompt_repeats_may_be_copied() -> None:
    row = [5, 6, 7, 8]
    reply = row * LEAST_TOKENS
    assert loops(reply, np.asarray([*range(50, 90), *row, *range(90, 99)], np.int32))
    assert not loops(reply, np.asarray([*range(50, 90), *row * 8, *range(90, 99)], np.int32))


def test_a_text_loops_as_its_tokens_do() -> None:
    sentence = "Its sound is poor, which makes it hard to complete. "
    assert text_loops('{"what": "' + sentence * ROUNDS)
    assert not text_loops('{"what": "' + sentence * (ROUNDS - 1))
    assert not text_loops("na" * (LEAST_CHARACTERS // 2 - 1))
    assert not text_loops("")
