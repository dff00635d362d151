"""How well a nested answer agrees with gold: value by value, the entries of two lists paired as they fit best."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from evaluation.agreement import Agreement
from rapidfuzz import fuzz
from scipy.optimize import linear_sum_assignment

LIKE = 80.0
"""Likeness (0 to 100, Levenshtein's ratio) from which two texts are the same, if they have the same digits."""
NEAR = 1e-3
"""Share by which two numbers may differ."""


def agreement(found: Any, gold: Any) -> Agreement:
    """Count the values of `found` that are right, all of them, and those of `gold`; null and empty texts are no values.

    Entries of lists are paired so that as many values as possible are right; their order does not count.
    """
    if isinstance(found, Mapping) and isinstance(gold, Mapping):
        keys = dict.fromkeys((*found, *gold))
        return sum((agreement(found.get(key), gold.get(key)) for key in keys), Agreement(0, 0, 0))
    if _is_list(found) and _is_list(gold):
        return _paired(found, gold)
    is_single = not any(isinstance(value, Mapping) or _is_list(value) for value in (found, gold))
    right = is_single and _is_value(found) and _is_value(gold) and same(found, gold)
    return Agreement(int(right), len(list(_values(found))), len(list(_values(gold))))


def same(found: Any, gold: Any) -> bool:
    """Say whether two single values are the same: numbers within NEAR, texts from LIKE on, with the same digits."""
    if isinstance(found, bool) or isinstance(gold, bool):
        return found is gold
    if isinstance(found, int | float) and isinstance(gold, int | float):
        return abs(found - gold) <= NEAR * abs(gold)
    first, second = (" ".join(str(value).casefold().split()) for value in (found, gold))
    return re.findall(r"\d+", first) == re.findall(r"\d+", second) and fuzz.ratio(first, second) >= LIKE


def _paired(found: Sequence[Any], gold: Sequence[Any]) -> Agreement:
    pairs = [[agreement(one, other) for other in gold] for one in found]
    right = 0
    if pairs and gold:
        gains = np.asarray([[pair.right for pair in row] for row in pairs])
        right = int(gains[linear_sum_assignment(gains, maximize=True)].sum())
    return Agreement(right, len(list(_values(found))), len(list(_values(gold))))


def _values(value: Any) -> Iterator[Any]:
    """List the single values within a value."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if _is_list(value):
        for item in value:
            yield from _values(item)
    elif _is_value(value):
        yield value


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _is_value(value: Any) -> bool:
    return value is not None and bool(str(value).strip())
