"""Score orders and ranked lists: Kendall's tau and rank precision (paper, sections 5.2 and 5.4)."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from itertools import combinations
from math import sqrt


def kendall_tau(values: Sequence[float]) -> float | None:
    """Return Kendall's tau-b between the order in which values stand and ascending order, -1 to 1.

    Pairs of equal values count on neither side. None where no two values differ: there is no order to judge.
    """
    pairs = [(later > earlier) - (later < earlier) for earlier, later in combinations(values, 2)]
    untied = sum(1 for sign in pairs if sign)
    return sum(pairs) / sqrt(len(pairs) * untied) if untied else None


def rank_precision(ranked: Sequence[Hashable], relevant: Collection[Hashable], k: int) -> float:
    """Return the share of relevant items among the first `k`, of as many as could be there: min(k, relevant).

    A repeated item counts where it stands first. Raises ValueError without relevant items, for there is no share then.
    """
    if not relevant:
        raise ValueError("rank precision needs at least one relevant item")
    first = list(dict.fromkeys(ranked))[:k]
    return len(set(first) & set(relevant)) / min(k, len(set(relevant)))
