"""Compute a checked expression with bounded work.

The tree is compiled to Python in which all that could be large or lead anywhere (fields, methods, functions, filters,
`+ * ** %`, comparisons, rounds of a comprehension) is a call of Evaluator, which counts it and refuses what is not
listed here. So an expression runs as fast as Python, and a pair of rows is compared in about a microsecond.
"""

from __future__ import annotations

import ast
import copy
import functools
import operator
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from types import CodeType
from typing import Any, ClassVar

from jinja2 import Undefined
from jinja2.runtime import Context

from engine.errors import ItemError
from engine.language.date_functions import DATE_FUNCTIONS
from engine.language.sandbox import PromptEnvironment

MAX_STEPS = 300_000
"""Parts evaluated, and items compared, sorted or counted in one evaluation."""

MAX_LENGTH = 100_000
"""Characters or items of a value that an expression makes."""

MAX_BITS = 2_048
"""Size of a whole number that an expression makes."""


class TooMuchWork(ValueError):
    """An expression exceeds a bound."""


class MissingField(ItemError):
    """An expression names a field that is not there: the pipeline is wrong, not the answer."""


class NoField(TypeError):
    """What is asked for a field is no mapping, or null."""


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
    "set": Kind((set, frozenset)),
}

METHODS: Mapping[type, frozenset[str]] = {
    str: frozenset(
        {
            "lower", "upper", "casefold", "title", "capitalize", "strip", "lstrip", "rstrip", "split", "rsplit",
            "splitlines", "startswith", "endswith", "count", "find", "rfind", "index", "removeprefix", "removesuffix",
            "replace", "join", "isdigit", "isnumeric", "isdecimal", "isalpha", "isalnum", "isspace", "isupper",
            "islower", "istitle", "isascii", "isidentifier", "isprintable", "partition", "rpartition", "swapcase",
        }
    ),
    dict: frozenset({"get", "keys", "values", "items"}),
    list: frozenset({"count", "index"}),
    set: frozenset(
        {"issubset", "issuperset", "isdisjoint", "union", "intersection", "difference", "symmetric_difference"}
    ),
    float: frozenset({"is_integer"}),
}  # fmt: skip
"""Methods that change nothing and whose results are bounded by what they are given, or by Evaluator."""


def _is_instance(value: Any, kinds: Any) -> bool:
    allowed = kinds if isinstance(kinds, tuple | list) else (kinds,)
    if not all(isinstance(kind, Kind) for kind in allowed):
        raise TypeError("isinstance needs a type: str, int, float, bool, list, set or dict")
    return any(_is_of(value, kind) for kind in allowed)


def _is_of(value: Any, kind: Kind) -> bool:
    if isinstance(value, bool) and bool not in kind.types:
        return int in kind.types  # as in Python
    return isinstance(value, kind.types) or (dict in kind.types and isinstance(value, Mapping))


def _text(value: Any = "") -> str:
    if isinstance(value, str | int | float | bool | Decimal | None):
        return str(value)
    raise TypeError("str() takes text, a number, True, False or None")


def _range(*bounds: int) -> list[int]:
    numbers = range(*bounds)
    if len(numbers) > MAX_LENGTH:
        raise TooMuchWork(f"range() of more than {MAX_LENGTH} numbers")
    return list(numbers)


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


_ENVIRONMENT = PromptEnvironment()
_CONTEXT = Context(_ENVIRONMENT, {}, None, {})

FILTERS = frozenset(_ENVIRONMENT.filters) - {"attr"}
"""What may stand behind `|`, as in a prompt: `input.officer | is_person`."""

_PLAIN_FILTERS = FILTERS - {name for name, each in _ENVIRONMENT.filters.items() if hasattr(each, "jinja_pass_arg")}

TESTS = frozenset(name for name in _ENVIRONMENT.tests if name.isidentifier()) - {"in", "callable", "filter", "test"}
"""What may stand behind `is`, as in a prompt: `input.quote is defined`."""

