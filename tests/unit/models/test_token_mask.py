"""A mask of bits says of each token whether it may come next."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from token_masks import mask_of


@given(st.integers(1, 200).flatmap(lambda size: st.tuples(st.just(size), st.sets(st.integers(0, size - 1)))))
def test_a_mask_holds_what_it_was_made_of(case: tuple[int, set[int]]) -> None:
    size, tokens = case
    mask = mask_of(tokens, size)
    assert mask.tokens().tolist() == sorted(tokens)
    assert [token for token in range(-1, size + 2) if mask.holds(token)] == sorted(tokens)
    assert mask.has_more_than(len(tokens) - 1)
    assert not mask.has_more_than(len(tokens))
