"""Which tokens may come next: one bit for each token of the vocabulary."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

WORD = 32
"""Bits of a word."""


@dataclass(frozen=True, slots=True, eq=False)
class TokenMask:
    """The tokens that may come next; bit i of `words`, from the lowest of the first, is that of token i < `size`.

    Of most masks one bit is looked at, that of the likeliest token: a list of all that are allowed, often 100,000,
    would take longer than what it is made for.
    """

    words: NDArray[np.int32]
    size: int

    @classmethod
    def of(cls, tokens: Iterable[int], size: int) -> TokenMask:
        """Make the mask of the tokens given, each below `size`."""
        bits = np.zeros(-(-size // WORD) * WORD, np.uint8)
        bits[list(tokens)] = 1
        return cls(np.packbits(bits, bitorder="little").view(np.int32), size)

    def holds(self, token: int) -> bool:
        """Say whether a token may come next."""
        return 0 <= token < self.size and bool(int(self.words[token // WORD]) >> token % WORD & 1)

    def has_more_than(self, count: int) -> bool:
        """Say whether more than so many tokens may come next."""
        return int(np.bitwise_count(self.words.view(np.uint32)).sum()) > count

    def tokens(self) -> NDArray[np.intp]:
        """Return the tokens that may come next, ascending."""
        bits = np.unpackbits(self.words.view(np.uint8), bitorder="little")
        return np.flatnonzero(bits[: self.size])