CONSTANTS: Mapping[str, Any] = {"true": True, "false": False, "none": None}
"""How prompts write them."""

_COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "Eq": operator.eq, "NotEq": operator.ne, "Lt": operator.lt, "LtE": operator.le, "Gt": operator.gt,
    "GtE": operator.ge, "In": lambda left, right: left in right, "NotIn": lambda left, right: left not in right,
    "Is": operator.is_, "IsNot": operator.is_not,
}  # fmt: skip
_ARITHMETIC: Mapping[type[ast.operator], str] = {
    ast.Add: "total", ast.Mult: "product", ast.Mod: "remainder", ast.Pow: "power",
}  # fmt: skip
_EXACT_DIVISIONS: Mapping[type[ast.operator], str] = {ast.Div: "quotient", ast.FloorDiv: "whole_quotient"}
_SCALARS = frozenset({int, float, bool, type(None), Decimal})
_LAZY_FUNCTIONS = frozenset({"any", "all"})


def filter_of(node: ast.AST, taken: Collection[str] = ()) -> tuple[ast.Name, list[ast.expr], list[ast.keyword]] | None:
    """Return the filter of `value | name` or `value | name(arguments)`; None for other nodes and names in `taken`."""
    match node:
        case ast.BinOp(op=ast.BitOr(), right=ast.Name() as name):
            parts = name, list[ast.expr](), list[ast.keyword]()
        case ast.BinOp(op=ast.BitOr(), right=ast.Call(func=ast.Name() as name, args=args, keywords=keywords)):
            parts = name, args, keywords
        case _:
            return None
    is_function = name.id in {*FUNCTIONS, *KINDS} and name.id not in FILTERS
    is_value = name.id in taken or name.id in CONSTANTS or name.id.startswith(" ")  # or was put in after the check
    return None if is_value or is_function else parts


def test_of(compare: ast.cmpop, right: ast.expr, taken: Collection[str] = ()) -> tuple[ast.Name, list[ast.expr]] | None:
    """Return the test of `value is name` or `value is name(arguments)`; None for other comparisons."""
    match compare, right:
        case ast.Is() | ast.IsNot(), ast.Name() as name:
            parts = name, list[ast.expr]()
        case ast.Is() | ast.IsNot(), ast.Call(func=ast.Name() as name, args=args):
            parts = name, args
        case _:
            return None
    return parts if name.id in TESTS - CONSTANTS.keys() and name.id not in taken else None


def compiled(
    tree: ast.expr, taken: Collection[str] = (), *, exact: bool = False, loop: ast.comprehension | None = None
) -> CodeType:
    """Compile a checked tree; `taken` are the names that are no filters or tests: variables and bound ones.

    `exact` makes decimals of floats. With `loop`, the code makes a generator of the values, one for each of its rounds.
    """
    guarded = _Guarding(frozenset(taken), exact).visit(copy.deepcopy(tree))
    whole = ast.fix_missing_locations(ast.Expression(ast.GeneratorExp(guarded, [loop]) if loop else guarded))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # `x is "a"`: Python's advice to programmers
        return compile(whole, "<expression>", "eval")


def guard(name: str, *arguments: ast.expr, keywords: Sequence[ast.keyword] = ()) -> ast.Call:
    """Write a call of Evaluator. Its name begins with a space, so that no expression can have it."""
    return ast.Call(ast.Name(f" {name}", ast.Load()), list(arguments), list(keywords))


