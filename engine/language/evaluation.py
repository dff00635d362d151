"""Compute a checked expression with bounded work: simpleeval, with our own functions, methods and limits."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from simpleeval import DEFAULT_OPERATORS, EvalWithCompoundTypes, InvalidExpression

from engine.language.date_functions import DATE_FUNCTIONS

MAX_STEPS = 300_000
"""Parts evaluated, and items compared, sorted or counted in one evaluation."""

MAX_LENGTH = 100_000
"""Characters or items of a value that an expression makes."""

MAX_BITS = 2_048
"""Size of a whole number that an expression makes."""


class TooMuchWork(InvalidExpression):  # type: ignore[misc]
    """An expression exceeds a bound."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A type as an expression names it, for isinstance."""

    types: tuple[type, ...]


KINDS: Mapping[str, Kind] = {
    "str": Kind((str,)),
    "int": Kind((int,)),
    "float": Kind((float, Decimal)),
    "bool": Kind((bool,)),
    "list": Kind((list, tuple)),
    "tuple": Kind((list, tuple)),
    "dict": Kind((dict,)),
}

METHODS: Mapping[type, frozenset[str]] = {
    str: frozenset(
        {
            "lower", "upper", "casefold", "title", "capitalize", "strip", "lstrip", "rstrip", "split", "rsplit",
            "splitlines", "startswith", "endswith", "count", "find", "rfind", "index", "removeprefix", "removesuffix",
            "replace", "join", "isdigit", "isnumeric", "isdecimal", "isalpha", "isalnum", "isspace", "isupper",
            "islower", "istitle", "isascii",
        }
    ),
    dict: frozenset({"get", "keys", "values", "items"}),
    list: frozenset({"count", "index"}),
    set: frozenset({"issubset", "issuperset", "isdisjoint", "union", "intersection", "difference"}),
}  # fmt: skip
"""Methods that change nothing and whose results are bounded by what they are given, or by Evaluator."""


def _is_instance(value: Any, kinds: Any) -> bool:
    found = kinds if isinstance(kinds, tuple | list) else (kinds,)
    if not all(isinstance(kind, Kind) for kind in found):
        raise TypeError("isinstance needs a type: str, int, float, bool, list or dict")
    return any(_is_of(value, kind) for kind in found)


def _is_of(value: Any, kind: Kind) -> bool:
    if isinstance(value, bool) and bool not in kind.types:
        return int in kind.types  # as in Python
    return isinstance(value, kind.types) or (dict in kind.types and isinstance(value, Mapping))


def _text(value: Any = "") -> str:
    if isinstance(value, str | int | float | bool | Decimal | None):
        return str(value)
    raise TypeError("str() takes text, a number, True, False or None")


def _range(*bounds: int) -> list[int]:
    found = range(*bounds)
    if len(found) > MAX_LENGTH:
        raise TooMuchWork(f"range() of more than {MAX_LENGTH} numbers")
    return list(found)


def _sum(values: Iterable[Any], start: float = 0) -> Any:
    items = [start, *values]
    if not all(isinstance(item, int | float | Decimal) for item in items):
        raise TypeError("sum() adds numbers only")
    return _bounded(sum(items))


def _round(value: float, digits: int | None = None) -> float:
    if digits is not None and abs(digits) > 20:
        raise TooMuchWork("round() to more than 20 digits")
    return round(value, digits)


def _sorted(values: Iterable[Any], *, reverse: bool = False) -> list[Any]:
    return sorted(values, reverse=reverse)


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "len": len,
    "any": any,
    "all": all,
    "sum": _sum,
    "min": min,
    "max": max,
    "sorted": _sorted,
    "set": set,
    "list": list,
    "tuple": tuple,
    "dict": dict,
    "str": _text,
    "int": int,
    "float": float,
    "bool": bool,
    "abs": abs,
    "round": _round,
    "isinstance": _is_instance,
    "range": _range,
    "enumerate": lambda values, start=0: list(enumerate(values, start)),
    "zip": lambda *values: list(zip(*values, strict=False)),
    "reversed": lambda values: list(reversed(values)),
    **DATE_FUNCTIONS,
}

_SHALLOW = frozenset({"len", "any", "all", "bool", "isinstance"})
"""Functions whose work does not grow with what is inside the items."""


def _power(base: Any, exponent: Any) -> Any:
    if abs(exponent) > MAX_BITS or (isinstance(base, int) and base.bit_length() * abs(exponent) > MAX_BITS):
        raise TooMuchWork("the power is too large")
    return base**exponent


def _product(left: Any, right: Any) -> Any:
    if not (isinstance(left, int | float | Decimal) and isinstance(right, int | float | Decimal)):
        raise TypeError("* multiplies numbers only")
    return operator.mul(left, right)


