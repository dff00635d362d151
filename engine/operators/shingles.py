"""Near-duplicate texts by the pieces of letters that they share: Jaccard similarity of their shingles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

LETTERS = 5
"""Characters of a shingle. A misread letter then changes 5 shingles of many, not whole words."""

SKETCH = 1024
"""Shingles kept of a text: those with the lowest hashes, a fair sample of both of two texts (bottom-k MinHash).

Shorter texts are compared exactly; of longer ones the Jaccard similarity is estimated, to within about 0.03.
"""

BINS = 128
"""Hashes are put into so many bins; the lowest of each makes the signature (one permutation hashing: Li et al. 2012).

No more than 255, so that equal bins can be counted in a byte.
"""

CLOSEST = 20
"""Texts with the most alike signatures, whose similarity is then computed from their sketches."""

SLACK = 0.3
"""How far signatures may be less alike than the texts are; in short ones a bin more or less matters."""

_FACTOR = 0x9E3779B97F4A7C15
_MIX = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
_EMPTY, _SOUGHT, _LOWEST = 0, 1, 2
"""What stands for an empty bin, among those added and in what is sought, never equals anything."""

Sketch = NDArray[np.uint64]
Signature = NDArray[np.uint16]


def shingles(text: str) -> Sketch:
    """Return the hashes of a text's shingles, ascending and distinct; case and white space do not count."""
    plain = " ".join(text.casefold().split())
    codes = np.frombuffer(plain.encode("utf-32-le", errors="surrogatepass"), np.uint32).astype(np.uint64)
    width = min(LETTERS, len(codes))
    hashes = np.zeros(len(codes) - width + 1, np.uint64)
    for offset in range(width):
        hashes = hashes * np.uint64(_FACTOR) + codes[offset : offset + len(hashes)] + np.uint64(1)
    return np.unique(_mixed(hashes))


def similarity(one: Sketch, other: Sketch) -> float:
    """Return the Jaccard similarity of two texts by the lowest SKETCH of their shingles: 0 to 1."""
    union = np.union1d(one, other)[:SKETCH] if max(len(one), len(other)) == SKETCH else np.union1d(one, other)
    shared = np.intersect1d(one, other, assume_unique=True)
    return float(np.count_nonzero(shared <= union[-1]) / len(union))


def signature(hashes: Sketch) -> Signature:
    """Return the low 16 bits of the lowest hash in each bin, at least _LOWEST; 0 for an empty bin."""
    bins = (hashes >> np.uint64(64 - BINS.bit_length() + 1)).astype(np.intp)
    filled, first = np.unique(bins, return_index=True)
    found = np.full(BINS, _EMPTY, np.uint16)
    found[filled] = np.maximum(hashes[first] & np.uint64(0xFFFF), _LOWEST).astype(np.uint16)
    return found


class ShingleIndex:
    """Texts that were added, to be found by those that are similar to them."""

    def __init__(self, texts: Sequence[str], threshold: float) -> None:
        """`texts` are all that will be added or looked up, by their index."""
        self._threshold = threshold
        hashes = [shingles(text) for text in texts]
        self._sketches = [each[:SKETCH].copy() for each in hashes]
        self._signatures = np.stack([signature(each) for each in hashes]) if hashes else np.empty((0, BINS), np.uint16)
        self._filled = np.count_nonzero(self._signatures, axis=1)
        # A column per text that was added: numpy adds up rows much faster than it counts along them.
        self._added = np.empty(self._signatures.shape[::-1], np.uint16)
        self._added_filled = np.empty_like(self._filled)
        self._items: list[int] = []

    def find(self, item: int) -> tuple[int, float] | None:
        """Return the most similar text that was added (of equal ones the first) and how similar it is."""
        count = len(self._items)
        # A short text fills few bins; a selection of rows is a copy, though.
        filled = np.flatnonzero(self._signatures[item]) if self._filled[item] < BINS // 2 else np.arange(BINS)
        added = self._added[filled, :count] if len(filled) < BINS else self._added[:, :count]
        sought = np.where(self._signatures[item] == _EMPTY, _SOUGHT, self._signatures[item])[filled, np.newaxis]
        equal = (added == sought).view(np.uint8).sum(axis=0, dtype=np.uint8)
        alike = equal / np.maximum(self._added_filled[:count], self._filled[item])
        likely = np.flatnonzero(alike >= max(self._threshold - SLACK, 1 / BINS))
        closest = likely[np.argsort(-alike[likely], kind="stable")[:CLOSEST]]
        own = self._sketches[item]
        scored = [(similarity(own, self._sketches[self._items[place]]), -place) for place in closest.tolist()]
        score, place = max(scored, default=(0.0, 0))
        return (self._items[-place], score) if score >= self._threshold else None

    def add(self, item: int) -> None:
        """Let a text be found."""
        place = len(self._items)
        self._added[:, place] = self._signatures[item]
        self._added_filled[place] = self._filled[item]
        self._items.append(item)


def _mixed(hashes: Sketch) -> Sketch:
    """Spread hashes evenly, so that the lowest are a fair sample (the finalizer of SplitMix64)."""
    hashes = (hashes ^ (hashes >> np.uint64(30))) * np.uint64(_MIX[0])
    hashes = (hashes ^ (hashes >> np.uint64(27))) * np.uint64(_MIX[1])
    return hashes ^ (hashes >> np.uint64(31))
