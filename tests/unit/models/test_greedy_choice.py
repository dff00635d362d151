"""A greedy choice is the likeliest of the tokens that the schema allows, however it is found."""

from __future__ import annotations

import dataclasses

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from token_masks import mask_of

from models.guides import TokenMask
from models.jobs import Job
from models.protocol import Sampling

SIZE = 300


@dataclasses.dataclass
class FixedGuide:
    """Allow the same tokens always."""

    tokens: set[int]
    finished: bool = False

    def allowed(self) -> TokenMask:
        return mask_of(self.tokens, SIZE)

    def accept(self, token: int) -> None:
        self.finished = True

    def take_forced(self) -> list[int]:
        return []

    def keep_valid(self, tokens: list[int]) -> list[int]:
        return tokens


@given(st.sets(st.integers(0, SIZE - 1), min_size=1), st.integers(0, 2**32 - 1), st.booleans())
def test_the_likeliest_allowed_token_is_chosen_and_the_first_of_equals(
    tokens: set[int], seed: int, keep_steps: bool
) -> None:
    logits: NDArray[np.float32] = np.random.default_rng(seed).integers(0, 50, SIZE).astype(np.float32)
    job = Job(
        prompt=np.asarray([1], np.int32),
        guide=FixedGuide(tokens),
        sampling=Sampling(max_tokens=1),
        seed=0,
        deliver=lambda _job, _error: None,
        keep_steps=keep_steps,
    )
    ordered = sorted(tokens)
    assert job.choose(logits) == ordered[int(logits[ordered].argmax())]
