"""Expressions of a pipeline over an answer: `len(output["names"]) >= 1`. Python's syntax, none of its powers.

simpleeval computes them, on a tree that was checked when the pipeline was read: only the syntax, functions and
methods listed here, no attribute of any object but the fields of a row, and a bound on the work.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

from simpleeval import InvalidExpression

from engine.errors import ItemError
from engine.language.evaluation import FUNCTIONS, KINDS, METHODS, Evaluator, TooMuchWork
from engine.language.position import Where, did_you_mean
from engine.language.sandbox import to_json

VARIABLES = ("output", "input")

MAX_CHARACTERS = 4_000
MAX_NODES = 1_000
MAX_DEPTH = 40

LONGEST_SEEN = 200
"""Characters of a value that a message shows."""

_SYNTAX = (
    ast.Expression, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.UAdd, ast.BinOp, ast.Add, ast.Sub,
    ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.BitOr, ast.BitAnd, ast.Compare, ast.Eq, ast.NotEq, ast.Lt,
    ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn, ast.Is, ast.IsNot, ast.IfExp, ast.Call, ast.keyword, ast.Name,
    ast.Load, ast.Store, ast.Constant, ast.Attribute, ast.Subscript, ast.Slice, ast.List, ast.Tuple, ast.Set, ast.Dict,
    ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.comprehension,
)  # fmt: skip

_NAMES = frozenset({*VARIABLES, *FUNCTIONS, *KINDS})
_METHOD_NAMES = frozenset().union(*METHODS.values())

_FAULTS = (
    InvalidExpression,
    TypeError,
    ValueError,
    ArithmeticError,
    LookupError,
    AttributeError,
    RecursionError,
    MemoryError,
)


class MissingField(ItemError):
    """An expression names a field that is not there: the pipeline is wrong, not the answer."""


class CannotEvaluate(ItemError):
    """An expression has no value for this answer: `output["names"][0]` of an empty list."""


class _Fields(dict[str, Any]):
    """The fields of `output` or `input`; a missing one is an error that lists those there are."""

    def __init__(self, variable: str, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self._variable = variable

    def __missing__(self, name: object) -> Any:
        there = ", ".join(self) or "none"
        raise MissingField(f"{self._variable} has no field {name!r}; the fields there are: {there}")


@dataclass(frozen=True)
class Expression:
    """An expression over `output` (the answer, with the row's other fields) and `input` (the row as it was).

    A field is written `output["name"]` or `output.name`. Two expressions are equal when their text is.
    """

    more_functions: ClassVar[frozenset[str]] = frozenset()
    """Functions that it may call beside those of every expression."""

    text: str

    @classmethod
    def parse(cls, text: str, *, where: Where | None = None) -> Self:
        """Read an expression; raises PipelineError for bad syntax and for what expressions may not use."""
        expression = cls(text)
        expression.check(where or Where())
        return expression

    def check(self, where: Where) -> None:
        """Raise PipelineError at the place in the file where this expression cannot work."""
        if not self.text.strip():
            raise where.error("an expression is empty", advice='For example len(output["names"]) >= 1.')
        if len(self.text) > MAX_CHARACTERS:
            raise where.error(f"an expression has {len(self.text)} characters, more than {MAX_CHARACTERS}")
        try:
            tree = self.tree
        except SyntaxError as error:
            place = (error.lineno or 1, max(error.offset or 1, 1))
            advice = 'Write one Python expression, such as len(output["names"]) >= 1.'
            raise where.error(f"{self.text!r} is no expression: {error.msg}", advice=advice, inside=place) from error
        except (ValueError, RecursionError, MemoryError) as error:
            raise where.error(f"{self.text!r} cannot be read: {error or type(error).__name__}") from error
        if len(list(ast.walk(tree))) > MAX_NODES or _depth(tree) > MAX_DEPTH:
            raise where.error("an expression is too long or nested too deeply", advice="Write several expressions.")
        for node in ast.walk(tree):
            if problem := _problem(node, self._bound_names, self.more_functions):
                message, advice = problem
                inside = (getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1)
                raise where.error(f"{message} in the expression {self.text!r}", advice=advice, inside=inside)

    def fields(self, variable: str = "output") -> frozenset[str]:
        """Return the fields that are named through a variable and must be there."""
        return frozenset(name for _, name in self._named(variable))

    @property
    def reads_unknown(self) -> bool:
        """Say whether fields are read that cannot be named before it runs: `output.values()`, `input[key]`."""
        named = {id(node.value) for variable in VARIABLES for node, _ in self._named(variable)}  # type: ignore[attr-defined]
        names = (n for n in ast.walk(self.tree) if isinstance(n, ast.Name) and n.id in VARIABLES)
        return any(id(name) not in named for name in names)

    def place_of(self, name: str) -> tuple[int, int]:
        """Find where the text first names a field: 1-based (row, column), (1, 1) when it does not."""
        found = [node for variable in VARIABLES for node, field in self._named(variable) if field == name]
        return (found[0].lineno, found[0].col_offset + 1) if found else (1, 1)

    def holds(self, output: Mapping[str, Any], input: Mapping[str, Any]) -> bool:
        """Say whether the expression is true; raises MissingField or CannotEvaluate."""
        return bool(self._value(self.tree.body, output, input))

    def seen(self, output: Mapping[str, Any], input: Mapping[str, Any]) -> str:
        """Tell what the fields that the expression names hold: `output["names"] is []`."""
        parts = {ast.unparse(part): part for part in rooted(self.tree.body)}
        return ", ".join(f"{text} is {self._shown(part, output, input)}" for text, part in parts.items())

    def _shown(self, part: ast.expr, output: Mapping[str, Any], input: Mapping[str, Any]) -> str:
        try:
            text = to_json(self._value(part, output, input))
        except ItemError as error:
            return f"not there ({error})"
        return text if len(text) <= LONGEST_SEEN else text[:LONGEST_SEEN] + "…"

    def _value(self, tree: ast.expr, output: Mapping[str, Any], input: Mapping[str, Any]) -> Any:
        return guarded(self.text, tree, Evaluator(as_variables(output, input)))

    @cached_property
    def tree(self) -> ast.Expression:
        """Return the syntax tree."""
        return _parsed(self.text)

    @cached_property
    def _bound_names(self) -> frozenset[str]:
        """Return the names that comprehensions give to items."""
        stored = (n for n in ast.walk(self.tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
        return frozenset(node.id for node in stored)

    def _named(self, variable: str) -> Iterator[tuple[ast.expr, str]]:
        called = {id(node.func) for node in ast.walk(self.tree) if isinstance(node, ast.Call)}
        for node in ast.walk(self.tree):
            match node:
                case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str() as field)):
                    if name == variable:
                        yield node, field
                case ast.Attribute(value=ast.Name(id=name), attr=field) if id(node) not in called:
                    if name == variable:
                        yield node, field


def as_variables(output: Mapping[str, Any], input: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the names of an expression: its variables, whose missing fields are errors that list those there are."""
    return {"output": _Fields("output", output), "input": _Fields("input", input)}


def guarded(text: str, tree: ast.expr, evaluator: Evaluator) -> Any:
    """Compute a tree that was checked; what goes wrong is a CannotEvaluate with the text, or the ItemError it is."""
    try:
        return evaluator.value(text, tree)
    except ItemError:
        raise
    except TooMuchWork as error:
        raise CannotEvaluate(f"{text} takes too much work: {error}") from error
    except _FAULTS as error:
        raise CannotEvaluate(f"{text} cannot be computed: {error or type(error).__name__}") from error


def as_expressions(text: str) -> list[str]:
    """Cut a block of text into expressions: the whole if it is one, else one a line (peers document both)."""
    try:
        _parsed(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return lines or [text]
    return [text]


def _parsed(text: str) -> ast.Expression:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # '\\d' in a text: Python's advice to programmers
        return ast.parse(text.strip(), mode="eval")


def _problem(node: ast.AST, bound: frozenset[str], more: frozenset[str]) -> tuple[str, str] | None:
    """Say what an expression may not use, and what it may."""
    if not isinstance(node, _SYNTAX):
        advice = "Use comparisons, and, or, not, in, and comprehensions."
        return f"{_syntax_name(node)} is not available", advice
    match node:
        case ast.Name() | ast.Attribute():
            return _name_problem(node, bound | more)
        case ast.Call(func=func):
            return _call_problem(func, more)
        case ast.keyword() | ast.Dict() if _spreads(node):
            return "** is not available", "Name the arguments, or write the keys."
        case ast.Constant(value=value) if not isinstance(value, str | int | float | bool | None):
            return f"{value!r} is not available", "Use text, numbers, True, False and None."
    return None


def _name_problem(node: ast.Name | ast.Attribute, bound: frozenset[str]) -> tuple[str, str] | None:
    match node:
        case ast.Name(id=name, ctx=ast.Load()) if name not in _NAMES | bound:
            return f"unknown name {name!r}", did_you_mean(name, [*VARIABLES, *FUNCTIONS])
        case ast.Name(id=name, ctx=ast.Store()) if name in VARIABLES:
            return f"the name {name!r} is taken", "Give the items another name."
        case ast.Attribute(attr=name) if name.startswith("_"):
            return f"the attribute {name!r} is not available", 'Read a field: output["name"].'
    return None


def _call_problem(func: ast.expr, more: frozenset[str]) -> tuple[str, str] | None:
    match func:
        case ast.Attribute(attr=name) if name not in _METHOD_NAMES:
            return f"the method {name!r} is not available", did_you_mean(name, sorted(_METHOD_NAMES))
        case ast.Name(id=name) if name not in FUNCTIONS.keys() | more:
            return f"unknown function {name!r}", did_you_mean(name, [*FUNCTIONS, *sorted(more)])
        case ast.Name() | ast.Attribute():
            return None
    return "only functions and methods can be called", f"Functions: {', '.join(FUNCTIONS)}."


def _spreads(node: ast.keyword | ast.Dict) -> bool:
    return None in node.keys if isinstance(node, ast.Dict) else node.arg is None


def _syntax_name(node: ast.AST) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(node).__name__).lower()


def _depth(node: ast.AST) -> int:
    depth, level = 0, [node]
    while level:
        depth += 1
        level = [child for parent in level for child in ast.iter_child_nodes(parent)]
    return depth


def rooted(node: ast.AST) -> Iterator[ast.expr]:
    """Give the largest parts that only go down from a variable: `output["a"]["b"]`, `output.a[0]`."""
    if isinstance(node, ast.Subscript | ast.Attribute) and _goes_down(node):
        yield node
        return
    is_method = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    children = [node.func.value, *node.args] if is_method else ast.iter_child_nodes(node)  # type: ignore[attr-defined]
    for child in children:
        yield from rooted(child)


def _goes_down(node: ast.AST) -> bool:
    match node:
        case ast.Name(id=name):
            return name in VARIABLES
        case ast.Attribute(value=owner) | ast.Subscript(value=owner, slice=ast.Constant()):
            return _goes_down(owner)
    return False
