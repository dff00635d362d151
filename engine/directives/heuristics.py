"""Sizes that arithmetic chooses where a model would guess (paper section 4.2.1).

Each function gives a range of plausible values, the smallest first, for plans to be compared on a sample.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

SMALLEST_SHARE, LARGEST_SHARE = 0.2, 0.8
"""Of the context that a chunk takes, inclusive."""

SMALLEST_BATCH = 0.2
"""Of the rows that fit one prompt of a reduce; the largest batch is all of them."""

SHORTEST = 800
"""Tokens of a text from which on parts of it are read in its place."""

MOST_PREVIOUS, MOST_NEXT = 5, 2
"""Chunks shown around one, however long the document is."""


@dataclass(frozen=True, slots=True, order=True)
class Window:
    """How many chunks are shown before and after each."""

    previous: int
    following: int

    @property
    def chunks(self) -> int:
        """Return how many chunks a prompt holds."""
        return self.previous + 1 + self.following


BASE_WINDOWS = (Window(0, 0), Window(1, 0), Window(1, 1))
"""What is tried whatever the document: no context, one previous chunk, one previous and one next."""


def chunk_sizes(context_tokens: int) -> tuple[int, ...]:
    """Return four sizes in tokens, evenly from 20 % to 80 % of the context, both inclusive."""
    if context_tokens < 10:
        raise ValueError(f"chunk sizes need a context of 10 tokens, not {context_tokens}")
    step = (LARGEST_SHARE - SMALLEST_SHARE) / 3
    sizes = (round(context_tokens * (SMALLEST_SHARE + step * number)) for number in range(4))
    return tuple(dict.fromkeys(sizes))


def windows(document_tokens: int, chunk_tokens: int, room_tokens: int | None = None) -> tuple[Window, ...]:
    """Return what to show around a chunk: the three of `BASE_WINDOWS`, and more for documents of many chunks.

    The number of previous chunks grows with the square root of the document's length in chunks, to at most five; half
    as many follow, at most two. With `room_tokens`, only what fits a prompt is returned, at least the chunk alone.
    """
    if document_tokens < 1 or chunk_tokens < 1:
        raise ValueError(f"lengths are at least 1 token, not {document_tokens} and {chunk_tokens}")
    root = math.isqrt(max(1, document_tokens // chunk_tokens))
    previous, following = min(MOST_PREVIOUS, root), min(MOST_NEXT, root // 2)
    more = [Window(number, 0) for number in range(2, previous + 1)]
    more += [Window(previous, number) for number in range(1, following + 1)]
    choices = dict.fromkeys([*BASE_WINDOWS, *more])
    return tuple(w for w in choices if room_tokens is None or w.chunks == 1 or w.chunks * chunk_tokens <= room_tokens)


def most_rows(row_tokens: int, room_tokens: int) -> int:
    """Return how many rows of a length fit one prompt, at least 1."""
    return max(1, room_tokens // max(1, row_tokens))


def batch_sizes(most: int) -> tuple[int, ...]:
    """Return five sizes from 20 % to 100 % of the `most` rows that fit one prompt, each once, at least 1."""
    shares = (SMALLEST_BATCH + (1 - SMALLEST_BATCH) / 4 * number for number in range(5))
    return tuple(dict.fromkeys(max(1, round(most * share)) for share in shares))
