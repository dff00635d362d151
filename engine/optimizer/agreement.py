"""How far a judge's order of plans is the true one (for the evaluation tasks, where gold says what is true)."""

from __future__ import annotations

import math
from collections.abc import Mapping

from engine.errors import UsageError


def kendalls_tau(judged: Mapping[str, float], true: Mapping[str, float]) -> float | None:
    """Return Kendall's tau-b between two scores of the same plans, -1 (reversed) to 1 (the same order).

    Ties count as such on both sides. None where no order can be told: fewer than two plans, or all of them alike on one
    side. Raises UsageError where the two do not name the same plans.
    """
    if set(judged) != set(true):
        only = sorted(set(judged) ^ set(true))
        raise UsageError(
            f"only one of the two orders names {', '.join(only)}", advice="Judge the plans of which the truth is known."
        )
    from scipy.stats import kendalltau  # noqa: PLC0415 - half a second of an import of this room

    if len(judged) < 2:
        return None
    tau = float(kendalltau([judged[name] for name in judged], [true[name] for name in judged]).statistic)
    return None if math.isnan(tau) else tau
