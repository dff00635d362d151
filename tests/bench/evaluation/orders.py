"""Score orders and ranked lists: Kendall's tau and rank precision (paper, sections 5.2 and 5.4)."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Sequence


def kendall_tau(values: Sequence[float], true: Sequence[float] | None = None) -> float | None:
    """Return Kendall's tau-b between the orders of two scores of the same things, -1 (reversed) to 1 (the same order).

    Without `true`, that is the order in which the values stand, which should be ascending. Ties count as such on both
    sides. None where there is no order to tell: fewer than two things, or all alike on one side. Raises ValueError
    where the two do not have the same length.
    """
    from scipy.stats import kendalltau  # noqa: PLC0415 - half a second of an import of this room

    if true is not None and len(true) != len(values):
        raise ValueError(f"{len(values)} scores of {len(true)} things")
    if len(values) < 2:
        return None
    tau = float(kendalltau(values, range(len(values)) if true is None else true).statistic)
    return None if math.isnan(tau) else tau


def rank_precision(ranked: Sequence[Hashable], relevant: Collection[Hashable], k: int) -> float:
    """Return the share of relevant items among the first `k`, of as many as could be there: min(k, relevant).

    A repeated item counts where it stands first. Raises ValueError without relevant items, for there is no share then.
    """
    if not relevant:
        raise ValueError("rank precision needs at least one relevant item")
    first = list(dict.fromkeys(ranked))[:k]
    return len(set(first) & set(relevant)) / min(k, len(set(relevant)))