class _Guarding(ast.NodeTransformer):
    """Rewrite a tree."""

    def __init__(self, taken: frozenset[str], exact: bool) -> None:
        self._taken = taken
        self._exact = exact

    def visit_Name(self, node: ast.Name) -> ast.expr:  # noqa: N802
        if node.id in CONSTANTS and node.id not in self._taken:
            return ast.Constant(CONSTANTS[node.id])
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.expr:  # noqa: N802
        if self._exact and isinstance(node.value, float):
            return guard("exact", ast.Constant(str(node.value)))
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:  # noqa: N802
        return guard("field", self.visit(node.value), ast.Constant(node.attr))

    def visit_Call(self, node: ast.Call) -> ast.expr:  # noqa: N802
        match node:
            case ast.Call(func=ast.Name(id=name)) if name.startswith(" "):
                return node  # a call that was put in after the check
            case ast.Call(func=ast.Name(id=name), args=[ast.GeneratorExp() as lazy], keywords=[]) if (
                name in _LAZY_FUNCTIONS
            ):
                return guard("call", ast.Constant(name), self._counted(lazy, ast.GeneratorExp))
        arguments = [self.visit(argument) for argument in node.args]
        keywords = [ast.keyword(each.arg, self.visit(each.value)) for each in node.keywords]
        if isinstance(node.func, ast.Attribute):
            owner = self.visit(node.func.value)
            return guard("method", owner, ast.Constant(node.func.attr), *arguments, keywords=keywords)
        assert isinstance(node.func, ast.Name)  # Expression.check
        return guard("call", ast.Constant(node.func.id), *arguments, keywords=keywords)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:  # noqa: N802
        if (written := filter_of(node, self._taken)) is not None:
            name, args, keywords = written
            value = ast.Lambda(_NO_ARGUMENTS, self.visit(node.left))
            keywords = [ast.keyword(each.arg, self.visit(each.value)) for each in keywords]
            return guard("filter", ast.Constant(name.id), value, *map(self.visit, args), keywords=keywords)
        left, right = self.visit(node.left), self.visit(node.right)
        if type(node.op) in _ARITHMETIC:
            return guard(_ARITHMETIC[type(node.op)], left, right)
        if self._exact and type(node.op) in _EXACT_DIVISIONS:
            return guard(_EXACT_DIVISIONS[type(node.op)], left, right)
        return ast.BinOp(left, node.op, right)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:  # noqa: N802
        if len(node.ops) == 1:
            return self._compared(node.left, node.ops[0], node.comparators[0])
        names = ast.List([ast.Constant(type(each).__name__) for each in node.ops], ast.Load())
        sides = [ast.Lambda(_NO_ARGUMENTS, self.visit(side)) for side in (node.left, *node.comparators)]
        return guard("chain", names, *sides)

    def _compared(self, left: ast.expr, compare: ast.cmpop, right: ast.expr) -> ast.expr:
        if (written := test_of(compare, right, self._taken)) is not None:
            name, args = written
            value = ast.Lambda(_NO_ARGUMENTS, self.visit(left))
            tested = guard("test", ast.Constant(name.id), value, *map(self.visit, args))
            return ast.UnaryOp(ast.Not(), tested) if isinstance(compare, ast.IsNot) else tested
        sides = self.visit(left), self.visit(right)
        asks_for_null = any(isinstance(side, ast.Constant) and side.value is None for side in sides)
        if asks_for_null or isinstance(compare, ast.Is | ast.IsNot):
            return ast.Compare(sides[0], [compare], [sides[1]])
        return guard(type(compare).__name__, *sides)

    def visit_ListComp(self, node: Any) -> Any:  # noqa: N802
        return self._counted(node, type(node))

    visit_SetComp = visit_DictComp = visit_ListComp  # noqa: N815

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> Any:  # noqa: N802
        return self._counted(node, ast.ListComp)

    def _counted(self, node: Any, made: Any) -> Any:
        """Count the rounds: each costs as much as it may evaluate."""
        results = [part for name, part in ast.iter_fields(node) if name != "generators"]
        cost = sum(1 for part in results for _ in ast.walk(part))
        for each in node.generators:
            cost += sum(1 for test in each.ifs for _ in ast.walk(test))
            each.iter = guard("rounds", self.visit(each.iter), ast.Constant(cost))
            each.ifs = [self.visit(test) for test in each.ifs]
        return made(*[self.visit(part) for part in results], node.generators)


