"""Expressions that make a value: exact decimals, unknown where an operand is, conversion by the user's rates."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from types import CodeType
from typing import Any, ClassVar

from engine.errors import ItemError
from engine.language.date_functions import Unknown, read_day
from engine.language.evaluation import FUNCTIONS, Evaluator
from engine.language.expressions import CannotEvaluate, Expression, guarded, rooted, steps_down
from engine.values.base import MARKS, ORIGINAL, PROBLEM
from engine.values.figures import plain_number
from engine.values.rates import NoRate, Rate, UsedRate, find_rate

CONVERT = "convert"


@dataclass(frozen=True, slots=True)
class Computed:
    """What an expression made. `reason`: why the value is null; `rates` are those that were used, in order."""

    value: Any
    reason: str | None
    rates: tuple[UsedRate, ...]


@dataclass(frozen=True)
class Computation(Expression):
    """An expression that makes a value of `output` and `input`. It may call `convert`.

    Numbers are exact decimals while it is computed. An operand that is null makes the result null, but where the
    expression asks for it (`is None`); what is null, and why, is the reason.
    """

    more_functions: ClassVar[frozenset[str]] = frozenset({CONVERT})
    is_exact: ClassVar[bool] = True

    def compute(self, output: Mapping[str, Any], input: Mapping[str, Any], rates: Sequence[Rate]) -> Computed:
        """Compute the value; raises MissingField, or CannotEvaluate for what is wrong and not just unknown."""
        converter = _Converter(rates)
        code = self._code
        names = self.names(_exact(output), _exact(input))
        try:
            value = guarded(self.text, lambda: _Exact({**FUNCTIONS, CONVERT: converter}).value(code, names))
        except _IsUnknown as unknown:
            return Computed(None, self._reason(output, input) or str(unknown), tuple(converter.used))
        except CannotEvaluate:
            if (reason := self._reason(output, input)) is None:
                raise
            return Computed(None, reason, tuple(converter.used))
        return Computed(_plain(self.text, value), None, tuple(converter.used))

    def _reason(self, output: Mapping[str, Any], input: Mapping[str, Any]) -> str | None:
        """Say which fields that the expression names are null; None where none is."""
        reasons = [
            _null_at(part, {"output": output, "input": input}) for part in rooted(self.tree.body, self.variables)
        ]
        return "; ".join(dict.fromkeys(reason for reason in reasons if reason)) or None


class _IsUnknown(ItemError):
    """An operand is not known."""


class _Exact(Evaluator):
    """Evaluates with exact decimals; null is no operand."""

    def value(self, code: CodeType, names: Mapping[str, Any]) -> Any:
        try:
            return super().value(code, names)
        except Unknown as unknown:
            raise _IsUnknown(str(unknown)) from unknown

    def compare(self, name: str, left: Any, right: Any) -> Any:
        """Compare; `==` and `!=` with a null that is not written as None are not known."""
        if name in ("Eq", "NotEq") and (left is None or right is None):
            raise Unknown("null is compared")
        return super().compare(name, left, right)

    def call(self, name: str, /, *arguments: Any, **named: Any) -> Any:
        """Call a function by its name; a float it makes becomes a decimal."""
        return _decimals(super().call(name, *arguments, **named))

    def filter(self, name: str, value: Callable[[], Any], /, *arguments: Any, **named: Any) -> Any:
        """Apply a filter of prompts; floats it makes become decimals."""
        return _decimals(super().filter(name, value, *arguments, **named))

    def power(self, base: Any, exponent: Any) -> Any:
        """Raise to a power that is not too large; below zero it is a fraction."""
        is_fraction = isinstance(base, int) and isinstance(exponent, int) and exponent < 0
        return super().power(Decimal(base) if is_fraction else base, exponent)


class _Converter:
    """`convert(amount, "EUR")`, `convert(12, "mile", "km")`, each also with `on=` a day."""

    def __init__(self, rates: Sequence[Rate]) -> None:
        self._rates = rates
        self.used: list[UsedRate] = []

    def __call__(self, amount: Any, *units: Any, on: Any = None) -> Any:
        day = read_day(on).isoformat() if on is not None else ""
        if amount is None:
            raise Unknown("what is to be converted is null")
        if isinstance(amount, Mapping):
            return self._amount(amount, units, day)
        if len(units) != 2 or isinstance(amount, bool) or not isinstance(amount, int | Decimal):
            raise TypeError('write convert(amount, "EUR") for a typed amount, or convert(12, "mile", "km")')
        return amount * self._factor(str(units[0]), str(units[1]), day)

    def _amount(self, amount: Mapping[str, Any], units: Sequence[Any], day: str) -> dict[str, Any]:
        if len(units) != 1 or not {"value", "currency"} <= set(amount):
            raise TypeError('a typed amount is converted to one currency: convert(output.fee, "EUR")')
        if amount["value"] is None or amount["currency"] is None:
            raise Unknown(f"the amount {amount.get(ORIGINAL)!r} is not known: {amount.get(PROBLEM)}")
        factor = self._factor(str(amount["currency"]), str(units[0]), day)
        return {**amount, "value": amount["value"] * factor, "currency": str(units[0])}

    def _factor(self, base: str, to: str, day: str) -> Decimal:
        try:
            rate = find_rate(self._rates, base, to, day)
        except NoRate as error:
            raise Unknown(str(error)) from error
        if base != to:
            self.used.append(rate)
        return rate.factor


def _exact(value: Any) -> Any:
    if isinstance(value, float):
        return Decimal(str(value))
    if isinstance(value, Mapping):
        return {key: _exact(item) for key, item in value.items()}
    return [_exact(item) for item in value] if isinstance(value, list | tuple) else value


def _decimals(made: Any) -> Any:
    """Make decimals of a float, and of those in a list; deeper ones are found when the result is written."""
    if isinstance(made, list):
        return [Decimal(str(item)) if isinstance(item, float) else item for item in made]
    return Decimal(str(made)) if isinstance(made, float) else made


def _plain(text: str, value: Any) -> Any:
    """Turn a result into a JSON value; raises CannotEvaluate for what is none."""
    match value:
        case Decimal() | float() if not math.isfinite(value):
            raise CannotEvaluate(f"{text} makes {value}, which is no number that a field can hold")
        case float():
            return plain_number(Decimal(str(value)))
        case Decimal():
            return plain_number(value)
        case Mapping():
            return {str(key): _plain(text, item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(text, item) for item in value]
        case None | bool() | int() | str():
            return value
    raise CannotEvaluate(f"{text} makes a {type(value).__name__}, which no field can hold")


def _null_at(part: ast.expr, values: Mapping[str, Any]) -> str | None:
    """Say where on the way down to a part null stands, with the problem of the typed value that it is in."""
    at: Any = values
    typed: Mapping[str, Any] | None = None
    for node, key in steps_down(part):
        if isinstance(at, Mapping) and all(mark in at for mark in MARKS):
            typed = at
        if isinstance(at, Mapping) and key not in at:
            return None  # it is not null but missing: the expression is wrong
        at = at.get(key) if isinstance(at, Mapping) else _item(at, key)
        if at is None:
            detail = f" ({typed[ORIGINAL]!r}: {typed[PROBLEM]})" if typed and typed[PROBLEM] else ""
            return f"{ast.unparse(node)} is null{detail}"
    return None


def _item(value: Any, key: Any) -> Any:
    inside = isinstance(value, list | tuple) and isinstance(key, int) and -len(value) <= key < len(value)
    return value[key] if inside else None
