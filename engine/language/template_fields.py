"""Find out from a parsed template which fields of `input`, `inputs`, ... it reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from jinja2 import nodes

ROW_VARIABLES = frozenset({"input", "input1", "input2", "left", "right", "output", "item"})
"""Variables that hold one row's fields."""
LIST_VARIABLES = frozenset({"inputs", "outputs"})
"""Variables that hold a list of rows."""
KEY_VARIABLES = frozenset({"reduce_key"})
"""Variables that hold the values that the rows of a group share: whoever reads all of them reads no further fields."""

_LIST_FILTERS = frozenset({"list", "sort", "reverse", "unique", "selectattr", "rejectattr", "select", "reject"})
_ELEMENT_FILTERS = frozenset({"first", "last", "min", "max"})
_COUNT_FILTERS = frozenset({"length", "count"})
_COLUMN_FILTERS = frozenset({"map", "sum", "join"})
"""With `attribute=...` these give the values of one field only."""
_TESTING = frozenset({"selectattr", "rejectattr"})
_ATTRIBUTE_FIRST = _TESTING | {"groupby"}


@dataclass(frozen=True)
class _Source:
    """What a name in scope stands for: a row (or a list of rows) of the template variable `variable`."""

    variable: str
    is_list: bool


@dataclass
class FieldReads:
    """Per variable: fields read, fields asked for only if present, and whether others may be read."""

    needed: dict[str, set[str]] = field(default_factory=dict)
    tested: dict[str, set[str]] = field(default_factory=dict)
    optional: dict[str, set[str]] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class UnknownName:
    """A variable that nothing defines; `line` is 1-based in the template."""

    name: str
    line: int


_Scope = dict[str, _Source | None]