_NO_ARGUMENTS = ast.arguments([], [], None, [], [], None, [])


class Evaluator:
    """Compute compiled expressions over JSON values. A step is charged for all that takes time."""

    guards: ClassVar[tuple[str, ...]] = (
        "field", "call", "method", "filter", "test", "chain", "rounds", "exact", *_ARITHMETIC.values(),
        *_EXACT_DIVISIONS.values(),
    )  # fmt: skip

    def __init__(self, known: Mapping[str, Callable[..., Any]] = FUNCTIONS) -> None:
        self._known = known
        self._left = MAX_STEPS
        self._names = {
            **{"__builtins__": {}, **KINDS},
            **{f" {name}": getattr(self, name) for name in self.guards},
            **{f" {name}": functools.partial(self.compare, name) for name in _COMPARISONS},
        }

    def value(self, code: CodeType, names: Mapping[str, Any]) -> Any:
        """Compute what was compiled; raises TooMuchWork, or what Python raises."""
        self.renew()
        return eval(code, {**self._names, **names})  # it can call nothing but the methods of this class

    def renew(self) -> None:
        """Begin to count anew."""
        self._left = MAX_STEPS

    def field(self, owner: Any, name: str) -> Any:
        """Read a field, `output.name`; no attribute of any object."""
        if not isinstance(owner, Mapping):
            raise NoField(f"{type(owner).__name__} has no field {name!r}")
        return owner[name]

    def call(self, name: str, /, *arguments: Any, **named: Any) -> Any:
        """Call a function by its name."""
        for argument in arguments:
            self._charge(1 if name in _SHALLOW else self._size(argument))
        return _bounded(self._known[name](*arguments, **named))

    def method(self, owner: Any, name: str, /, *arguments: Any, **named: Any) -> Any:
        """Call a method that METHODS lists."""
        kind = next((kind for kind in METHODS if isinstance(owner, kind)), None)
        if kind is None or name not in METHODS[kind]:
            raise TypeError(f"{type(owner).__name__} has no method {name}")
        self._charge(self._size(owner) + sum(map(self._size, arguments)))
        if name == "replace":
            _check_length(len(owner) * max(len(arguments[1]), 1) if len(arguments) > 1 else 0)
        if name == "join":
            _check_length(sum(len(part) + len(owner) for part in arguments[0]))
        result = getattr(owner, name)(*arguments, **named)
        return list(result) if name in ("keys", "values", "items") else result

    def filter(self, name: str, value: Callable[[], Any], /, *arguments: Any, **named: Any) -> Any:
        """Apply a filter of prompts; what is not there may be given to `default`."""
        left = self._there(value) if name in ("default", "d") else value()
        if name in _PLAIN_FILTERS:
            result = _ENVIRONMENT.filters[name](left, *arguments, **named)
        else:
            result = _ENVIRONMENT.call_filter(name, left, arguments, named, _CONTEXT)
        result = list(result) if isinstance(result, Iterator) else result
        self._charge(_shallow(left) + _shallow(result))  # a filter measures what it is given, as it does in a prompt
        return result

    def test(self, name: str, value: Callable[[], Any], /, *arguments: Any) -> bool:
        """Apply a test of prompts; what is not there may be asked for."""
        left = self._there(value) if name in ("defined", "undefined") else value()
        self._charge(_shallow(left))
        return bool(_ENVIRONMENT.call_test(name, left, arguments, None, _CONTEXT))

    def _there(self, value: Callable[[], Any]) -> Any:
        try:
            return value()
        except (MissingField, KeyError, NoField) as error:
            return Undefined(str(error))

    def chain(self, names: Sequence[str], *sides: Callable[[], Any]) -> bool:
        """Compare one after the other: `1 <= output.n < 9`."""
        left = sides[0]()
        for name, side in zip(names, sides[1:], strict=True):
            right = side()
            if not self.compare(name, left, right):
                return False
            left = right
        return True

    def rounds(self, items: Iterable[Any], cost: int) -> Iterator[Any]:
        """Give the items of a comprehension, each charged."""
        for item in items:
            self._charge(cost)
            yield item

    def exact(self, number: str) -> Any:
        """Make a decimal."""
        return Decimal(number)

    def total(self, left: Any, right: Any) -> Any:
        """Add."""
        if isinstance(left, Collection) and isinstance(right, Collection) and len(left) + len(right) > MAX_LENGTH:
            raise TooMuchWork(f"a value of more than {MAX_LENGTH} items")
        return _bounded(left + right)

    def product(self, left: Any, right: Any) -> Any:
        """Multiply numbers."""
        if not (isinstance(left, int | float | Decimal) and isinstance(right, int | float | Decimal)):
            raise TypeError("* multiplies numbers only")
        return _bounded(operator.mul(left, right))

    def remainder(self, left: Any, right: Any) -> Any:
        """Divide, and give what remains."""
        if isinstance(left, str):
            raise TypeError("% divides numbers; text formatting is not available")
        return _floored(left, right)[1] if _has_decimal(left, right) else left % right

    def quotient(self, left: Any, right: Any) -> Any:
        """Divide exactly."""
        if right == 0:
            raise ZeroDivisionError("division by zero")
        return (Decimal(left) if isinstance(left, int) else left) / right

    def whole_quotient(self, left: Any, right: Any) -> Any:
        """Divide, and give the whole number below."""
        return _floored(left, right)[0] if _has_decimal(left, right) else left // right

    def power(self, base: Any, exponent: Any) -> Any:
        """Raise to a power that is not too large."""
        if abs(exponent) > MAX_BITS or (isinstance(base, int) and base.bit_length() * abs(exponent) > MAX_BITS):
            raise TooMuchWork("the power is too large")
        return base**exponent

    def compare(self, name: str, left: Any, right: Any) -> Any:
        """Compare two values; `name` is that of the comparison's syntax."""
        sizes = (self._size(left) if name not in ("In", "NotIn") else MAX_STEPS, self._size(right))
        self._charge(min(sizes))
        return _COMPARISONS[name](left, right)

    def _charge(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            raise TooMuchWork(f"more than {MAX_STEPS} steps")

    def _size(self, value: Any) -> int:
        """Count the values inside a value, the same one each time it occurs; stops where the steps left end."""
        if isinstance(value, str):
            return 1 + len(value) // 1_000
        if type(value) in _SCALARS or not isinstance(value, Collection):
            return 1
        count, todo = 0, [value]
        while todo and count <= self._left:
            item = todo.pop()
            count += 1 + (len(item) // 1_000 if isinstance(item, str) else 0)
            if isinstance(item, Mapping):
                todo += item.values()
            elif isinstance(item, list | tuple | set | frozenset):
                todo += item
        return count


def _has_decimal(left: Any, right: Any) -> bool:
    return isinstance(left, Decimal) or isinstance(right, Decimal)


def _floored(left: Any, right: Any) -> tuple[Decimal, Decimal]:
    """Divide decimals as Python divides its numbers: the rest has the sign of the divisor."""
    if right == 0:
        raise ZeroDivisionError("division by zero")
    quotient, rest = left // right, left % right
    return (quotient - 1, rest + right) if rest and (rest < 0) != (right < 0) else (quotient, rest)


def _shallow(value: Any) -> int:
    return 1 + (len(value) // 1_000 if isinstance(value, str) else len(value) if isinstance(value, Collection) else 0)


def _bounded(value: Any) -> Any:
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise TooMuchWork("a number is too large")
    return value


def _check_length(length: int) -> None:
    if length > MAX_LENGTH:
        raise TooMuchWork(f"a text of more than {MAX_LENGTH} characters")
