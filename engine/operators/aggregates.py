"""Aggregates that code computes exactly: lists, counts and sums of a group's values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.errors import ItemError
from engine.language.position import did_you_mean
from engine.operators.accounting import kind_of
from engine.rows import Row
from models.protocol import canonical_json


@dataclass(frozen=True, slots=True)
class Aggregate:
    """Write `field` from the values of `source` in a group, nulls left out."""

    field: str
    function: str
    source: str

    def compute(self, rows: Sequence[Row]) -> Any:
        """Aggregate the rows; raises ItemError for values the function cannot take."""
        values = [row.values.get(self.source) for row in rows]
        try:
            return FUNCTIONS[self.function]([v for v in values if v is not None])
        except ItemError as error:
            raise ItemError(f"{self.function} of {self.source!r}: {error}", advice=error.advice) from error


def parse_aggregates(mapping: Mapping[str, Any]) -> tuple[Aggregate, ...]:
    """Read `{field: function}` or `{field: {function: source}}`; raises ValueError listing the functions."""
    return tuple(_parse(field, value) for field, value in mapping.items())


def _parse(field: str, value: Any) -> Aggregate:
    match value:
        case str():
            function, source = value, field
        case Mapping() if len(value) == 1 and all(isinstance(v, str) for v in value.values()):
            [(function, source)] = value.items()
        case _:
            raise ValueError(f"aggregate.{field} is a function, or {{function: field}}; not {value!r}")
    if function not in FUNCTIONS:
        raise ValueError(f"aggregate.{field}: there is no function {function!r}. {did_you_mean(function, FUNCTIONS)}")
    return Aggregate(field, function, source)


def _unique(values: Sequence[Any]) -> list[Any]:
    found: dict[str, Any] = {}
    for value in values:
        found.setdefault(canonical_json(value), value)
    return list(found.values())


def _most_common(values: Sequence[Any]) -> Any:
    """Return the value that occurs most often, the first of equals."""
    keys = [canonical_json(v) for v in values]
    return max(values, key=lambda v: keys.count(canonical_json(v)), default=None)


def _sum(values: Sequence[Any]) -> int | float:
    return sum(_numbers(values))


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
}
"""By name: collect and collect_unique keep order; count counts values that are not null; min and max take all numbers
or all text (ISO dates sort as text); an empty group gives [], 0 or null."""
