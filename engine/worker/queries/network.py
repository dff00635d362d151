"""Who with whom: the network of a run's rows, without those that a reviewer rejected."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from engine.errors import UsageError
from engine.results.layout import lay_out
from engine.results.network import Network, NetworkChoice, NetworkRow, Node, make_network
from engine.results.network_files import FTM, GRAPHML, network_format, write_network
from engine.results.shown import NodeKind
from engine.results.table import ALL_ROWS, ResultView, Selection, result_view
from engine.results.values import items, shown
from engine.worker.contract import network as contract
from engine.worker.contract.network import LinkedRow, LinkedRows, ShownNetwork, ShownNode
from engine.worker.queries.charts import counted
from engine.worker.queries.registry import query
from models.paths import expanded
from storage.case import Case
from storage.export.assemble import file_names

MOST_NODES = 2000
MOST_LINKS = 6000
MOST_ROWS = 300
_MOST_TEXT = 300


@dataclass(frozen=True, slots=True)
class NodeName:
    """Which node is meant; `column` only counts for things, which are kept apart by it."""

    kind: NodeKind
    label: str
    column: str = ""

    def is_name_of(self, node: Node) -> bool:
        """Say whether it is this one."""
        is_same = (node.kind, node.label) == (self.kind, self.label)
        return is_same and (node.kind != "thing" or self.column in node.columns)


@query(contract.SHOW, lane="slow")
def show(case: Case, *, run: str, choice: NetworkChoice, only: Selection = ALL_ROWS) -> ShownNetwork:
    """Link what stands in the same row, and give each node a place; that takes seconds for thousands."""
    network = _network(result_view(case, run), choice, only)
    part = network.largest(MOST_NODES, MOST_LINKS)
    files = file_names(case.documents)
    places = lay_out(len(part.nodes), [(link.first, link.second, float(len(link.rows))) for link in part.links])
    return ShownNetwork(
        nodes=tuple(
            ShownNode(
                kind=node.kind,
                label=node.label,
                name=files[node.label] if node.kind == "document" else node.label[:_MOST_TEXT],
                column=node.columns[0] if node.columns else "",
                rows=len(node.rows),
                x=x,
                y=y,
            )
            for node, (x, y) in zip(part.nodes, places, strict=True)
        ),
        links=tuple((link.first, link.second, len(link.rows)) for link in part.links),
        other_nodes=len(network.nodes) - len(part.nodes),
        other_links=len(network.links) - len(part.links),
    )


@query(contract.ROWS, lane="slow")
def rows(
    case: Case, *, run: str, choice: NetworkChoice, ends: tuple[NodeName, ...], only: Selection = ALL_ROWS
) -> LinkedRows:
    """List the rows that name a node, or both of two."""
    view = result_view(case, run)
    if not ends:
        raise UsageError("no node is named", advice="Name one node, or the two ends of a link.")
    network = _network(view, choice, only)
    nodes = [_node(network, end) for end in ends]
    in_all = set(nodes[0].rows).intersection(*(node.rows for node in nodes))
    row_ids = [row for row in nodes[0].rows if row in in_all]
    numbers = {row.id: row.number for row in view.rows}
    files = file_names(case.documents)
    linked = tuple(_linked_row(view, numbers[row], choice, nodes, files) for row in row_ids[:MOST_ROWS])
    return LinkedRows(linked, len(row_ids) - len(linked))


@query(contract.SAVE, lane="slow")
def save(case: Case, *, run: str, choice: NetworkChoice, file: str, only: Selection = ALL_ROWS) -> tuple[int, int]:
    """Write the whole network as .graphml or .ftm.json; return how many nodes and links."""
    target = expanded(file)
    if not network_format(target):
        raise UsageError(f"{target.name} names no format of a network", advice=f"End it with {GRAPHML} or {FTM}.")
    network = _network(result_view(case, run), choice, only)
    write_network(network, file_names(case.documents), target)
    return len(network.nodes), len(network.links)


def _network(view: ResultView, choice: NetworkChoice, only: Selection) -> Network:
    choice.check(view.columns)
    chosen = (NetworkRow(view.rows[n].id, view.values[n], view.rows[n].documents) for n in view.select(counted(only)))
    return make_network(chosen, choice)


def _node(network: Network, name: NodeName) -> Node:
    match = next((node for node in network.nodes if name.is_name_of(node)), None)
    if match is None:
        raise UsageError(f"the network has no {name.label!r} any more", advice="Show it anew.")
    return match


def _linked_row(
    view: ResultView, number: int, choice: NetworkChoice, nodes: list[Node], files: dict[str, str]
) -> LinkedRow:
    row, values = view.rows[number], view.values[number]
    columns = [column for column, _ in choice.kinds]
    labels = [node.label for node in nodes if node.kind != "document"]
    places = [place for column in columns for place in _places(values.get(column), column, labels)]
    column, inside = places[0] if places else (columns[0], "")
    text = "; ".join(filter(None, (shown(values.get(each)) for each in columns)))
    documents = [node.label for node in nodes if node.kind == "document"] or list(row.documents)
    return LinkedRow(row.id, number + 1, text[:_MOST_TEXT], files[documents[0]] if documents else "", column, inside)


def _places(value: Any, column: str, labels: list[str]) -> Iterator[tuple[str, str]]:
    """Yield where one of the labels stands in a cell, or without labels that the cell has something."""
    if isinstance(value, list | tuple):
        for number, item in enumerate(value):
            if any(not labels or name in labels for name in items(item)):
                yield column, f"{column}[{number}]"
    elif any(not labels or name in labels for name in items(value)):
        yield column, ""
