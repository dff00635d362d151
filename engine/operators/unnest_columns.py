"""unnest_columns: the entries of a dictionary become fields of the row."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from engine.errors import ItemError
from engine.language.problems import Finding
from engine.language.schema_types import ListOf, Record, Type, bare_type
from engine.operators.accounting import kind_of, row_by_row, value_of
from engine.operators.base import Operator, Tools
from engine.operators.unnest import clashes, is_single
from engine.plan.node import Node, Traits
from engine.rows import Row


@dataclass(frozen=True, kw_only=True)
class UnnestColumns(Node):
    """Make a field of each entry of the dictionary in `unnest_key`, or of the entries `keys`, null where missing.

    The dictionary goes, unless `drop_source` is false. Null counts as a dictionary without entries.
    """

    kind: ClassVar[str] = "unnest_columns"

    unnest_key: str
    keys: tuple[str, ...] = ()
    drop_source: bool = True

    def __post_init__(self) -> None:
        self.require(len(set(self.keys)) == len(self.keys), "keys names a field twice", "Name each key once.")

    def traits(self) -> Traits:
        """Say what it reads and writes; without `keys` the entries are known only at run time."""
        gone = {self.unnest_key} - set(self.keys) if self.drop_source else set()
        return Traits(
            reads=frozenset({self.unnest_key}),
            writes=frozenset(self.keys),
            removes=frozenset(gone),
            calls_model=False,
            opens=not self.keys,
        )

    def opened(self, types: Mapping[str, Type]) -> Mapping[str, Type] | None:
        """Return the entries, where the type of the dictionary names them."""
        kind = bare_type(types.get(self.unnest_key))
        return {each.name: each.type for each in kind.fields} if isinstance(kind, Record) else None

    def misfits(self, types: Mapping[str, Type], fields: Collection[str]) -> Iterator[Finding]:
        """Refuse a field that is no dictionary, and warn of entries that the rows have already as fields."""
        kind = types.get(self.unnest_key)
        is_list = isinstance(bare_type(kind), ListOf)
        if kind is not None and (is_list or is_single(kind)):
            message = f"the field {self.unnest_key!r} is of type {kind.text()}, not a dictionary"
            advice = "Use unnest for lists." if is_list else "Name a field of type {...}."
            yield Finding(("unnest_key",), message, advice)
        entries: Collection[str] = () if self.keys else (self.opened(types) or {}).keys()
        kept = set(fields) - ({self.unnest_key} if self.drop_source else set())
        yield from clashes(self.unnest_key, entries, kept, "keys")


async def spread(node: UnnestColumns, row: Row, tools: Tools) -> Sequence[Row]:
    """Spread the dictionary of a row."""
    value = value_of(row, node.unnest_key)
    entries = {} if value is None else value
    if not isinstance(entries, Mapping):
        raise ItemError(
            f"field {node.unnest_key!r} is {kind_of(value)}, not a dictionary",
            advice="Use unnest for lists." if isinstance(value, list | tuple) else "",
        )
    kept = {k: v for k, v in row.values.items() if k != node.unnest_key or not node.drop_source}
    if node.keys:
        return [row.derive(node.name, {**kept, **{key: entries.get(key) for key in node.keys}})]
    both = [key for key in entries if key in kept and kept[key] != entries[key]]
    if both:
        raise ItemError(
            f"the dictionary in {node.unnest_key!r} has an entry {both[0]!r}, and the row has a field of that name",
            advice=f"List the entries to take in keys; naming {both[0]!r} there replaces the row's.",
        )
    return [row.derive(node.name, {**kept, **entries})]


OPERATOR = Operator(UnnestColumns, row_by_row(spread))
