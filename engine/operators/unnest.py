"""unnest: one row per element of a list, or the fields of a dictionary as fields of the row (paper section 2.3.1)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from engine.errors import ItemError
from engine.language.problems import Finding
from engine.language.schema_types import (
    DictOf,
    Either,
    Enum,
    ListOf,
    Number,
    Quote,
    Record,
    Scalar,
    Text,
    Type,
    Value,
    bare_type,
)
from engine.operators.accounting import kind_of, row_by_row, value_of
from engine.operators.base import Operator, Rejected, Tools
from engine.plan.node import Node, Traits
from engine.rows import Row


@dataclass(frozen=True, kw_only=True)
class Unnest(Node):
    """Replace the list in `unnest_key` by its elements, one row each; keep a dictionary and lift its fields.

    `expand_fields` are lifted from a dictionary, or from each element of a list of dictionaries; a field that an
    element lacks is null. Without it a dictionary's fields are all lifted, and a list's elements stay whole unless
    `recursive`. `recursive` goes into lists inside lists and lifts the fields of dictionaries found there,
    `depth` levels in all (None: to the end). An empty list is rejected, or one row with null if `keep_empty`.
    """

    kind: ClassVar[str] = "unnest"

    unnest_key: str
    keep_empty: bool = False
    expand_fields: tuple[str, ...] = ()
    recursive: bool = False
    depth: int | None = None

    def __post_init__(self) -> None:
        self.require(
            self.depth is None or (self.recursive and self.depth >= 1),
            f"depth is {self.depth}, which means nothing here",
            "Give a depth of at least 1 together with recursive: true.",
        )

    @property
    def levels(self) -> float:
        """Return how many levels are opened."""
        if not self.recursive:
            return 1
        return float("inf") if self.depth is None else self.depth

    def traits(self) -> Traits:
        """Say what it reads and writes; without `expand_fields` a dictionary's fields are known only at run time."""
        return Traits(
            reads=frozenset({self.unnest_key}),
            writes=frozenset({self.unnest_key, *self.expand_fields}),
            cardinality="one_to_many",
            calls_model=False,
            opens=not self.expand_fields,
        )

    def opened(self, types: Mapping[str, Type]) -> Mapping[str, Type] | None:
        """Return the element and the fields that are lifted, where the type of the list or dictionary is known."""
        kind = bare_type(types.get(self.unnest_key))
        levels = self.levels
        while isinstance(kind, ListOf) and levels >= 1:
            kind, levels = bare_type(kind.item), levels - 1
        is_list = isinstance(bare_type(types.get(self.unnest_key)), ListOf)
        if isinstance(kind, Record) and (levels >= 1 or not is_list):
            return {self.unnest_key: kind} | {each.name: each.type for each in kind.fields}
        may_have_fields = levels >= 1 and isinstance(kind, DictOf | Either | Value)
        return {self.unnest_key: kind} if is_list and kind and not may_have_fields else None

    def misfits(self, types: Mapping[str, Type], fields: Collection[str]) -> Iterator[Finding]:
        """Refuse a field that is no list and no dictionary, and warn of lifted fields that the rows have already."""
        kind = types.get(self.unnest_key)
        if kind is not None and is_single(kind):
            message = f"the field {self.unnest_key!r} is of type {kind.text()}, not a list or a dictionary"
            yield Finding(("unnest_key",), message, "Unnest a field of type list[...] or {...}.")
        lifted: Collection[str] = () if self.expand_fields else (self.opened(types) or {}).keys() - {self.unnest_key}
        yield from clashes(self.unnest_key, lifted, fields, "expand_fields")


def is_single(kind: Type | None) -> bool:
    """Say whether no value of a type is a list or a dictionary."""
    match bare_type(kind):
        case Scalar() | Text() | Number() | Enum() | Quote():
            return True
        case Either(options=options):
            return all(map(is_single, options))
    return False


def clashes(key: str, lifted: Collection[str], fields: Collection[str], naming: str) -> Iterator[Finding]:
    """Warn of fields of a dictionary that rows have already; `naming` is the key that names those to be lifted."""
    for name in sorted(set(lifted) & set(fields)):
        message = (
            f"the dictionary in {key!r} has a field {name!r}, and so have the rows: where the two differ, a row fails"
        )
        advice = f"List the fields to lift in {naming}, without {name!r} to keep the row's; naming it replaces that."
        yield Finding(("unnest_key",), message, advice, "warning")


async def expand(node: Unnest, row: Row, tools: Tools) -> Sequence[Row] | Rejected:
    """Make the rows of one; it is rejected, never lost, if its list is empty."""
    entries = list(_values(node, row))
    if not entries:
        return Rejected(row, f"{node.unnest_key} is empty")
    return [row.derive(node.name, values, index=index) for index, values in enumerate(entries)]


def _values(node: Unnest, row: Row) -> Iterator[dict[str, Any]]:
    value = value_of(row, node.unnest_key)
    if value is None or value == []:
        if node.keep_empty:
            yield _with_fields(node, row, None, node.expand_fields)
        return
    match value:
        case list() | tuple():
            for element, level in _elements(value, node.levels, node.keep_empty):
                yield _with_fields(node, row, element, _lifted(node, element, level))
        case Mapping():
            yield _with_fields(node, row, value, node.expand_fields or tuple(value))
        case _:
            raise ItemError(f"field {node.unnest_key!r} is {kind_of(value)}, not a list or a dictionary")


def _elements(items: Sequence[Any], levels: float, keep_empty: bool) -> Iterator[tuple[Any, float]]:
    """Walk over elements with the levels left to open in each."""
    for item in items:
        if not isinstance(item, list | tuple) or levels <= 1:
            yield item, levels - 1
        elif item:
            yield from _elements(item, levels - 1, keep_empty)
        elif keep_empty:
            yield None, 0


def _lifted(node: Unnest, element: Any, levels: float) -> tuple[str, ...]:
    if node.expand_fields:
        if element is not None and not isinstance(element, Mapping):
            raise ItemError(
                f"an element of {node.unnest_key!r} is {kind_of(element)}, so it has no fields to expand",
                advice="Leave expand_fields out to unnest plain values.",
            )
        return node.expand_fields
    return tuple(element) if isinstance(element, Mapping) and levels >= 1 else ()


def _with_fields(node: Unnest, row: Row, element: Any, fields: Sequence[str]) -> dict[str, Any]:
    values = {**row.values, node.unnest_key: element}
    source = element if isinstance(element, Mapping) else {}
    for name in fields:
        if not node.expand_fields and values.get(name, source[name]) != source[name]:
            raise ItemError(
                f"the dictionary in {node.unnest_key!r} has a field {name!r}, and so has the row",
                advice=f"List the fields to lift in expand_fields; naming {name!r} there replaces the row's.",
            )
        values[name] = source.get(name)
    return values


OPERATOR = Operator(Unnest, row_by_row(expand))
