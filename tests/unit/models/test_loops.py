"""Replies that go round in circles are noticed; those that copy a repetitive prompt, or only begin to, are not."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.loops import LEAST_CHARACTERS, LEAST_TOKENS, ROUNDS, block_length, loops, records_repeat, text_loops

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
    ("block", "rounds"), [(LEAST_TOKENS // 2, ROUNDS - 1), (8, LEAST_TOKENS // 8 - 1), (1, LEAST_TOKENS - 1)]
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


def begun(*entries: object, field: str = "officers") -> str:
    """Return the beginning of a reply that lists the entries, and begins another."""
    return json.dumps({"note": "", field: [*entries, {"name": "x"}]}, indent=2)[: -len('"x"\n    }\n  ]\n}')]


A, B, C = ({"name": name, "date": "2020-05-06"} for name in "ABC")


def test_records_that_come_round_again_are_a_loop() -> None:
    assert records_repeat(begun(A, B, C, A, B))
    assert records_repeat(begun(A, A, A))
    assert records_repeat("```json\n" + begun(A, B, A, B))
    assert records_repeat(json.dumps([{"sheet": 1, "rows": [A, B, A, B, C]}])[: -len("]}]")])
    assert text_loops(begun(A, B, C, A, B))


def test_records_that_come_again_now_and_then_are_none() -> None:
    assert not records_repeat(begun())
    assert not records_repeat(begun(A))
    assert not records_repeat(begun(A, B, A))  # one payment may have been made twice
    assert not records_repeat(begun(A, A))
    assert not records_repeat(begun(A, B, A, C, A))
    assert not records_repeat(begun(*[{"name": "A"}] * 9))  # of one field only
    assert not records_repeat(json.dumps({"marks": [5, 5, 4, 5, 5, 5, 5]}))
    assert not records_repeat(json.dumps({"rows": [A, A, A], "note": ""})[:-1])  # this list has ended
    assert not records_repeat("")
    assert not records_repeat("Nothing of { this is JSON")


def test_records_may_come_as_often_as_the_prompt_says_them() -> None:
    paid = {"date": "5 May", "amount": 50}
    three = "5 May $50\n5 May $50\n5 May $50\n"
    assert records_repeat(begun(paid, paid, paid), "5 May $50, 5 May $50")
    assert not records_repeat(begun(paid, paid, paid), three)
    assert not text_loops(begun(paid, paid, paid), three)
    assert records_repeat(begun(*[paid] * 4), three)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, ""),
        (True, ""),
        ([], ""),
        (1200, "1,200"),
        (1200.0, "$1200"),
        (1200.0, "$1,200.00"),
        (1234567.5, "$1,234,567.50"),
        ({"by": "Lee", "paid": False}, "by Lee"),
        (["Lee", "Kim"], "Kim and Lee"),
    ],
)
def test_a_value_is_looked_for_as_a_document_writes_it(value: object, said: str) -> None:
    paid = {"date": "5 May", "amount": 50, "note": value}
    three = f"5 May $50 {said}\n" * 3
    assert not records_repeat(begun(paid, paid, paid), three)
    assert records_repeat(begun(*[paid] * 4), three)


def test_records_that_say_nothing_may_not_come_again() -> None:
    empty = {"date": None, "is_paid": False}
    assert records_repeat(begun(empty, empty, empty), "None False null false" * 9)
