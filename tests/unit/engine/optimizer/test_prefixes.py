"""What a plan reads: the blocks of its prompts, each once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.optimizer.agent_client import BLOCK, blocks_of
from models.protocol import Request, Segment

TEXT = "".join(chr(97 + n % 26) for n in range(10 * BLOCK))
ROLE = "\0user\0"
"""What a block is made of besides the text."""


def asked(*texts: str) -> Request:
    return Request(tuple(Segment("user", text) for text in texts), schema_json="true")


@given(st.lists(st.text(max_size=300), min_size=1, max_size=3), st.integers(0, 10_000))
def test_the_blocks_of_a_prompt_are_its_tokens(texts: list[str], tokens: int) -> None:
    assert sum(blocks_of(asked(*texts), tokens).values()) == pytest.approx(tokens)


@given(st.integers(0, len(TEXT)))
def test_what_two_prompts_begin_with_alike_is_counted_once(shared: int) -> None:
    one, other = asked(TEXT), asked(TEXT[:shared] + "#" * (len(TEXT) - shared))
    tokens = len(TEXT) + len(ROLE)  # one for each character
    both = {**blocks_of(one, tokens), **blocks_of(other, tokens)}
    apart = len(TEXT) - shared
    assert tokens + apart <= round(sum(both.values())) < tokens + apart + BLOCK


def test_the_same_text_behind_another_is_read_again() -> None:
    assert not blocks_of(asked("a" + TEXT), 9).keys() & blocks_of(asked("b" + TEXT), 9).keys()
