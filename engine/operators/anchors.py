"""Where a model parts the same from the different: pairs whose answer is known are its anchors (docs/decisions/0036).

A value beside a copy that lacks one of its words is the same; the values of all that are least alike are
different. The border lies midway between what the model says of either, so that it does not matter how readily it says
yes. Beside itself a value is more alike than any two mentions of one thing, and the border would lie too high.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import mean

from engine.errors import ItemError
from engine.operators.bias import Bias
from engine.operators.content_free import Values
from engine.operators.deciding import Read, read_all

MOST, FEWEST = 6, 4
"""Anchors of either kind that are asked about, and of how few nothing is concluded."""

LEAST_ALIKE = 0.25
"""Jaccard similarity of trigrams up to which values count as different."""

MOST_LOOKED_AT = 500
"""Values among which the one least alike is looked for."""

TOLD_APART = 0.9
"""A model that puts fewer of the pairs of anchors in the right order (AUC) cannot tell the same from the different."""

SURE = 9.0
"""The odds of yes at the one anchor, and of no at the other: how steep the probability is around the border."""

_LONGEST = 300


@dataclass(frozen=True, slots=True)
class Anchors:
    """What a prompt about two values is filled in with where the answer is known."""

    same: Sequence[Values] = ()
    different: Sequence[Values] = ()


def find_anchors(
    same: Sequence[Values], lefts: Sequence[str], rights: Sequence[str], fill: Callable[[int, int], Values]
) -> Anchors:
    """Choose anchors: of `same`, values beside a shortened copy, and of the pairs least alike by both sides' texts.

    `fill` gives the values of a pair by its places in `lefts` and `rights`.
    """
    trigrams = [_trigrams(text) for text in rights]
    looked_at = spread_over(len(rights), MOST_LOOKED_AT)
    different = []
    chosen = spread_over(len(lefts), MOST)
    for left in chosen:
        grams = _trigrams(lefts[left])
        unlike = sorted((_jaccard(grams, trigrams[right]), right) for right in looked_at)[: -(-MOST // len(chosen))]
        different += [fill(left, right) for alike, right in unlike if alike <= LEAST_ALIKE]
    return Anchors([same[i] for i in spread_over(len(same), MOST)], different)


def spread_over(count: int, most: int) -> list[int]:
    """Return at most so many places of a sequence, spread evenly."""
    return sorted({i * count // most for i in range(most)} if count > most else set(range(count)))


async def find_border(anchors: Anchors, read: Read) -> Bias:
    """Ask about the anchors and return the border between them; none where there are too few of either kind.

    Raises ItemError where the model cannot tell them apart.
    """
    few = min(len(anchors.same), len(anchors.different))
    if few < FEWEST:
        return Bias(detail=f"not corrected: {few} pairs whose answer is known are fewer than {FEWEST}")
    yes = await read_all(anchors.same, read, "value beside a shortened copy")
    no = await read_all(anchors.different, read, "pair of unlike values")
    if mean((y > n) + (y == n) / 2 for y in yes for n in no) < TOLD_APART:
        raise ItemError(
            "the model says of values beside a shortened copy what it says of the values least alike, so no pair is "
            "decided by it",
            advice="Reword comparison_prompt, use a larger model, or decide by rules or similarity. With "
            "correct_lean: none its plain yes or no counts.",
        )
    return midway(yes, no)


def midway(yes: Sequence[float], no: Sequence[float]) -> Bias:
    """Return the border between the log-odds of both kinds of anchors, those of `yes` being higher on average."""
    low, high = mean(no), mean(yes)
    summary = (
        f"log-odds {(low + high) / 2:+.2f}, midway between {len(yes)} values beside a shortened copy ({high:+.2f})"
    )
    detail = f"{summary} and {len(no)} pairs of unlike values ({low:+.2f})"
    return Bias((low + high) / 2, 2 * math.log(SURE) / (high - low), detail)


def _trigrams(text: str) -> frozenset[str]:
    padded = f" {' '.join(text.casefold().split())[:_LONGEST]} "
    return frozenset(a + b for a, b in pairwise(x + y for x, y in pairwise(padded)))


def _jaccard(left: frozenset[str], right: frozenset[str]) -> float:
    return len(left & right) / len(left | right) if left | right else 1.0
