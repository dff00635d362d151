"""Who with whom: the network of a run's rows."""

from __future__ import annotations

from dataclasses import dataclass

from engine.results.shown import NodeKind
from engine.worker.contract.query import Query


@dataclass(frozen=True, slots=True)
class ShownNode:
    """A node and its place; `name` is the file of a document, else what the value is. `rows` counts those with it."""

    kind: NodeKind
    label: str
    name: str
    column: str
    rows: int
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class ShownNetwork:
    """A network with places. `links` are two places of nodes and how many rows link them.

    Left out are `other_nodes`, which the fewest rows name, and `other_links`, the weakest.
    """

    nodes: tuple[ShownNode, ...]
    links: tuple[tuple[int, int, int], ...]
    other_nodes: int
    other_links: int


@dataclass(frozen=True, slots=True)
class LinkedRow:
    """A row that names a node, or both ends of a link: `column` and `inside` lead to the evidence of the first."""

    row: str
    number: int
    text: str
    file: str
    column: str
    inside: str


@dataclass(frozen=True, slots=True)
class LinkedRows:
    """The rows of a node or a link; `others` are left out."""

    rows: tuple[LinkedRow, ...]
    others: int


ROWS = Query[LinkedRows]("network.rows")
SAVE = Query[tuple[int, int]]("network.save")
SHOW = Query[ShownNetwork]("network.show")
