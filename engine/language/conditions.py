"""Conditions over two rows, expressions like all others, and the pairs of many rows that meet one.

Asking this pair by pair would take hours for some thousands of rows, so a condition is taken apart first: what
depends on one side only is computed once per row, and equalities between the sides are looked up in a table.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from types import CodeType
from typing import Any

from jinja2 import Undefined

from engine.errors import ItemError
from engine.language.evaluation import Evaluator, compiled, filter_of, guard, test_of
from engine.language.expressions import Expression, Fields
from engine.language.sandbox import FAULTS
from engine.plan.frozen import freeze

SIDES = (("left", "right"), ("input1", "input2"))
"""The names by which a condition may call the two rows."""

_NUMBERED = re.compile(r"""(?<![\w.'"])input[12]\b""")
"""One of the second names; not a field such as `left.input1`."""

Values = Mapping[str, Any]

_ERRORS = (ItemError, *FAULTS)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_LAZY = (ast.BoolOp, ast.IfExp, *_COMPREHENSIONS)
"""What may leave a part of it uncomputed, so that what goes wrong in the part counts only where it is needed."""
_ROWS, _PART = " rows", "part"


@dataclass
class Trouble:
    """How often a condition could not be computed, and why the first time."""

    count: int = 0
    first: str = ""

    def add(self, error: Exception) -> None:
        """Count an error."""
        self.count += 1
        self.first = self.first or str(error) or type(error).__name__


@dataclass(frozen=True)
class Condition(Expression):
    """An expression such as `left['last_name'][:2].lower() == right['last_name'][:2].lower()`.

    An equality of two empty values (null, "", [], {}) does not hold: to lack the same thing is no likeness.
    """

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """Return what it calls its left and its right row."""
        return SIDES[1] if _NUMBERED.search(self.text) else SIDES[0]

    def reads(self, side: int) -> frozenset[str]:
        """Return the fields it needs of the left (0) or the right (1) row."""
        return self.fields(self.variables[side])

    def matches(
        self, lefts: Sequence[Values], rights: Sequence[Values], trouble: Trouble
    ) -> Iterator[tuple[int, list[int]]]:
        """Give the index of each left row with the indices of the right rows for which the condition holds.

        A pair for which it cannot be computed is left out and counted in `trouble`; a row may come several times.
        """
        for branch in self._branches:
            yield from branch.matches(lefts, rights, trouble)

    @cached_property
    def _branches(self) -> list[_Branch]:
        return [_Branch.of(part, self) for part in _flat(self.tree.body, ast.Or)]


@cache
def condition(text: str) -> Condition:
    """Read a condition once; raises PipelineError for one that is no expression over `left` and `right`."""
    return Condition.parse(text)


@dataclass(frozen=True)
class _Branch:
    """Expressions that must all hold: of one side, equalities between the sides, and others."""

    left: list[CodeType]
    right: list[CodeType]
    equal: list[tuple[CodeType, CodeType]]
    rest: _Rest | None
    names: tuple[str, ...]

    @classmethod
    def of(cls, expression: ast.expr, whole: Condition) -> _Branch:
        left, right, equal, rest = [], [], [], []
        names, code = whole.variables, whole.code_of
        for part in _flat(expression, ast.And):
            used = _names_in(part)
            if names[1] not in used:
                left.append(code(part))
            elif names[0] not in used:
                right.append(code(part))
            elif sides := _equality(part, names):
                equal.append((code(sides[0]), code(sides[1])))
            else:
                rest.append(part)
        return cls(left, right, equal, _Rest(rest, whole) if rest else None, names)

    def matches(
        self, lefts: Sequence[Values], rights: Sequence[Values], trouble: Trouble
    ) -> Iterator[tuple[int, list[int]]]:
        sides = [
            {index: Fields(name, row) for index, row in enumerate(rows)}
            for name, rows in zip(self.names, (lefts, rights), strict=True)
        ]
        kept_left = _holding(self.left, self.names[0], sides[0], trouble)
        kept_right = _holding(self.right, self.names[1], sides[1], trouble)
        candidates = self._candidates(kept_left, kept_right, trouble)
        yield from self.rest.among(candidates, kept_left, kept_right, trouble) if self.rest else candidates

    def _candidates(
        self, lefts: dict[int, Fields], rights: dict[int, Fields], trouble: Trouble
    ) -> Iterator[tuple[int, list[int]]]:
        if not self.equal:
            everyone = list(rights)
            yield from ((i, everyone) for i in lefts)
            return
        table: dict[Any, list[int]] = {}
        for j, key in _keys([r for _, r in self.equal], self.names[1], rights, trouble):
            table.setdefault(key, []).append(j)
        for i, key in _keys([left for left, _ in self.equal], self.names[0], lefts, trouble):
            if matches := table.get(key):
                yield i, matches


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of an expression that one side decides. A lazy one need not be computed for every pair."""

    code: CodeType
    is_lazy: bool


class _Rest:
    """What must be computed per pair; the parts of it that one side decides are computed once per row."""

    def __init__(self, expressions: list[ast.expr], whole: Condition) -> None:
        self._whole = whole
        self._names = whole.variables
        self._parts: tuple[list[_Part], list[_Part]] = ([], [])
        hoisted = [self._hoist(copy.deepcopy(e), frozenset(), is_lazy=n > 0) for n, e in enumerate(expressions)]
        pair = hoisted[0] if len(hoisted) == 1 else ast.BoolOp(ast.And(), hoisted)
        target = ast.Tuple([ast.Name(name, ast.Store()) for name in self._variables(1)], ast.Store())
        loop = ast.comprehension(target, ast.Name(_ROWS, ast.Load()), [], 0)
        self._code = compiled(pair, whole.taken, loop=loop)

    def among(
        self,
        candidates: Iterator[tuple[int, list[int]]],
        lefts: dict[int, Fields],
        rights: dict[int, Fields],
        trouble: Trouble,
    ) -> Iterator[tuple[int, list[int]]]:
        known_left, known_right = self._known(0, lefts, trouble), self._known(1, rights, trouble)
        for i, matches in candidates:
            others = [j for j in matches if j in known_right]
            if i in known_left and others:
                names = dict(zip(self._variables(0), known_left[i], strict=True))
                holding = self._holding(names, [known_right[j] for j in others], trouble)
                yield i, [j for j, holds in zip(others, holding, strict=True) if holds]

    def _holding(self, left: Mapping[str, Any], rows: list[tuple[Any, ...]], trouble: Trouble) -> list[bool]:
        """Say for one left row and many right ones, each with its parts, where it holds."""
        evaluator, waiting = Evaluator(), iter(rows)
        holding: list[bool] = []
        while len(holding) < len(rows):
            try:
                for value in evaluator.value(self._code, {**left, _ROWS: waiting, f" {_PART}": _computed}):
                    holding.append(bool(value))
                    evaluator.renew()
            except _ERRORS as error:  # of the row after those
                trouble.add(error)
                holding.append(False)
        return holding

    def _hoist(self, node: ast.AST, bound: frozenset[str], *, is_lazy: bool) -> Any:
        """Replace, at any depth, an expression of one side by a variable; `bound` are names of items around it."""
        if isinstance(node, ast.expr) and not isinstance(node, ast.Name) and not _names_in(node) & bound:
            for side, (name, other) in enumerate((self._names, self._names[::-1])):
                if name in (used := _names_in(node)) and other not in used:
                    self._parts[side].append(_Part(self._whole.code_of(node), is_lazy))
                    part = ast.Name(_part_name(side, len(self._parts[side])), ast.Load())
                    return guard(_PART, part) if is_lazy else part
        if isinstance(node, _COMPREHENSIONS):
            bound |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        is_lazy = is_lazy or isinstance(node, _LAZY) or (isinstance(node, ast.Compare) and len(node.ops) > 1)
        for owner, name in _places(node, self._whole.taken):
            value = getattr(owner, name)
            if isinstance(value, list):
                parts = [self._hoist(v, bound, is_lazy=is_lazy) if isinstance(v, ast.AST) else v for v in value]
                setattr(owner, name, parts)
            elif isinstance(value, ast.AST):
                setattr(owner, name, self._hoist(value, bound, is_lazy=is_lazy))
        return node

    def _variables(self, side: int) -> list[str]:
        return [self._names[side], *(_part_name(side, n) for n in range(1, len(self._parts[side]) + 1))]

    def _known(self, side: int, rows: dict[int, Fields], trouble: Trouble) -> dict[int, tuple[Any, ...]]:
        evaluator, name = Evaluator(), self._names[side]
        known: dict[int, tuple[Any, ...]] = {}
        for index, row in rows.items():
            values: list[Any] = [row]
            for part in self._parts[side]:
                try:
                    values.append(_value(evaluator, part.code, name, row))
                except _ERRORS as error:
                    if not part.is_lazy:
                        trouble.add(error)
                        break
                    values.append(_Failure(error))
            else:
                known[index] = tuple(values)
        return known


@dataclass(frozen=True, slots=True)
class _Failure:
    """In place of a part that could not be computed."""

    error: Exception


def _computed(part: Any) -> Any:
    if isinstance(part, _Failure):
        raise part.error.with_traceback(None)
    return part


def _part_name(side: int, number: int) -> str:
    return f" {'lr'[side]}{number}"


def _places(node: ast.AST, taken: frozenset[str]) -> list[tuple[ast.AST, str]]:
    """Return where the expressions inside a node stand: not the names of methods, filters and tests."""
    match node:
        case ast.Call(func=ast.Attribute() as method):
            return [(method, "value"), (node, "args"), (node, "keywords")]
        case ast.BinOp() if written := filter_of(node, taken):
            return [
                (node, "left"),
                *([(node.right, "args"), (node.right, "keywords")] if written[1:] != ([], []) else []),
            ]
        case ast.Compare(ops=[compare], comparators=[right]) if test := test_of(compare, right, taken):
            return [(node, "left"), *([(right, "args")] if test[1] else [])]
    return [(node, name) for name in node._fields]


def _flat(expression: ast.expr, kind: type[ast.boolop]) -> Iterator[ast.expr]:
    if isinstance(expression, ast.BoolOp) and isinstance(expression.op, kind):
        for value in expression.values:
            yield from _flat(value, kind)
    else:
        yield expression


def _names_in(expression: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}


def _equality(part: ast.expr, names: tuple[str, ...]) -> tuple[ast.expr, ast.expr] | None:
    """Return the two sides of `f(left) == g(right)`, the left row's first."""
    match part:
        case ast.Compare(left=one, ops=[ast.Eq()], comparators=[other]):
            for a, b in ((one, other), (other, one)):
                if names[1] not in _names_in(a) and names[0] not in _names_in(b):
                    return a, b
    return None


def _value(evaluator: Evaluator, code: CodeType, name: str, row: Fields) -> Any:
    """Compute an expression of one row; raises one of _ERRORS."""
    value = evaluator.value(code, {name: row})
    if isinstance(value, Undefined):
        str(value)  # raises the error that names the field
    return value


def _holding(codes: list[CodeType], name: str, rows: dict[int, Fields], trouble: Trouble) -> dict[int, Fields]:
    evaluator = Evaluator()
    for code in codes:
        held = {}
        for index, row in rows.items():
            try:
                if _value(evaluator, code, name, row):
                    held[index] = row
            except _ERRORS as error:
                trouble.add(error)
        rows = held
    return rows


def _keys(
    codes: list[CodeType], name: str, rows: dict[int, Fields], trouble: Trouble
) -> Iterator[tuple[int, tuple[Any, ...]]]:
    evaluator = Evaluator()
    for index, row in rows.items():
        try:
            key = tuple(_key_part(_value(evaluator, code, name, row)) for code in codes)
            hash(key)
        except _ERRORS as error:
            trouble.add(error)
            continue
        if not any(part is None or part in ("", (), frozenset()) or part == {} for part in key):
            yield index, key


def _key_part(value: Any) -> Any:
    """Return a value that can be looked up; sets that are equal are the same key."""
    if isinstance(value, set | frozenset):
        return frozenset(value)
    if isinstance(value, list | tuple):
        return tuple(map(_key_part, value))
    return freeze(value)