class FieldWalker:
    """Walk a template once; then `reads` and `unknown_names` say what was found."""

    def __init__(self, variables: Iterable[str], functions: Iterable[str]) -> None:
        self.reads = FieldReads()
        self.unknown_names: list[UnknownName] = []
        self.functions = frozenset(functions)
        self.scope: _Scope = dict.fromkeys(variables)
        self.scope |= {v: _Source(v, False) for v in self.scope if v in ROW_VARIABLES | KEY_VARIABLES}
        self.scope |= {v: _Source(v, True) for v in self.scope if v in LIST_VARIABLES}

    def walk(self, node: nodes.Node) -> None:
        """Visit a statement or an expression whose value is used."""
        match node:
            case nodes.For():
                self._for(node)
            case nodes.Assign(target=nodes.Name(name=name)):
                source = self._source(node.node)
                self._use(node.node, source)
                self.scope[name] = source
            case nodes.Macro() | nodes.CallBlock() | nodes.With():
                self._with_locals(node)
            case nodes.Expr():
                self._expression(node)
            case _:
                self._define(_stored_names(node))
                self._children(node)

    def _for(self, node: nodes.For) -> None:
        iterated = self._source(node.iter)
        self._use(node.iter, iterated)
        outer = dict(self.scope)
        self._define([*_stored_names(node.target), "loop"])
        if iterated and iterated.is_list and isinstance(node.target, nodes.Name):
            self.scope[node.target.name] = _Source(iterated.variable, False)
        elif iterated and not iterated.is_list:
            self._read_all(iterated)  # a loop over a row reads all its fields
        for child in (*node.body, *node.else_, *([node.test] if node.test else [])):
            self.walk(child)
        self.scope = outer

    def _with_locals(self, node: nodes.Macro | nodes.CallBlock | nodes.With) -> None:
        if isinstance(node, nodes.Macro):
            self.scope[node.name] = None
        outer = dict(self.scope)
        self._define([*_stored_names(node), "caller", "varargs", "kwargs"])
        self._children(node)
        self.scope = outer

    def _expression(self, node: nodes.Expr) -> None:
        source = self._source(node)
        if source:
            self._read_all(source)  # the whole row is written or passed on
            return
        match node:
            case nodes.Name(name=name, ctx="load"):
                self._check_name(name, node.lineno)
            case nodes.Getattr(node=owner, attr=name):
                self._field(owner, name)
            case nodes.Getitem(node=owner, arg=nodes.Const(value=str() as name)):
                self._field(owner, name)
            case nodes.Getitem(node=owner, arg=key):
                self._use(owner, self._source(owner), whole=True)
                self.walk(key)
            case nodes.Call(node=nodes.Getattr(node=owner, attr=method)) if self._row(owner):
                self._method(node, owner, method)
            case nodes.Test(name="defined" | "undefined"):
                self._optional(node.node, self.reads.tested)
            case nodes.Filter(name="default" | "d"):
                self._optional(node.node, self.reads.optional)
                self._arguments(node)
            case nodes.Filter():
                self._filter(node)
            case _:
                self._children(node)

    def _filter(self, node: nodes.Filter) -> None:
        source = self._source(node.node) if node.node else None
        if source and source.is_list:
            self._read_attributes(node, source)
        narrow = node.name in _COUNT_FILTERS or (node.name in _COLUMN_FILTERS and bool(_attributes(node)))
        if node.node:
            self._use(node.node, source, whole=not narrow)
        self._arguments(node)

    def _read_attributes(self, node: nodes.Filter, source: _Source) -> None:
        """Note the fields that a filter over rows reads, or asks for: `map(attribute='x', default=0)`."""
        tests = [argument.value for argument in node.args[1:2] if isinstance(argument, nodes.Const)]
        has_default = "default" in {each.key for each in node.kwargs} or (node.name == "groupby" and len(node.args) > 1)
        table = self.reads.optional if has_default else self.reads.needed
        if node.name in _TESTING and tests and tests[0] in ("defined", "undefined"):
            table = self.reads.tested
        for name in _attributes(node):
            self._add(table, source.variable, name)

    def _arguments(self, node: nodes.Filter) -> None:
        for argument in (*node.args, *(k.value for k in node.kwargs)):
            self.walk(argument)

    def _method(self, node: nodes.Call, owner: nodes.Expr, method: str) -> None:
        row = self._row(owner)
        assert row is not None  # the caller matched on it
        name = node.args[0].value if node.args and isinstance(node.args[0], nodes.Const) else None
        if method == "get" and isinstance(name, str):
            self._add(self.reads.optional, row.variable, name)
        else:
            self._read_all(row)
        for argument in (*node.args, *(k.value for k in node.kwargs)):
            self.walk(argument)

    def _optional(self, node: nodes.Expr | None, table: dict[str, set[str]]) -> None:
        match node:
            case (
                nodes.Getattr(node=owner, attr=name) | nodes.Getitem(node=owner, arg=nodes.Const(value=str() as name))
            ) if row := self._row(owner):
                self._add(table, row.variable, name)
            case nodes.Name() | None:
                pass
            case _:
                self.walk(node)

    def _field(self, owner: nodes.Expr, name: str) -> None:
        row = self._row(owner)
        if row:
            self._add(self.reads.needed, row.variable, name)
        else:
            self._use(owner, self._source(owner), whole=True)

    def _use(self, node: nodes.Node, source: _Source | None, *, whole: bool = False) -> None:
        """Walk an expression that stands for rows without taking it for a read of everything."""
        if source is None:
            self.walk(node)
        elif whole:
            self._read_all(source)
        else:
            self._attribute_reads(node, source)

    def _attribute_reads(self, node: nodes.Node, source: _Source) -> None:
        while isinstance(node, nodes.Filter) and node.node:
            self._read_attributes(node, source)
            self._arguments(node)
            node = node.node

    def _row(self, node: nodes.Expr) -> _Source | None:
        source = self._source(node)
        return source if source and not source.is_list else None

    def _source(self, node: nodes.Node) -> _Source | None:
        match node:
            case nodes.Name(name=name, ctx="load"):
                return self.scope.get(name)
            case nodes.Getitem(node=owner, arg=nodes.Slice()):
                return self._list(owner)
            case nodes.Getitem(node=owner, arg=nodes.Const(value=int()) | nodes.Neg()):
                return self._element(owner)
            case nodes.Filter(node=nodes.Expr() as owner, name=name) if name in _LIST_FILTERS:
                return self._list(owner)
            case nodes.Filter(node=nodes.Expr() as owner, name=name) if name in _ELEMENT_FILTERS:
                return self._element(owner)
        return None

    def _list(self, node: nodes.Expr) -> _Source | None:
        source = self._source(node)
        return source if source and source.is_list else None

    def _element(self, node: nodes.Expr) -> _Source | None:
        source = self._list(node)
        return _Source(source.variable, False) if source else None

    def _check_name(self, name: str, line: int) -> None:
        if name not in self.scope and name not in self.functions:
            self.unknown_names.append(UnknownName(name, line))

    def _define(self, names: Iterable[str]) -> None:
        self.scope |= dict.fromkeys(names)

    def _children(self, node: nodes.Node) -> None:
        for child in node.iter_child_nodes():
            if not (isinstance(child, nodes.Name) and child.ctx != "load"):
                self.walk(child)

    def _read_all(self, source: _Source) -> None:
        """Note that any field may be read."""
        if source.variable not in KEY_VARIABLES:
            self.reads.unknown.add(source.variable)

    @staticmethod
    def _add(table: dict[str, set[str]], variable: str, name: str) -> None:
        table.setdefault(variable, set()).add(name)


def _attributes(node: nodes.Filter) -> list[str]:
    """Return fields a filter over rows reads: `map(attribute='x')`, `groupby('x')`; the first part of a dotted path.

    Only `sort` takes several: `sort(attribute='x,y')`.
    """
    arguments = [k.value for k in node.kwargs if k.key == "attribute"]
    if node.name in _ATTRIBUTE_FIRST:
        arguments += node.args[:1]
    written = [e.value for e in arguments if isinstance(e, nodes.Const) and isinstance(e.value, str)]
    paths = [path for text in written for path in (text.split(",") if node.name == "sort" else [text])]
    return [path.split(".")[0] for path in paths]


def _stored_names(node: nodes.Node) -> Iterator[str]:
    if isinstance(node, nodes.Name) and node.ctx != "load":
        yield node.name
    for child in node.iter_child_nodes():
        if isinstance(child, nodes.Name) and child.ctx != "load":
            yield child.name
        elif isinstance(child, nodes.Tuple):
            yield from _stored_names(child)
