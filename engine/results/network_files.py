"""A network as a file: GraphML for Gephi and other programs, FollowTheMoney for Aleph."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final
from xml.sax.saxutils import escape, quoteattr

from engine.results.network import Network, Node
from storage.codec import dump_json
from storage.export.atomic import replacing

GRAPHML: Final = ".graphml"
FTM: Final = ".ftm.json"

_SCHEMAS: Final = MappingProxyType(
    {"person": "Person", "organization": "Organization", "thing": "Asset", "document": "Document"}
)
"""The schema of FollowTheMoney for each kind of node. It has none for just any thing."""
_KEYS: Final = (
    ("label", "node", "string"),
    ("kind", "node", "string"),
    ("columns", "node", "string"),
    ("rows", "node", "int"),
    ("weight", "edge", "int"),
    ("row_ids", "edge", "string"),
)
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def network_format(file: Path) -> str:
    """Return GRAPHML or FTM where a file's name ends so, else an empty text."""
    name = file.name.lower()
    return next((suffix for suffix in (GRAPHML, FTM) if name.endswith(suffix)), "")


def write_network(network: Network, files: Mapping[str, str], target: Path) -> None:
    """Write a network as its file's name says; `files` names documents by their ids.

    The file appears whole or not at all. Raises ExportError or DiskFull.
    """
    lines = _LINES[network_format(target)](network, files)
    with replacing(target) as path, path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)


def entity_id(node: Node) -> str:
    """Return the id of a node, the same in every export of it: a digest of what it is."""
    column = node.columns[0] if node.kind == "thing" else ""
    return _digest(node.kind, column, node.label)


def _graphml(network: Network, files: Mapping[str, str]) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    for name, owner, kind in _KEYS:
        yield f'  <key id="{name}" for="{owner}" attr.name="{name}" attr.type="{kind}"/>'
    yield '  <graph edgedefault="undirected">'
    for node in network.nodes:
        yield f"    <node id={quoteattr(entity_id(node))}>"
        yield from _data(
            label=files[node.label] if node.kind == "document" else node.label,
            kind=node.kind,
            columns="; ".join(node.columns),
            rows=len(node.rows),
        )
        yield "    </node>"
    for link in network.links:
        ends = [quoteattr(entity_id(network.nodes[place])) for place in (link.first, link.second)]
        yield f"    <edge source={ends[0]} target={ends[1]}>"
        yield from _data(weight=len(link.rows), row_ids=" ".join(link.rows))
        yield "    </edge>"
    yield "  </graph>"
    yield "</graphml>"


def _data(**values: str | int) -> Iterator[str]:
    for name, value in values.items():
        yield f'      <data key="{name}">{escape(_NOT_XML.sub("�", str(value)))}</data>'


def _ftm(network: Network, files: Mapping[str, str]) -> Iterator[str]:
    """Yield an entity a line: each node, then an UnknownLink or a Documentation for each link."""
    for node in network.nodes:
        if node.kind == "document":
            name = files[node.label]
            yield _entity(entity_id(node), "Document", name=name, fileName=name)
        else:
            yield _entity(entity_id(node), _SCHEMAS[node.kind], name=node.label)
    for link in network.links:
        ends = [network.nodes[link.first], network.nodes[link.second]]
        ids = sorted(entity_id(node) for node in ends)
        documents = [node for node in ends if node.kind == "document"]
        values = [node for node in ends if node.kind != "document"]
        if documents:
            yield _entity(
                _digest("Documentation", *ids),
                "Documentation",
                document=entity_id(documents[0]),
                entity=entity_id(values[0]),
                recordId=link.rows,
            )
        else:
            yield _entity(
                _digest("UnknownLink", *ids), "UnknownLink", subject=ids[0], object=ids[1], recordId=link.rows
            )


def _entity(id: str, schema: str, **properties: str | tuple[str, ...]) -> str:
    values: dict[str, Any] = {
        name: [value] if isinstance(value, str) else list(value) for name, value in properties.items()
    }
    return dump_json({"id": id, "schema": schema, "properties": values}, spaced=True)


def _digest(*parts: str) -> str:
    text = "\0".join(("redwell", *parts)).encode("utf-8", "surrogatepass")
    return hashlib.sha1(text, usedforsecurity=False).hexdigest()


_LINES: Final[Mapping[str, Callable[[Network, Mapping[str, str]], Iterator[str]]]] = MappingProxyType(
    {GRAPHML: _graphml, FTM: _ftm}
)
