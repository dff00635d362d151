"""Decide rows by the readings of a small model, each corrected for its bias.

A small model says yes, or "Nothing", far too readily, and how readily depends on the wording. But it says so with more
or less conviction, and what it is more convinced of is more often so. The log-odds of several readings of one row
are added (each reading is an independent expert) and then centred and scaled over all rows of the run (batch
calibration: Zhou et al. 2023, https://arxiv.org/abs/2309.17249, with the spread divided out so that votes add up).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

FEWEST = 8
"""With fewer rows their mean says nothing about the model's bias, and the log-odds are taken as they are."""

MOST_CERTAIN = 1e-6
"""Probabilities are kept so far from 0 and 1."""


def votes(readings: Sequence[Sequence[float]]) -> list[float]:
    """Give each row its vote: standard deviations above the mean of all rows.

    `readings[i]` are the probabilities, each from 0 to 1 inclusive, that row `i` belongs. With fewer than FEWEST rows,
    or rows all alike, the vote is the mean of the row's log-odds.
    """
    sums = [sum(map(log_odds, row)) for row in readings]
    if len(sums) < FEWEST or max(sums) - min(sums) < 1e-9:
        return [total / len(row) if row else 0.0 for total, row in zip(sums, readings, strict=True)]
    mean = sum(sums) / len(sums)
    spread = math.sqrt(sum((total - mean) ** 2 for total in sums) / len(sums))
    return [(total - mean) / spread for total in sums]


def log_odds(probability: float) -> float:
    """Return ln(p / (1 - p)), p kept off 0 and 1."""
    p = min(max(probability, MOST_CERTAIN), 1 - MOST_CERTAIN)
    return math.log(p / (1 - p))
