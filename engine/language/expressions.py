"""Expressions of a pipeline: `len(output["names"]) >= 1`. Python's syntax, none of its powers.

`validate`, `if`, the conditions of filters and of blocking, and `compute` have this one language. A tree is checked
when the pipeline is read: only the syntax, functions, methods and filters listed here and in
engine.language.evaluation, no attribute of any object but the fields of a row, and a bound on the work.
"""

from __future__ import annotations

import ast
import re
import threading
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import CodeType
from typing import Any, ClassVar, Self

from engine.errors import ItemError
from engine.language.evaluation import (
    CONSTANTS,
    FILTERS,
    FUNCTIONS,
    KINDS,
    METHODS,
    Evaluator,
    MissingField,
    TooMuchWork,
    compiled,
    filter_of,
    test_of,
)
from engine.language.position import Where, did_you_mean, row_and_column
from engine.language.sandbox import FAULTS, to_json

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

_METHOD_NAMES = frozenset().union(*METHODS.values())


class CannotEvaluate(ItemError):
    """An expression has no value for this answer: `output["names"][0]` of an empty list."""


class Fields(dict[str, Any]):
    """The fields of a variable; a missing one is an error that lists those there are."""

    def __init__(self, variable: str, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self._variable = variable

    def __missing__(self, name: object) -> Any:
        fields = ", ".join(self) or "none"
        raise MissingField(f"{self._variable} has no field {name!r}; the fields there are: {fields}")


@dataclass(frozen=True)
class Expression:
    """An expression over `output` (the answer, with the row's other fields) and `input` (the row as it was).

    A field is written `output["name"]` or `output.name`. Two expressions are equal when their text is.
    """

    more_functions: ClassVar[frozenset[str]] = frozenset()
    """Functions that it may call beside those of every expression."""
    is_exact: ClassVar[bool] = False
    """Whether floats in it are decimals."""

    text: str

    @property
    def variables(self) -> tuple[str, ...]:
        """Return the names by which it reads rows."""
        return ("output", "input")

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
            reason = "a single = gives a name a value" if _is_assignment(self.text) else error.msg
            advice = f'Write one Python expression, such as {self.variables[0]}["n"] == 3.'
            raise where.error(f"{self.text!r} is no expression: {reason}", advice=advice, inside=place) from error
        except (ValueError, RecursionError, MemoryError) as error:
            raise where.error(f"{self.text!r} cannot be read: {error or type(error).__name__}") from error
        if len(list(ast.walk(tree))) > MAX_NODES or _depth(tree) > MAX_DEPTH:
            raise where.error("an expression is too long or nested too deeply", advice="Write several expressions.")
        words = {id(word) for word, _ in self._words}
        for node in ast.walk(tree):
            if id(node) not in words and (problem := self._problem(node, words)):
                message, advice = problem
                raise where.error(f"{message} in the expression {self.text!r}", advice=advice, inside=self.place(node))
        self._refuse_too_much(self.tree.body, where)

    def _refuse_too_much(self, node: ast.AST, where: Where) -> None:
        """Compute the parts that are the same for all rows: what is too much work for one is so for every row."""
        if isinstance(node, ast.Constant | ast.Name | ast.Lambda):
            return
        names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
        if not isinstance(node, ast.expr) or names & self.taken:
            for child in ast.iter_child_nodes(node):
                self._refuse_too_much(child, where)
            return
        try:
            Evaluator().value(self.code_of(node), {})
        except TooMuchWork as error:
            message = f"{ast.unparse(node)} takes too much work for any row: {error}"
            raise where.error(message, advice="Write smaller numbers.", inside=self.place(node)) from error
        except (ItemError, *FAULTS):
            return  # a run says so of the row

    def fields(self, variable: str = "output") -> frozenset[str]:
        """Return the fields that are named through a variable and must be there."""
        return frozenset(name for _, name in self._named(variable)) - self._asked_for(variable)

    def mentions(self, variable: str = "output") -> frozenset[str]:
        """Return the fields that are named through a variable, also those that may be missing."""
        return frozenset(name for _, name in self._named(variable)) | self._asked_for(variable)

    @property
    def reads_unknown(self) -> bool:
        """Say whether fields are read that cannot be named before it runs: `output.values()`, `input[key]`."""
        named = {id(node.value) for variable in self.variables for node, _ in self._named(variable)}  # type: ignore[attr-defined]
        named |= {id(node) for variable in self.variables for node, _ in self._looked_up(variable)}
        names = (n for n in ast.walk(self.tree) if isinstance(n, ast.Name) and n.id in self.variables)
        return any(id(name) not in named for name in names)

    def place_of(self, name: str) -> tuple[int, int]:
        """Find where the text first names a field: 1-based (row, column), (1, 1) when it does not."""
        places = [node for variable in self.variables for node, field in self._named(variable) if field == name]
        return self.place(places[0]) if places else (1, 1)

    def holds(self, *rows: Mapping[str, Any]) -> bool:
        """Say whether the expression is true of rows, one for each variable; raises MissingField or CannotEvaluate."""
        code, names = self._code, self.names(*rows)
        return bool(guarded(self.text, lambda: bool(_own_evaluator().value(code, names))))

    def seen(self, *rows: Mapping[str, Any]) -> str:
        """Tell what the fields that the expression names hold: `output["names"] is []`."""
        parts = {ast.unparse(part): part for part in rooted(self.tree.body, self.variables)}
        return ", ".join(f"{text} is {self._shown(part, self.names(*rows))}" for text, part in parts.items())

    def names(self, *rows: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
        """Return what its variables stand for; their missing fields are errors that list those there are."""
        return {name: Fields(name, row) for name, row in zip(self.variables, rows, strict=True)}

    def code_of(self, tree: ast.expr) -> CodeType:
        """Compile the tree or a part of it."""
        return compiled(tree, self.taken, exact=self.is_exact)

    def _shown(self, part: ast.expr, names: Mapping[str, Any]) -> str:
        try:
            code = self.code_of(part)
            text = to_json(guarded(self.text, lambda: Evaluator().value(code, names)))
        except ItemError as error:
            return f"not there ({error})"
        return text if len(text) <= LONGEST_SEEN else text[:LONGEST_SEEN] + "…"

    @cached_property
    def tree(self) -> ast.Expression:
        """Return the syntax tree."""
        return parsed(self.text)

    @cached_property
    def _code(self) -> CodeType:
        return self.code_of(self.tree.body)

    @cached_property
    def _bound_names(self) -> frozenset[str]:
        """Return the names that comprehensions give to items."""
        stored = (n for n in ast.walk(self.tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
        return frozenset(node.id for node in stored)

    @property
    def taken(self) -> frozenset[str]:
        """Return the names that stand for values: variables and those of comprehensions."""
        return self._bound_names.union(self.variables)

    @cached_property
    def _words(self) -> tuple[tuple[ast.Name, ast.expr], ...]:
        """Return the names of filters and tests, each with what it is applied to."""
        words: list[tuple[ast.Name, ast.expr]] = []
        for node in ast.walk(self.tree):
            match node:
                case ast.BinOp(left=left) if (written := filter_of(node, self.taken)) and written[0].id in FILTERS:
                    words.append((written[0], left))
                case ast.Compare(left=left, ops=[op], comparators=[right]) if test := test_of(op, right, self.taken):
                    words.append((test[0], left))
        return tuple(words)

    @cached_property
    def _called(self) -> frozenset[int]:
        return frozenset(id(node.func) for node in ast.walk(self.tree) if isinstance(node, ast.Call))

    def _named(self, variable: str) -> Iterator[tuple[ast.expr, str]]:
        for node in ast.walk(self.tree):
            match node:
                case (
                    ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str() as field))
                    | ast.Attribute(value=ast.Name(id=name), attr=field)
                ) if name == variable and id(node) not in self._called:
                    yield node, field

    def _looked_up(self, variable: str) -> Iterator[tuple[ast.expr, str]]:
        """Give what asks a variable for a field that need not be there: `output.get("x")`, `"x" in output`."""
        for node in ast.walk(self.tree):
            match node:
                case ast.Call(
                    func=ast.Attribute(value=ast.Name() as owner, attr="get"),
                    args=[ast.Constant(value=str() as field), *_],
                ) | ast.Compare(
                    ast.Constant(value=str() as field), [ast.In() | ast.NotIn()], [ast.Name() as owner]
                ) if owner.id == variable:
                    yield owner, field

    def _asked_for(self, variable: str) -> frozenset[str]:
        """Return the fields that it asks for before it reads them: `is defined`, `default`, `get`, `in`."""
        asking = {id(value) for word, value in self._words if word.id in ("default", "d", "defined", "undefined")}
        named = {field for node, field in self._named(variable) if id(node) in asking}
        return frozenset(named | {field for _, field in self._looked_up(variable)})

    def place(self, node: ast.AST) -> tuple[int, int]:
        """Return the 1-based row and column of a node in the text. What Python tells of columns counts bytes."""
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        before = len(self.text) - len(self.text.lstrip())
        written = self.text.strip()
        start = sum(len(each) + 1 for each in written.split("\n")[: line - 1])
        index = start + len(written[start:].encode()[:column].decode())
        return row_and_column(self.text, before + index)

    def _problem(self, node: ast.AST, words: Collection[int]) -> tuple[str, str] | None:
        """Say what an expression may not use, and what it may."""
        problem: tuple[str, str] | None = None
        match node:
            case ast.JoinedStr():
                problem = "an f-string is not available", 'Put texts together with +: "Dr. " + output.name.'
            case _ if not isinstance(node, _SYNTAX):
                advice = "Use comparisons, and, or, not, in, and comprehensions."
                problem = f"{_syntax_name(node)} is not available", advice
            case ast.BinOp() if (written := filter_of(node, self.taken)) and written[0].id not in FILTERS:
                problem = f"there is no filter {written[0].id!r}", did_you_mean(written[0].id, sorted(FILTERS))
            case ast.Name() | ast.Attribute():
                problem = self._name_problem(node)
            case ast.Call(func=func) if id(func) not in words:
                problem = _call_problem(func, self.more_functions)
            case ast.keyword() | ast.Dict() if _spreads(node):
                problem = "** is not available", "Name the arguments, or write the keys."
            case ast.Constant(value=value) if not isinstance(value, str | int | float | bool | None):
                problem = f"{value!r} is not available", "Use text, numbers, True, False and None."
        return problem

    def _name_problem(self, node: ast.Name | ast.Attribute) -> tuple[str, str] | None:
        known = self.taken.union(KINDS, CONSTANTS)
        match node:
            case ast.Name(id=name, ctx=ast.Load()) if name not in known | FUNCTIONS.keys() | self.more_functions:
                return f"unknown name {name!r}", did_you_mean(name, [*self.variables, *FUNCTIONS])
            case ast.Name(id=name, ctx=ast.Load()) if name not in known and id(node) not in self._called:
                return f"{name!r} is a function", f"Call it: {name}(...)."
            case ast.Name(id=name, ctx=ast.Store()) if name in self.variables or name.startswith("__"):
                return f"the name {name!r} is taken", "Give the items another name."
            case ast.Attribute(attr=name) if name.startswith("_"):
                return f"the attribute {name!r} is not available", 'Read a field: output["name"].'
        return None


@dataclass(frozen=True)
class RowExpression(Expression):
    """An expression over one row, `input`: the condition of a filter."""

    @property
    def variables(self) -> tuple[str, ...]:
        """Return the one name."""
        return ("input",)


_OWN = threading.local()


def _own_evaluator() -> Evaluator:
    """Return the evaluator of this thread: an evaluation is never within another."""
    if not hasattr(_OWN, "evaluator"):
        _OWN.evaluator = Evaluator()
    evaluator: Evaluator = _OWN.evaluator
    return evaluator


def guarded(text: str, compute: Callable[[], Any]) -> Any:
    """Compute what was checked; what goes wrong is a CannotEvaluate with the text, or the ItemError it is."""
    try:
        return compute()
    except ItemError:
        raise
    except TooMuchWork as error:
        raise CannotEvaluate(f"{text} takes too much work: {error}") from error
    except FAULTS as error:
        raise CannotEvaluate(f"{text} cannot be computed: {error or type(error).__name__}") from error


def as_expressions(text: str) -> list[str]:
    """Cut a block of text into expressions: the whole if it is one, else one a line (peers document both)."""
    try:
        _tree(text.strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return lines or [text]
    return [text]


def parsed(text: str) -> ast.Expression:
    """Parse one expression, which may be written over several lines; raises what ast.parse raises."""
    try:
        return _tree(text.strip())
    except SyntaxError:
        if "\n" not in text.strip():
            raise
        return _tree(text.strip().replace("\n", " "))


def _is_assignment(text: str) -> bool:
    try:
        return isinstance(ast.parse(text.strip()).body[0], ast.Assign | ast.AugAssign | ast.AnnAssign)
    except (SyntaxError, IndexError):
        return False


def _tree(text: str) -> ast.Expression:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # '\\d' in a text: Python's advice to programmers
        return ast.parse(text, mode="eval")


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


def rooted(node: ast.AST, variables: Collection[str]) -> Iterator[ast.expr]:
    """Give the largest parts that only go down from a variable: `output["a"]["b"]`, `output.a[0]`."""
    if isinstance(node, ast.Subscript | ast.Attribute) and _goes_down(node, variables):
        yield node
        return
    is_method = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    children = [node.func.value, *node.args] if is_method else ast.iter_child_nodes(node)  # type: ignore[attr-defined]
    for child in children:
        yield from rooted(child, variables)


def steps_down(part: ast.expr) -> Iterator[tuple[ast.expr, Any]]:
    """Give each part on the way down to a part that `rooted` gives, the variable first, with its name or key."""
    match part:
        case ast.Name(id=name):
            yield part, name
        case ast.Attribute(value=owner, attr=name):
            yield from steps_down(owner)
            yield part, name
        case ast.Subscript(value=owner, slice=ast.Constant(value=key)):
            yield from steps_down(owner)
            yield part, key


def _goes_down(node: ast.AST, variables: Collection[str]) -> bool:
    match node:
        case ast.Name(id=name):
            return name in variables
        case ast.Attribute(value=owner) | ast.Subscript(value=owner, slice=ast.Constant()):
            return _goes_down(owner, variables)
    return False
