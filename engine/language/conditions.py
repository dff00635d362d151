"""Conditions over two rows, in the sandboxed template language, and the pairs of many rows that meet one.

Asking this pair by pair would take hours for some thousands of rows, so a condition is taken apart first: what
depends on one side only is computed once per row, and equalities between the sides are looked up in a table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, reduce
from typing import Any

from jinja2 import TemplateSyntaxError, Undefined, nodes
from jinja2.environment import Template as CompiledTemplate
from jinja2.exceptions import TemplateError

from engine.errors import PipelineError
from engine.language.sandbox import Bounds, PromptEnvironment
from engine.language.templates import RENDER_ERRORS, Template
from engine.plan.frozen import freeze

SIDES = (("left", "right"), ("input1", "input2"))
"""The names by which a condition may call the two rows."""

Values = Mapping[str, Any]

_ENVIRONMENT = PromptEnvironment()
_ERRORS = (TemplateError, *RENDER_ERRORS)
_LAZY = (nodes.And, nodes.Or, nodes.CondExpr)
"""What may leave a part of it uncomputed, so that no part can be computed beforehand."""


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
class Condition:
    """An expression such as `left['last_name'][:2].lower() == right['last_name'][:2].lower()`.

    It covers the Python expressions that DocETL documents. An equality of two empty values (null, "", [], {}) does
    not hold: to lack the same thing is no likeness.
    """

    text: str
    template: Template = field(repr=False)

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Read a condition; raises PipelineError for one that is no expression over `left` and `right`."""
        names = SIDES[1] if "input1" in text or "input2" in text else SIDES[0]
        found = cls(text, Template.parse("{% if (" + text + ") %}1{% endif %}", variables=names))
        found._parsed()
        return found

    @property
    def names(self) -> tuple[str, str]:
        """Return what it calls its left and its right row."""
        return SIDES[1] if "input1" in (self.template.variables or ()) else SIDES[0]

    def reads(self, side: int) -> frozenset[str]:
        """Return the fields it needs of the left (0) or the right (1) row."""
        return self.template.reads(self.names[side])

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
        return [_Branch.of(part, self.names) for part in _flat(self._parsed(), nodes.Or)]

    def _parsed(self) -> nodes.Expr:
        refusal = f"the condition {self.text!r} is not an expression"
        try:
            body = Bounds().visit(_ENVIRONMENT.parse("{{ (" + self.text + ") }}")).body
        except TemplateSyntaxError as error:
            raise PipelineError(f"{refusal}: {error.message}", advice="Write left.x == right.x.") from error
        match body:
            case [nodes.Output(nodes=[nodes.Expr() as expression])] if self.text.strip():
                return expression
        raise PipelineError(refusal, advice="Write left.x == right.x.")


@cache
def condition(text: str) -> Condition:
    """Read a condition once; raises PipelineError."""
    return Condition.parse(text)


@dataclass(frozen=True)
class _Branch:
    """Expressions that must all hold: of one side, equalities between the sides, and others."""

    left: list[nodes.Expr]
    right: list[nodes.Expr]
    equal: list[tuple[nodes.Expr, nodes.Expr]]
    rest: _Rest | None
    names: tuple[str, str]

    @classmethod
    def of(cls, expression: nodes.Expr, names: tuple[str, str]) -> _Branch:
        left, right, equal, rest = [], [], [], []
        for part in _flat(expression, nodes.And):
            used = _names_in(part)
            if names[1] not in used:
                left.append(part)
            elif names[0] not in used:
                right.append(part)
            elif sides := _equality(part, names):
                equal.append(sides)
            else:
                rest.append(part)
        return cls(left, right, equal, _Rest(rest, names) if rest else None, names)

    def matches(
        self, lefts: Sequence[Values], rights: Sequence[Values], trouble: Trouble
    ) -> Iterator[tuple[int, list[int]]]:
        kept_left = _holding(self.left, self.names[0], dict(enumerate(lefts)), trouble)
        kept_right = _holding(self.right, self.names[1], dict(enumerate(rights)), trouble)
        candidates = self._candidates(kept_left, kept_right, trouble)
        yield from self.rest.among(candidates, kept_left, kept_right, trouble) if self.rest else candidates

    def _candidates(
        self, lefts: dict[int, Values], rights: dict[int, Values], trouble: Trouble
    ) -> Iterator[tuple[int, list[int]]]:
        if not self.equal:
            everyone = list(rights)
            yield from ((i, everyone) for i in lefts)
            return
        table: dict[Any, list[int]] = {}
        for j, key in _keys([r for _, r in self.equal], self.names[1], rights, trouble):
            table.setdefault(key, []).append(j)
        for i, key in _keys([left for left, _ in self.equal], self.names[0], lefts, trouble):
            if found := table.get(key):
                yield i, found


