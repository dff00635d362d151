"""The plans between which a person chooses: none is both worse and slower than another; and the choice by policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from engine.errors import UsageError
from engine.optimizer.rating import MARGIN

PolicyName = Literal["best", "fastest", "within-minutes"]

WITHIN = "within-minutes"

UNDECIDED = "automatic checks show no clear winner (best {best:.2f}, your own {own:.2f})"
"""Why the user's own plan stands where another is rated no worse."""

NOTABLY = 0.9
"""A plan that takes no more than this share of another's time is notably faster."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What is wanted: the best plan, the fastest that is as good as the user's, or the best within minutes.

    `minutes` are those of a run over all rows, None where the policy needs none.
    """

    name: PolicyName = "best"
    minutes: float | None = None

    def __post_init__(self) -> None:
        if (self.name == WITHIN) != (self.minutes is not None):
            raise UsageError("the policy within-minutes needs minutes, and no other", advice=POLICY_ADVICE)
        if self.minutes is not None and not self.minutes > 0:  # nor is nan
            raise UsageError(f"within-minutes {self.minutes:g}: minutes are more than 0", advice=POLICY_ADVICE)

    def __str__(self) -> str:
        return self.name if self.minutes is None else f"{self.name} {self.minutes:g}"


POLICY_ADVICE = "Write best, fastest, or within-minutes 30."


def read_policy(text: str) -> Policy:
    """Read `best`, `fastest` or `within-minutes 30`; raises UsageError."""
    name, _, minutes = text.strip().replace("=", " ").partition(" ")
    if name == "best" and not minutes:
        return Policy("best")
    if name == "fastest" and not minutes:
        return Policy("fastest")
    if name != WITHIN:
        raise UsageError(f"there is no policy {text!r}", advice=POLICY_ADVICE)
    try:
        return Policy("within-minutes", float(minutes))
    except ValueError as error:
        raise UsageError(f"{text!r} says no number of minutes", advice=POLICY_ADVICE) from error


@dataclass(frozen=True, slots=True)
class Point:
    """A plan by its accuracy and time: `score` from 1 to 4, `seconds` estimated for all rows.

    `beats`: it does better than the user's own plan. `is_guess`: nothing tells whether it keeps and merges the right
    rows. Both: engine.optimizer.candidates.Contest. `is_whole`: it was run to its end, so `seconds` are of all of it.
    """

    plan: int
    score: float
    seconds: float
    beats: bool = False
    is_guess: bool = False
    is_whole: bool = True


@dataclass(frozen=True, slots=True)
class Choice:
    """The plan that was chosen, and why, in words."""

    plan: int
    reason: str


def frontier(points: Sequence[Point]) -> list[Point]:
    """Return the points that no other dominates, the fastest first; of equals the one that came first."""
    kept: list[Point] = []
    for point in sorted(points, key=lambda p: (p.seconds, -p.score)):
        if not kept or point.score > kept[-1].score:
            kept.append(point)
    return kept


def choose(points: Sequence[Point], own: Point, policy: Policy) -> Choice:
    """Choose between plans, of which `own` is the user's: another must do better, or as well in less time."""
    if policy.name == "best":
        return _best(points, own)
    if not own.is_whole:
        return Choice(own.plan, "there was no time to run whole plans, so it is not known how long they take")
    known = [point for point in points if not point.is_guess]
    if policy.name == "fastest":
        return _fastest(known, own)
    return _within(known, own, policy.minutes or 0.0)


def _best(points: Sequence[Point], user: Point) -> Choice:
    better = [point for point in points if point.beats]
    if not better:
        return Choice(user.plan, why_none(points, user))
    best = max(better, key=lambda p: (p.score, -p.seconds))
    quick = min((p for p in better if p.score > best.score - MARGIN), key=lambda p: p.seconds)
    is_faster = quick.seconds <= NOTABLY * best.seconds
    chosen, times = (quick, quick.seconds / best.seconds) if is_faster and best.seconds else (best, 1.0)
    reason = f"it did better than your own: rated {chosen.score:.2f}, yours {user.score:.2f}"
    if chosen is best:
        return Choice(best.plan, reason)
    return Choice(chosen.plan, f"{reason}; it is about as good as the highest-rated plan, in {times:.0%} of its time")


def why_none(points: Sequence[Point], own: Point) -> str:
    """Say why no plan is chosen in place of the user's own."""
    best = max(points, key=lambda p: p.score, default=None)
    if best is None or best.score < own.score:
        return "no other plan did better"
    return UNDECIDED.format(best=best.score, own=own.score)


def _fastest(points: Sequence[Point], user: Point) -> Choice:
    as_good = [p for p in points if p.score >= user.score and p.seconds < user.seconds]
    if not as_good:
        return Choice(user.plan, "no other plan that is as good is faster")
    best = min(as_good, key=lambda p: (p.seconds, -p.score))
    times = user.seconds / best.seconds if best.seconds else float("inf")
    speed = f"{times:.1f} times as fast" if times < 1000 else "without asking a model"
    return Choice(best.plan, f"it is as good as your own ({best.score:.2f}, yours {user.score:.2f}) and {speed}")


def _within(points: Sequence[Point], user: Point, minutes: float) -> Choice:
    fitting = [point for point in points if point.seconds <= minutes * 60]
    if user.seconds <= minutes * 60:
        choice = _best([point for point in fitting if point.plan != user.plan], user)
        return Choice(choice.plan, f"{choice.reason} (all rows within {minutes:g} minutes)")
    if not fitting:
        fastest = min([user, *points], key=lambda p: p.seconds)
        reason = f"no plan reads all rows within {minutes:g} minutes; this is the fastest, {_span(fastest.seconds)}"
        return Choice(fastest.plan, reason)
    best = max(fitting, key=lambda p: (p.beats, p.score, -p.seconds))
    worse = (
        "" if best.beats else f", though it does not do better than yours ({best.score:.2f}, yours {user.score:.2f})"
    )
    needed = f"your own takes {_span(user.seconds)}"
    return Choice(best.plan, f"it is the best that reads all rows within {minutes:g} minutes{worse}; {needed}")


def _span(seconds: float) -> str:
    """Write how long a run takes, in seconds where it is hardly a minute."""
    return f"{seconds:.0f} seconds" if seconds < 90 else f"{seconds / 60:.0f} minutes"
