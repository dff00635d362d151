"""Aggregates that code computes exactly: lists, counts and sums of a group's values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from typing import Any

from engine.errors import ItemError
from engine.language.position import did_you_mean
from engine.operators.accounting import kind_of
from engine.operators.grouping import written_alike
from engine.rows import Row

_DIGITS = 50
"""So many digits of a sum are exact."""


@dataclass(frozen=True, slots=True)
class Aggregate:
    """Write `field` from the values of the fields `sources` in a group, row by row, nulls left out."""

    field: str
    function: str
    sources: tuple[str, ...]

    def compute(self, rows: Sequence[Row]) -> Any:
        """Aggregate the rows; raises ItemError for values the function cannot take."""
        values = [row.values.get(source) for row in rows for source in self.sources]
        try:
            return FUNCTIONS[self.function]([v for v in values if v is not None])
        except ItemError as error:
            raise ItemError(
                f"{self.function} of {', '.join(map(repr, self.sources))}: {error}", advice=error.advice
            ) from error


def parse_aggregates(mapping: Mapping[str, Any]) -> tuple[Aggregate, ...]:
    """Read `{field: function}`, `{field: {function: source}}` or `{field: {function: [source, ...]}}`.

    Raises ValueError listing the functions.
    """
    return tuple(_parse(field, value) for field, value in mapping.items())


def _parse(field: str, value: Any) -> Aggregate:
    match value:
        case str():
            function, sources = value, (field,)
        case Mapping() if len(value) == 1 and all(_are_names(v) for v in value.values()):
            [(function, names)] = value.items()
            sources = (names,) if isinstance(names, str) else tuple(names)
        case _:
            raise ValueError(f"aggregate.{field} is a function, or {{function: field}}; not {value!r}")
    if function not in FUNCTIONS:
        raise ValueError(f"aggregate.{field}: there is no function {function!r}. {did_you_mean(function, FUNCTIONS)}")
    return Aggregate(field, function, sources)


def _are_names(value: Any) -> bool:
    several = isinstance(value, list | tuple) and bool(value) and all(isinstance(name, str) for name in value)
    return isinstance(value, str) or several


def _items(values: Sequence[Any]) -> list[Any]:
    for value in values:
        if not isinstance(value, list | tuple):
            raise ItemError(f"{kind_of(value)} among the values is not a list")
    return [item for value in values for item in value]


def _any(values: Sequence[Any]) -> bool:
    for value in values:
        if not isinstance(value, bool):
            raise ItemError(f"{kind_of(value)} among the values is neither true nor false")
    return any(values)


def _unique(values: Sequence[Any]) -> list[Any]:
    distinct: dict[str, Any] = {}
    for value in values:
        distinct.setdefault(written_alike(value), value)
    return list(distinct.values())


def _most_common(values: Sequence[Any]) -> Any:
    """Return the value that occurs most often, the first of equals."""
    counts: Counter[str] = Counter()
    first: dict[str, Any] = {}
    for value in values:
        key = written_alike(value)
        counts[key] += 1
        first.setdefault(key, value)
    return first[max(counts, key=lambda key: counts[key])] if counts else None


def _sum(values: Sequence[Any]) -> int | float:
    """Add numbers as they are written: 0.1 and 0.2 are 0.3."""
    numbers = _numbers(values)
    if all(isinstance(number, int) for number in numbers):
        return sum(numbers)
    with localcontext(Context(prec=_DIGITS, traps=[])):
        return float(sum(Decimal(repr(number)) for number in numbers))


def _numbers(values: Sequence[Any]) -> list[int | float]:
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ItemError(f"{kind_of(value)} among the values is not a number")
    return list(values)


def _extreme(choose: Callable[[Sequence[Any]], Any]) -> Callable[[Sequence[Any]], Any]:
    def extreme(values: Sequence[Any]) -> Any:
        if not values:
            return None
        return choose(values if all(isinstance(v, str) for v in values) else _numbers(values))

    return extreme


FUNCTIONS: dict[str, Callable[[Sequence[Any]], Any]] = {
    "collect": list,
    "collect_unique": _unique,
    "first": lambda values: values[0] if values else None,
    "most_common": _most_common,
    "min": _extreme(min),
    "max": _extreme(max),
    "count": len,
    "sum": _sum,
    "concat": _items,
    "union": lambda values: _unique(_items(values)),
    "any": _any,
}
"""By name: collect and collect_unique keep order; concat and union take lists and put their items into one, union each
item once; count counts values that are not null; min and max take all numbers or all text (ISO dates sort as text);
any takes booleans; an empty group gives [], 0, false or null."""
