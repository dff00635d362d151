"""Correct a small model's bias to yes or no: decide by its log-odds, less those at which it is of two minds.

How the bias is found is the operator's `correct_lean`; docs/decisions/0012 compares the ways on gold. A decision is
true where ln(p(true) / p(false)) is above the bias, and its probability is that of a logistic curve around it.

Several readings of one row are corrected together, as votes: a small model says yes, or "Nothing", far too readily, and
how readily depends on the wording. But it says so with more or less conviction, and what it is more convinced of is
more often so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev

from engine.errors import ItemError
from models.protocol import Reply, pointer_to

FEWEST = 8
"""With fewer rows their mean says nothing about the model's bias, and the log-odds are taken as they are."""

MOST_CERTAIN = 1e-6
"""Probabilities of readings are kept so far from 0 and 1."""

FARTHEST = 20.0
"""Log-odds are kept between this and its negative: beyond lies rounding."""

LEAST_SPREAD = 0.25
"""Answers of which all are alike have at least this standard deviation."""

PRIOR_BIAS = 1.0
"""How far the bias commonly is from what rows without content say, in spreads of the answers: a standard deviation."""

PRIOR_SLOPE = 2.0
"""How steep the curve commonly is: a row one spread above the bias is yes with a probability of 88 %."""

PRIOR_SLOPE_FACTOR = 0.5
"""The standard deviation of the logarithm of that."""

_WIDEST = 50.0
_SLOPES = tuple(PRIOR_SLOPE * math.exp(step / 4) for step in range(-8, 9))


@dataclass(frozen=True, slots=True)
class Bias:
    """The log-odds at which the model is of two minds, and how steeply its probability rises around them.

    `detail` tells the ledger what it was found by.
    """

    log_odds: float = 0.0
    slope: float = 1.0
    detail: str = ""

    def probability(self, log_odds: float) -> float:
        """Return the corrected probability of yes; 0.5 is the border."""
        return _logistic(self.slope * (log_odds - self.log_odds))


@dataclass(frozen=True, slots=True)
class Verdict:
    """A corrected decision, its probability, and what the ledger says of it."""

    yes: bool
    probability: float
    detail: str

    @classmethod
    def of(cls, log_odds: float, bias: Bias) -> Verdict:
        """Decide by log-odds; on the border the answer is no."""
        probability = bias.probability(log_odds)
        detail = f"probability {probability:.2f}, log-odds {log_odds:+.2f} where the bias is {bias.log_odds:+.2f}"
        return cls(log_odds > bias.log_odds, probability, detail)


def log_odds_of(reply: Reply, field: str, sides: tuple[str, str] = ("true", "false")) -> float:
    """Return ln(p(yes) / p(no)) of a boolean in a reply, or of a choice between two texts, the `sides`.

    Raises ItemError where the model does not say.
    """
    yes, no = _sides(reply, field, *sides)
    if not (0 <= yes <= 1 and 0 <= no <= 1 and yes + no > 0):
        raise ItemError(
            f"the model does not say how sure it is of {field!r}, so its bias cannot be corrected",
            advice="Ask a model that reports probabilities (a local llama.cpp model does), or remove correct_lean.",
        )
    if not (yes and no):
        return FARTHEST if yes else -FARTHEST
    return max(-FARTHEST, min(FARTHEST, math.log(yes) - math.log(no)))


def _sides(reply: Reply, field: str, yes: str, no: str) -> tuple[float, float]:
    """Return the probabilities of yes and no: of both as the model says, else by that of the one it chose."""
    pointer = pointer_to(field)
    if (alternatives := reply.alternatives.get(pointer)) is not None:
        return alternatives.get(yes, math.nan), alternatives.get(no, math.nan)
    chosen = reply.probabilities.get(pointer, math.nan)
    return (chosen, 1 - chosen) if reply.value[field] in (True, yes) else (1 - chosen, chosen)


def of_content_free(answers: Sequence[float]) -> Bias:
    """Take the mean of the log-odds of answers about nothing for the bias (engine.operators.content_free)."""
    mean = fmean(answers)
    return Bias(mean, detail=f"log-odds {mean:+.2f}, the mean of {len(answers)} rows without content")


