"""Replies that go round in circles: a small model, asked greedily, may write the same block again and again.

Holtzman et al., "The Curious Case of Neural Text Degeneration", 2020. What is written so is no answer, and all of it
has been seen after a few rounds; the same question with some chance in the choice of tokens mostly gets one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

ROUNDS = 4
"""A block that was written so many times in a row, and nothing since, is a loop ..."""

LEAST_TOKENS = 256
"""... if all rounds together are so many tokens, or more: a table may have some equal rows."""

LEAST_CHARACTERS = 80
"""The same for text, which is looked at only when the limit is reached: there it costs nothing to ask again."""

WINDOW = 2048
"""Only so many last items are looked at, so a longer block than a quarter of them is not noticed."""


def loops(reply: Sequence[int], prompt: NDArray[np.int32]) -> bool:
    """Say whether a reply, as tokens, ends in a loop that is not in its prompt, where it would be a copy."""
    if len(reply) < LEAST_TOKENS:
        return False
    tail = np.asarray(reply[-WINDOW:], np.int32)
    length = block_length(tail, LEAST_TOKENS)
    return length > 0 and np.tile(tail[-length:], 2).tobytes() not in prompt.astype(np.int32).tobytes()


def text_loops(text: str) -> bool:
    """Say whether a text ends in a loop."""
    tail = np.frombuffer(text[-WINDOW * 4 :].encode("utf-32-le"), np.int32)
    return block_length(tail, LEAST_CHARACTERS) > 0


def block_length(items: NDArray[np.int32], least: int) -> int:
    """Return how long the shortest block is that `items` end with, ROUNDS times or more and `least` items in all.

    The last round may be cut anywhere. 0 where there is none.
    """
    size = items.size
    for length in size - 1 - np.flatnonzero(items[:-1] == items[-1])[::-1] if size else ():
        needed = max(ROUNDS * int(length), least)
        if needed > size:
            return 0
        if np.array_equal(items[size - needed + length :], items[size - needed : size - length]):
            return int(length)
    return 0
