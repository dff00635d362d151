"""Whether two values contradict each other, or one only says less than the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.answers.specs import identity_of
from engine.text.normalise import plain, words
from engine.values.base import MARKS
from engine.values.cells import is_typed

UNIT = "unit"
"""The part of a sum that says what it is for each of."""

_FILLERS = frozenset({"per", "a", "an", "each", "every", "pro", "je", "for", "the"})
_PERIODS: Mapping[str, str] = {
    **{"monthly": "month", "weekly": "week", "daily": "day", "hourly": "hour", "quarterly": "quarter"},
    **{"yearly": "year", "annually": "year", "annum": "year"},
}


def contradict(one: Any, other: Any) -> bool:
    """Say whether both values cannot be the answer to a question that has one.

    Typed values contradict each other in a part that both have: a sum without its currency is no other than the same
    sum with it, a month no other than a day in it. Other values do where neither's words are in the other's.

    >>> contradict("Acme", "Acme Corporation")
    False
    """
    if is_typed(one) and is_typed(other):
        mine, others = _parts(one), _parts(other)
        if mine and others:
            shared = mine.keys() & others.keys()
            return any(_differ(mine[name], others[name]) for name in shared - {UNIT}) or not same_unit(one, other)
    return _differ(one, other)


def same_unit(one: Any, other: Any) -> bool:
    """Say whether two sums may be for the same thing: a rent a month and one a year are two things."""
    mine, others = (_unit_words(value) for value in (one, other))
    return not mine or not others or mine <= others or others <= mine


def _unit_words(value: Any) -> set[str]:
    unit = value.get(UNIT) if isinstance(value, Mapping) else None
    return {_PERIODS.get(word, word) for word in words(plain(unit or ""))} - _FILLERS


def _parts(value: Mapping[str, Any]) -> dict[str, Any]:
    return {name: part for name, part in value.items() if name not in MARKS and part not in (None, "", [])}


def _differ(one: Any, other: Any) -> bool:
    """Say whether neither is the other or a part of it, by their words: 'Acme' is a part of 'Acme Corporation'."""
    mine, others = identity_of(one), identity_of(other)
    return f" {mine} " not in f" {others} " and f" {others} " not in f" {mine} "