def of_batch(answers: Sequence[float]) -> Bias:
    """Take the mean of all rows for the bias (batch calibration: Zhou et al. 2023); none with fewer than FEWEST.

    It holds where about as many rows are yes as no: half of them are said to be, whatever they are.
    """
    if len(answers) < FEWEST:
        return Bias(detail=f"not corrected: {len(answers)} rows are fewer than {FEWEST}")
    mean = fmean(answers)
    return Bias(mean, detail=f"log-odds {mean:+.2f}, the mean of all {len(answers)} rows")


def of_reviewed(answers: Sequence[float], truths: Sequence[bool], nothing: Sequence[float]) -> Bias:
    """Fit a logistic curve to rows whose right answer is known (Platt 1999), with a prior against overfitting.

    `nothing` are answers about rows without content. The prior of the bias is normal around their mean (0 without
    any), in units of the spread of all answers; that of the slope is log-normal. So few rows move both little, and
    rows that can be told apart completely do not make the curve infinitely steep.
    """
    centre = fmean(nothing) if nothing else 0.0
    spread = max(pstdev([*answers, *nothing]), LEAST_SPREAD)
    scaled = [(answer - centre) / spread for answer in answers]
    bias, slope = min(
        ((_best_bias(scaled, truths, slope), slope) for slope in _SLOPES),
        key=lambda fitted: _surprise(scaled, truths, *fitted),
    )
    at = centre + bias * spread
    summary = f"log-odds {at:+.2f}, by {len(answers)} reviewed rows ({sum(truths)} of them true)"
    return Bias(at, slope / spread, f"{summary} and {len(nothing)} without content")


def _best_bias(answers: Sequence[float], truths: Sequence[bool], slope: float) -> float:
    """Find where the derivative of `_surprise` in the bias, which rises throughout, is 0."""
    low, high = min(answers, default=0.0) - _WIDEST, max(answers, default=0.0) + _WIDEST
    for _ in range(60):
        bias = (low + high) / 2
        rise = sum(slope * (truth - _logistic(slope * (x - bias))) for x, truth in zip(answers, truths, strict=True))
        if rise + bias / PRIOR_BIAS**2 > 0:
            high = bias
        else:
            low = bias
    return (low + high) / 2


def _surprise(answers: Sequence[float], truths: Sequence[bool], bias: float, slope: float) -> float:
    """Return the negative logarithm of likelihood times prior, up to a constant."""
    prior = (bias / PRIOR_BIAS) ** 2 / 2 + (math.log(slope / PRIOR_SLOPE) / PRIOR_SLOPE_FACTOR) ** 2 / 2
    return prior + sum(
        _softplus(-slope * (x - bias) if truth else slope * (x - bias))
        for x, truth in zip(answers, truths, strict=True)
    )


def _logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def _softplus(x: float) -> float:
    """Return ln(1 + e^x) without overflow."""
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def votes(readings: Sequence[Sequence[float]]) -> list[float]:
    """Give each row its vote: standard deviations above the mean of all rows.

    `readings[i]` are the probabilities, each from 0 to 1 inclusive, that row `i` belongs. Their log-odds are added, for
    each reading is an independent expert, then centred and scaled over all rows (batch calibration: Zhou et al. 2023,
    https://arxiv.org/abs/2309.17249, with the spread divided out so that votes add up). With fewer than FEWEST rows, or
    rows all alike, the vote is the mean of the row's log-odds.
    """
    sums = [sum(map(_log_odds, row)) for row in readings]
    if len(sums) < FEWEST or max(sums) - min(sums) < 1e-9:
        return [total / len(row) if row else 0.0 for total, row in zip(sums, readings, strict=True)]
    mean = fmean(sums)
    spread = pstdev(sums, mean)
    return [(total - mean) / spread for total in sums]


def _log_odds(probability: float) -> float:
    """Return ln(p / (1 - p)), p kept off 0 and 1."""
    p = min(max(probability, MOST_CERTAIN), 1 - MOST_CERTAIN)
    return math.log(p / (1 - p))
