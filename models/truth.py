"""The greedy choice between true and false: the likelier answer, not the likelier token.

An answer can be spelled in several tokens (` true`, ` t` + `rue`), and the one likeliest token may write the answer
whose spellings together are the less likely. The probability told of a reply (models.choices) is that of all spellings,
so the choice is made by the same sums.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

MOST_SPELLINGS = 64
"""Where a schema allows more tokens than this, more than true and false may be written."""


def likeliest(allowed: NDArray[np.intp], scores: NDArray[np.float32], bytes_of: Callable[[int], bytes] | None) -> int:
    """Return the index of the greedy choice among the allowed tokens.

    `bytes_of` gives the bytes of a token; without it, the choice is that of the highest score.
    """
    best = int(scores.argmax())
    if bytes_of is None or not 2 <= allowed.size <= MOST_SPELLINGS:
        return best
    sides = []
    for token in allowed:
        side = _side(bytes_of(int(token)))
        if side is None:
            return best
        sides.append(side)
    told = np.asarray(sides)
    if not told[best]:
        return best  # a token before the answer, which leaves it open
    lean = told @ np.exp((scores - scores.max()).astype(np.float64))
    if lean * told[best] >= 0:
        return best
    others = np.flatnonzero(told == -told[best])
    return int(others[scores[others].argmax()])


def _side(piece: bytes) -> int | None:
    """Say which answer a token begins: 1 for true, -1 for false, 0 for what stands before both, None for others."""
    written = piece.lstrip(b'": ')
    if not written:
        return 0
    for side, answer in ((1, b"true"), (-1, b"false")):
        if answer.startswith(written) or written.startswith(answer):
            return side
    return None