class _Rest:
    """What must be computed per pair; the parts of it that one side decides are computed once per row."""

    def __init__(self, expressions: list[nodes.Expr], names: tuple[str, str]) -> None:
        self.names = names
        self.parts: tuple[list[nodes.Expr], list[nodes.Expr]] = ([], [])
        whole = reduce(nodes.And, [self._hoist(e) for e in expressions])
        self._among = _compile_loop(whole, self._variables(0), self._variables(1))

    def among(
        self,
        candidates: Iterator[tuple[int, list[int]]],
        lefts: dict[int, Values],
        rights: dict[int, Values],
        trouble: Trouble,
    ) -> Iterator[tuple[int, list[int]]]:
        known_left, known_right = self._known(0, lefts, trouble), self._known(1, rights, trouble)
        for i, found in candidates:
            others = [j for j in found if j in known_right]
            if i in known_left and others:
                holding = self._among(known_left[i], [known_right[j] for j in others], trouble)
                yield i, [j for j, holds in zip(others, holding, strict=True) if holds]

    def _hoist(self, expression: nodes.Expr) -> nodes.Expr:
        """Replace, at any depth, an expression of one side by a variable."""
        used = _names_in(expression)
        for side, (own, other) in enumerate((self.names, self.names[::-1])):
            if own in used and other not in used:
                self.parts[side].append(expression)
                return nodes.Name(_part_name(side, len(self.parts[side])), "load")
        if not isinstance(expression, _LAZY):
            for name, value in list(expression.iter_fields()):
                if isinstance(value, nodes.Expr):
                    setattr(expression, name, self._hoist(value))
                elif isinstance(value, list):
                    setattr(expression, name, [self._hoist(v) if isinstance(v, nodes.Expr) else v for v in value])
                    for item in value:
                        if isinstance(item, nodes.Operand | nodes.Keyword):
                            self._hoist_inside(item)
        return expression

    def _hoist_inside(self, item: nodes.Operand | nodes.Keyword) -> None:
        name = "expr" if isinstance(item, nodes.Operand) else "value"
        setattr(item, name, self._hoist(getattr(item, name)))

    def _variables(self, side: int) -> list[str]:
        return [self.names[side], *(_part_name(side, n) for n in range(1, len(self.parts[side]) + 1))]

    def _known(self, side: int, rows: dict[int, Values], trouble: Trouble) -> dict[int, tuple[Any, ...]]:
        compute = [_compile(part, self.names[side]) for part in self.parts[side]]
        known: dict[int, tuple[Any, ...]] = {}
        for index, row in rows.items():
            try:
                known[index] = (row, *(one(row) for one in compute))
            except _ERRORS as error:
                trouble.add(error)
        return known


def _part_name(side: int, number: int) -> str:
    return f"redwell_{'lr'[side]}{number}"


def _flat(expression: nodes.Expr, kind: type[nodes.BinExpr]) -> Iterator[nodes.Expr]:
    if isinstance(expression, kind):
        yield from _flat(expression.left, kind)
        yield from _flat(expression.right, kind)
    else:
        yield expression


def _names_in(expression: nodes.Node) -> set[str]:
    own = {expression.name} if isinstance(expression, nodes.Name) else set()
    return own | {name.name for name in expression.find_all(nodes.Name)}


def _equality(part: nodes.Expr, names: tuple[str, str]) -> tuple[nodes.Expr, nodes.Expr] | None:
    """Return the two sides of `f(left) == g(right)`, the left row's first."""
    match part:
        case nodes.Compare(expr=one, ops=[nodes.Operand(op="eq", expr=other)]):
            for a, b in ((one, other), (other, one)):
                if names[1] not in _names_in(a) and names[0] not in _names_in(b):
                    return a, b
    return None


def _holding(expressions: list[nodes.Expr], name: str, rows: dict[int, Values], trouble: Trouble) -> dict[int, Values]:
    for compute in [_compile(expression, name) for expression in expressions]:
        held = {}
        for index, row in rows.items():
            try:
                if compute(row):
                    held[index] = row
            except _ERRORS as error:
                trouble.add(error)
        rows = held
    return rows


def _keys(
    expressions: list[nodes.Expr], name: str, rows: dict[int, Values], trouble: Trouble
) -> Iterator[tuple[int, tuple[Any, ...]]]:
    compute = [_compile(expression, name) for expression in expressions]
    for index, row in rows.items():
        try:
            key = tuple(freeze(one(row)) for one in compute)
            hash(key)
        except _ERRORS as error:
            trouble.add(error)
            continue
        if not any(part is None or part in ("", ()) or part == {} for part in key):
            yield index, key


def _compile(expression: nodes.Expr, name: str) -> Callable[[Values], Any]:
    """Make a function of one row; it raises one of _ERRORS."""
    body: list[nodes.Node] = [nodes.Assign(nodes.Name("redwell_value", "store"), expression)]
    template = _compiled(body)

    def compute(row: Values) -> Any:
        context = template.new_context({name: row})
        for _ in template.root_render_func(context):
            pass
        value = context.vars["redwell_value"]
        if isinstance(value, Undefined):
            str(value)  # raises the error that names the field
        return value

    return compute


def _compile_loop(
    expression: nodes.Expr, left: list[str], right: list[str]
) -> Callable[[tuple[Any, ...], list[tuple[Any, ...]], Trouble], list[bool]]:
    """Make a function that says for one left row and many right ones, each with its parts, where it holds."""
    test = nodes.If(
        expression,
        [nodes.Output([nodes.TemplateData("1")])],
        [],
        [nodes.Output([nodes.TemplateData("0")])],
    )
    target = nodes.Tuple([nodes.Name(name, "store") for name in right], "store")
    body: list[nodes.Node] = [nodes.For(target, nodes.Name("redwell_rows", "load"), [test], [], None, False)]
    template = _compiled(body)

    def among(given: tuple[Any, ...], rows: list[tuple[Any, ...]], trouble: Trouble) -> list[bool]:
        found: list[bool] = []
        while len(found) < len(rows):
            context = template.new_context(dict(zip(left, given, strict=True)) | {"redwell_rows": rows[len(found) :]})
            try:
                found.extend(piece == "1" for piece in template.root_render_func(context))
            except _ERRORS as error:  # of the row after those found
                trouble.add(error)
                found.append(False)
        return found

    return among


def _compiled(body: list[nodes.Node]) -> CompiledTemplate:
    tree = nodes.Template(body)
    tree.set_environment(_ENVIRONMENT)
    tree.set_lineno(1)
    return CompiledTemplate.from_code(_ENVIRONMENT, _ENVIRONMENT.compile(tree), _ENVIRONMENT.make_globals(None))
