"""Where the values of a YAML text begin and end, character by character, and which lines belong to each entry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from engine.language.position import Path
from engine.language.yaml_reader import compose


@dataclass(frozen=True, slots=True)
class Entry:
    """One item of a list or pair of a mapping: its characters `start` up to and excluding `end`.

    In a block these are whole lines with the comment lines right above them, without the last line end. `slot` is
    where what stands behind `key:` or `-` begins (in a flow list, where the item does), `slot_end` where its value
    ends. `is_whole`: nothing else stands on its first line.
    """

    start: int
    end: int
    slot: int
    slot_end: int
    indent: int
    is_whole: bool


@dataclass(frozen=True, slots=True)
class Found:
    """The deepest value on a path that is written: its node, the path to it, and the collections it lies in.

    `entries` are the entries of those collections that lead to it, outermost first; `in_flow`: it stands within
    brackets or braces.
    """

    node: Node
    path: Path
    parents: tuple[MappingNode | SequenceNode, ...]
    indexes: tuple[int, ...]
    in_flow: bool


def find(text: str, path: Path) -> Found | None:
    """Go down `path` as far as it is written; None for an empty text. Raises PipelineError for what is not YAML."""
    node = compose(text)
    if node is None:
        return None
    done: list[str | int] = []
    parents: list[MappingNode | SequenceNode] = []
    indexes: list[int] = []
    in_flow = False
    for key in path:
        index = _index(node, key)
        if index is None or not isinstance(node, MappingNode | SequenceNode):
            break
        in_flow = in_flow or bool(node.flow_style)
        parents.append(node)
        indexes.append(index)
        done.append(key)
        child = node.value[index]
        node = child[1] if isinstance(node, MappingNode) else child
    return Found(node, tuple(done), tuple(parents), tuple(indexes), in_flow)


def _index(node: Node, key: str | int) -> int | None:
    if isinstance(node, MappingNode):
        return next((n for n, (k, _) in enumerate(node.value) if str(k.value) == str(key)), None)
    if isinstance(node, SequenceNode) and isinstance(key, int) and 0 <= key < len(node.value):
        return key
    return None


def entries(text: str, node: MappingNode | SequenceNode) -> Sequence[Entry]:
    """Return the entries of a collection, in order."""
    if node.flow_style:
        return [_flow_entry(text, child) for child in node.value]
    spans: list[Entry] = []
    for child in node.value:
        floor = spans[-1].end + 1 if spans else 0
        spans.append(_block_entry(text, node, child, floor))
    return spans


def content_end(text: str, node: Node) -> int:
    """Return where the characters of a value end; comments and blank lines behind it are not its own."""
    if isinstance(node, ScalarNode):
        return _block_scalar_end(text, node) if node.style in ("|", ">") else int(node.end_mark.index)
    if not isinstance(node, MappingNode | SequenceNode) or node.flow_style or not node.value:
        return int(node.end_mark.index)
    last = node.value[-1]
    return content_end(text, last[1] if isinstance(node, MappingNode) else last)


def line_start(text: str, index: int) -> int:
    """Return where the line of a character begins."""
    return text.rfind("\n", 0, index) + 1


def line_end(text: str, index: int) -> int:
    """Return where the line of a character ends, before its line end."""
    end = text.find("\n", index)
    return len(text) if end < 0 else end


def _flow_entry(text: str, child: Node | tuple[Node, Node]) -> Entry:
    key, value = child if isinstance(child, tuple) else (child, child)
    start, end = int(key.start_mark.index), content_end(text, value)
    colon = text.find(":", int(key.end_mark.index), end)
    return Entry(start, end, start if key is value or colon < 0 else colon + 1, end, 0, False)


def _block_entry(text: str, node: MappingNode | SequenceNode, child: Node | tuple[Node, Node], floor: int) -> Entry:
    if isinstance(child, tuple):
        key, value = child
        first, column = int(key.start_mark.index), int(key.start_mark.column)
        slot = text.index(":", int(key.end_mark.index)) + 1
    else:
        value, column = child, int(node.start_mark.column)
        first = _dash(text, int(child.start_mark.index), column, floor)
        slot = first + 1
    slot_end = max(content_end(text, value), slot)
    begin = line_start(text, first)
    is_whole = not text[begin:first].strip()
    start = _with_comments(text, begin, floor) if is_whole else first
    return Entry(start, line_end(text, slot_end), slot, slot_end, column, is_whole)


def _dash(text: str, index: int, column: int, floor: int) -> int:
    """Find the dash of a list item that begins at `index`: in the list's column, on its line or one before it."""
    begin = line_start(text, index)
    while begin >= floor and not (begin + column <= index and text[begin + column : begin + column + 1] == "-"):
        if begin == 0:
            break
        begin = line_start(text, begin - 1)
    return begin + column


def _with_comments(text: str, begin: int, floor: int) -> int:
    """Go up over the comment lines right above a line."""
    while begin > floor:
        above = line_start(text, begin - 1)
        if above < floor or not text[above:begin].lstrip().startswith("#"):
            break
        begin = above
    return begin


def _block_scalar_end(text: str, node: ScalarNode) -> int:
    start = int(node.start_mark.index)
    head = line_end(text, start)
    end, at, indent = head, head + 1, None
    while at < len(text):
        stop = line_end(text, at)
        line = text[at:stop]
        if line.strip():
            depth = len(line) - len(line.lstrip(" "))
            indent = depth if indent is None else indent
            if depth < indent or at >= int(node.end_mark.index):
                break
            end = stop
        at = stop + 1
    return end
