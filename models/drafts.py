"""Prompt lookup: extraction mostly copies, so the text that follows the last words in the prompt is worth a guess.

A guess is evaluated with the token before it, in one batch, and kept as far as the model chooses the same tokens; the
reply is the one it would have been. Source: Saxena, "Prompt Lookup Decoding", 2023.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LEAST_MATCH = 3
"""A guess is made where at least so many last tokens also stand in the prompt."""

SHORTEST, LONGEST = 3, 15
"""Tokens of a guess: it grows while guesses come true. A batch of 16 costs about as much as one of 12."""

MOST_MISSES = 3
"""After so many guesses of which nothing was right, a reply is left alone for a while (then twice as long)."""


@dataclass
class Drafter:
    """How far the guesses for one reply have come true."""

    length: int = SHORTEST
    misses: int = 0
    rest: int = 0
    next_rest: int = 16

    def propose(self, prompt: NDArray[np.int32], tokens: NDArray[np.int32], room: int) -> list[int]:
        """Return the tokens that followed in the prompt the last time it said what `tokens` end with; at most `room`.

        `tokens` are the prompt and the reply so far. Empty where nothing matches or guessing has not paid.
        """
        if self.rest > 0:
            self.rest -= 1
            return []
        start = _last_match(prompt, tokens)
        return [] if start is None else [int(t) for t in prompt[start : start + min(self.length, room)]]

    def learn(self, proposed: int, accepted: int) -> None:
        """Take note that the first `accepted` of `proposed` tokens were right."""
        if accepted == proposed:
            self.length = min(LONGEST, 2 * self.length + 1)
        elif accepted < self.length // 2:
            self.length = max(SHORTEST, self.length // 2)
        self.misses = 0 if accepted else self.misses + 1
        if self.misses >= MOST_MISSES:
            self.misses = 0
            self.rest, self.next_rest = self.next_rest, 2 * self.next_rest


def _last_match(prompt: NDArray[np.int32], tokens: NDArray[np.int32]) -> int | None:
    """Find where the prompt goes on after the last `LEAST_MATCH` tokens: after the longest match, the last one."""
    tail = tokens[-LEAST_MATCH:]
    if tail.size < LEAST_MATCH or prompt.size <= LEAST_MATCH or tokens.size <= prompt.size:
        return None
    windows = prompt.size - LEAST_MATCH  # a match at the very end has nothing after it
    hits = np.ones(windows, bool)
    for offset in range(LEAST_MATCH):
        hits &= prompt[offset : offset + windows] == tail[offset]
    starts = np.flatnonzero(hits)
    if not starts.size:
        return None
    return int(max(starts, key=lambda at: (_match_length(prompt, tokens, int(at) + LEAST_MATCH), at))) + LEAST_MATCH


def _match_length(prompt: NDArray[np.int32], tokens: NDArray[np.int32], end: int) -> int:
    """Count the tokens before `end` of the prompt that `tokens` end with, up to 32."""
    length = min(32, end, tokens.size)
    different = np.flatnonzero(prompt[end - length : end][::-1] != tokens[tokens.size - length :][::-1])
    return int(different[0]) if different.size else length