def _remainder(left: Any, right: Any) -> Any:
    if isinstance(left, str):
        raise TypeError("% divides numbers; text formatting is not available")
    return left % right


def _total(left: Any, right: Any) -> Any:
    if isinstance(left, Collection) and isinstance(right, Collection) and len(left) + len(right) > MAX_LENGTH:
        raise TooMuchWork(f"a value of more than {MAX_LENGTH} items")
    return operator.add(left, right)


_OPERATORS = {
    **DEFAULT_OPERATORS,
    ast.Add: _total,
    ast.Mult: _product,
    ast.Mod: _remainder,
    ast.Pow: _power,
}


class Evaluator(EvalWithCompoundTypes):  # type: ignore[misc]
    """Evaluate one tree over `names`, JSON values all. A step is charged for all that takes time."""

    def __init__(self, names: Mapping[str, Any], known: Mapping[str, Callable[..., Any]] = FUNCTIONS) -> None:
        super().__init__(operators=dict(_OPERATORS), functions={}, names={**KINDS, **names})
        self._known = known
        self.functions: dict[str, Callable[..., Any]] = {}
        self.nodes[ast.SetComp] = lambda node: set(self._eval_comprehension(node))
        self._left = MAX_STEPS

    def value(self, text: str, tree: ast.expr) -> Any:
        """Compute a tree; raises TooMuchWork, or what Python raises."""
        return self.eval(text, previously_parsed=tree)

    def _eval(self, node: ast.AST) -> Any:
        # Replaces a check of every value for dangerous objects: here are none, and it takes long on long lists.
        self._charge(1)
        if type(node) not in self.nodes:
            raise InvalidExpression(f"{type(node).__name__} is not available")
        return _bounded(self.nodes[type(node)](node))

    def _eval_call(self, node: ast.Call) -> Any:
        arguments = [self._eval(argument) for argument in node.args]
        named = {str(keyword.arg): self._eval(keyword.value) for keyword in node.keywords}
        if isinstance(node.func, ast.Attribute):
            return self._method(self._eval(node.func.value), node.func.attr, arguments, named)
        assert isinstance(node.func, ast.Name)  # Expression.check
        name = node.func.id
        for argument in arguments:
            self._charge(1 if name in _SHALLOW else self._size(argument))
        return self._known[name](*arguments, **named)

    def _method(self, owner: Any, name: str, arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
        kind = next((kind for kind in METHODS if isinstance(owner, kind)), None)
        if kind is None or name not in METHODS[kind]:
            raise TypeError(f"{type(owner).__name__} has no method {name}")
        self._charge(sum(map(self._size, [owner, *arguments])))
        if name == "replace":
            _check_length(len(owner) * max(len(arguments[1]), 1) if len(arguments) > 1 else 0)
        if name == "join":
            _check_length(sum(len(part) + len(owner) for part in arguments[0]))
        result = getattr(owner, name)(*arguments, **named)
        return list(result) if name in ("keys", "values", "items") else result

    def _eval_attribute(self, node: ast.Attribute) -> Any:
        """Read a field, `output.name`; no attribute of any object."""
        owner = self._eval(node.value)
        if not isinstance(owner, Mapping):
            raise TypeError(f"{type(owner).__name__} has no field {node.attr!r}")
        return owner[node.attr]

    def _eval_compare(self, node: ast.Compare) -> Any:
        left = self._eval(node.left)
        for compare, part in zip(node.ops, node.comparators, strict=True):
            right = self._eval(part)
            self._charge(min(self._size(left), self._size(right)) if _is_order(compare) else self._size(right))
            if not self.operators[type(compare)](left, right):
                return False
            left = right
        return True

    def _charge(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            raise TooMuchWork(f"more than {MAX_STEPS} steps")

    def _size(self, value: Any) -> int:
        """Count the values inside a value, the same one each time it occurs; stops where the steps left end."""
        count, todo = 0, [value]
        while todo and count <= self._left:
            item = todo.pop()
            count += 1 + (len(item) // 1_000 if isinstance(item, str) else 0)
            if isinstance(item, Mapping):
                todo += item.values()
            elif isinstance(item, list | tuple | set | frozenset):
                todo += item
        return count


def _is_order(compare: ast.cmpop) -> bool:
    return not isinstance(compare, ast.In | ast.NotIn)


def _bounded(value: Any) -> Any:
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise TooMuchWork("a number is too large")
    return value


def _check_length(length: int) -> None:
    if length > MAX_LENGTH:
        raise TooMuchWork(f"a text of more than {MAX_LENGTH} characters")
