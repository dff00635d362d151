"""Who with whom: values that stand in the same row are linked, and with the documents they come from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from engine.errors import UsageError
from engine.language.position import did_you_mean
from engine.results.shown import NodeKind, ValueKind
from engine.results.values import items


@dataclass(frozen=True, slots=True)
class NetworkRow:
    """A row of results: its id, its values by column, and the ids of the documents it comes from."""

    id: str
    values: Mapping[str, Any]
    documents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NetworkChoice:
    """What a network is made of: the columns that hold people, organizations and other things, and whether documents.

    A name of a person, or of an organization, is one node whatever column it is in. Another thing is a node for each
    column, for the same word may mean different things in them.
    """

    people: tuple[str, ...] = ()
    organizations: tuple[str, ...] = ()
    things: tuple[str, ...] = ()
    with_documents: bool = True

    @property
    def kinds(self) -> tuple[tuple[str, ValueKind], ...]:
        """Return the columns and what each holds."""
        groups: tuple[tuple[ValueKind, tuple[str, ...]], ...] = (
            ("person", self.people),
            ("organization", self.organizations),
            ("thing", self.things),
        )
        return tuple((column, kind) for kind, columns in groups for column in columns)

    def check(self, columns: Sequence[str]) -> None:
        """Raise UsageError unless there is a column, each is in the table, and none is named twice."""
        chosen = [column for column, _ in self.kinds]
        if not chosen:
            raise UsageError(
                "no column is chosen for the network",
                advice=f"Name those that hold people, organizations or things. Columns: {', '.join(columns)}.",
            )
        for column in chosen:
            if column not in columns:
                raise UsageError(f"the results have no column {column!r}", advice=did_you_mean(column, columns))
            if chosen.count(column) > 1:
                raise UsageError(f"the network names {column!r} twice", advice="Say once what it holds.")


@dataclass(frozen=True, slots=True)
class Node:
    """A value, or a document, whose `label` is its id. `columns` are those it stands in, `rows` those that name it."""

    kind: NodeKind
    label: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Link:
    """Two nodes, by their place, the lower first, and the rows in which both stand."""

    first: int
    second: int
    rows: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Network:
    """Nodes, those that most rows name first, and the links between them, in the order of their nodes."""

    nodes: tuple[Node, ...]
    links: tuple[Link, ...]

    def largest(self, most_nodes: int, most_links: int) -> Network:
        """Return the nodes that most rows name, and among the links between these the strongest."""
        if len(self.nodes) <= most_nodes and len(self.links) <= most_links:
            return self
        kept = [link for link in self.links if link.second < most_nodes]
        kept = sorted(kept, key=lambda link: (-len(link.rows), link.first, link.second))[:most_links]
        return Network(self.nodes[:most_nodes], tuple(sorted(kept, key=lambda link: (link.first, link.second))))


_Key = tuple[NodeKind, str, str]
"""Kind, column that keeps things apart (empty for all else), and label."""


def make_network(rows: Iterable[NetworkRow], choice: NetworkChoice) -> Network:
    """Link what stands in the same row, nothing else; a list counts for each of its items."""
    named: dict[_Key, dict[str, None]] = {}
    columns: dict[_Key, dict[str, None]] = {}
    linked: dict[tuple[_Key, _Key], dict[str, None]] = {}
    for row in rows:
        values = _named_in(row, choice)
        for key, column in values:
            named.setdefault(key, {})[row.id] = None
            columns.setdefault(key, {})[column] = None
        keys = list(dict.fromkeys(key for key, _ in values))
        documents: list[_Key] = []
        if keys and choice.with_documents:
            documents = [("document", "", document) for document in row.documents]
        for key in documents:
            named.setdefault(key, {})[row.id] = None
        pairs = [*combinations(keys, 2), *((key, document) for key in keys for document in documents)]
        for first, second in pairs:
            linked.setdefault((min(first, second), max(first, second)), {})[row.id] = None
    order = sorted(named, key=lambda key: (-len(named[key]), key[2].casefold(), key))
    places = {key: place for place, key in enumerate(order)}
    nodes = tuple(Node(key[0], key[2], tuple(columns.get(key, ())), tuple(named[key])) for key in order)
    ends = (((places[first], places[second]), ids) for (first, second), ids in linked.items())
    links = [Link(min(pair), max(pair), tuple(ids)) for pair, ids in ends]
    return Network(nodes, tuple(sorted(links, key=lambda link: (link.first, link.second))))


def _named_in(row: NetworkRow, choice: NetworkChoice) -> list[tuple[_Key, str]]:
    """List what a row names with the column it stands in."""
    return [
        ((kind, column if kind == "thing" else "", item), column)
        for column, kind in choice.kinds
        for item in items(row.values.get(column))
    ]
