"""How many tokens some prompts have if what they begin with alike is counted once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def trie_size(prompts: Sequence[NDArray[np.int32]]) -> int:
    """Count the nodes of the trie of some token sequences: in sorted order, what each adds to the one before it."""
    ordered = sorted(p.tolist() for p in prompts)
    total, before = 0, np.empty(0, np.int32)
    for tokens in ordered:
        here = np.asarray(tokens, np.int32)
        least = min(here.size, before.size)
        differ = np.flatnonzero(here[:least] != before[:least])
        total += here.size - (int(differ[0]) if differ.size else least)
        before = here
    return total
