"""Filters as people type them above a column.

text         the cell contains it, letters' case aside
=text        the cell, or an item of its list, is it       !=text   is not it
=            the cell is empty                              !=       is not empty
>10  >=10  <10  <=10        numbers; with a date (>2019, <=2019-03), dates
"""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from engine.results.values import date_of, is_empty, items, leaves, number_of, shown
from engine.values.base import ORIGINAL
from engine.values.cells import is_typed, parts

Matches = Callable[[Any], bool]

_TYPED = re.compile(r"\s*(<=|>=|!=|<>|=|<|>)\s*(.*)", re.DOTALL)
_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = MappingProxyType(
    {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
)


@dataclass(frozen=True, slots=True)
class ColumnFilter:
    """What was typed above a column."""

    column: str
    text: str


def matcher(text: str) -> Matches:
    """Return the test that a typed filter is; empty text fits every cell."""
    typed = _TYPED.fullmatch(text)
    if typed is None:
        wanted = " ".join(text.casefold().split())
        return lambda value: wanted in shown(value).casefold()
    sign, rest = typed[1], typed[2].strip()
    if sign in _COMPARE:
        return _comparison(_COMPARE[sign], rest)
    is_wanted: Matches = functools.partial(_is, rest) if rest else is_empty
    return is_wanted if sign == "=" else (lambda value: not is_wanted(value))


def _is(wanted: str, value: Any) -> bool:
    number, plain = number_of(wanted), " ".join(wanted.casefold().split())
    if plain == shown(value).casefold():
        return True
    if is_typed(value) and any(shown(part).casefold() == plain for part in (*parts(value), value[ORIGINAL] or "")):
        return True
    return any(item.casefold() == plain or (number is not None and number_of(item) == number) for item in items(value))


def _comparison(holds: Callable[[Any, Any], bool], operand: str) -> Matches:
    number, date = number_of(operand), date_of(operand)

    def fits(leaf: Any) -> bool:
        if number is not None and (found := number_of(leaf)) is not None:
            return holds(found, number)
        there = date_of(leaf) if date is not None else None
        if date is None or there is None:
            return False
        parts = sum(part > 0 for part in date)  # 2019 is all of that year: only what was typed is compared
        return holds(there[:parts], date[:parts])

    return lambda value: any(fits(leaf) for leaf in leaves(value))
