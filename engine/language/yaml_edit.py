"""Change one value of a YAML text and leave every other character as a person wrote it, comments and order too.

Each function gives the new text, and has read it again: it says what was asked for, or PipelineError is raised. What
cannot be changed by itself (a value that others share by an alias) is for the person to change in the text.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from engine.errors import PipelineError
from engine.language.position import Path
from engine.language.yaml_emit import flow_text, item_text, pair_text, scalar_text, slot_text
from engine.language.yaml_reader import compose, read_yaml

Collection = MappingNode | SequenceNode


def set_value(text: str, path: Path, value: Any) -> str:
    """Write a value at `path`; mappings on the way that are not there are made."""

    def change(root: Any) -> Any:
        return _put(root, path, value)

    return _verified(text, change, lambda plain: _set(text, path, value, plain=plain))


def remove(text: str, path: Path, *, floor: int = 0) -> str:
    """Take out the value at `path`, and the mappings deeper than `floor` that hold nothing without it."""
    root, _ = read_yaml(text)
    while len(path) - 1 > floor and isinstance(at(root, path[:-1]), dict) and len(at(root, path[:-1])) == 1:
        path = path[:-1]

    def change(root: Any) -> Any:
        del at(root, path[:-1])[path[-1]]
        return root

    return _verified(text, change, lambda plain: _remove(text, path, plain=plain))


def insert(text: str, path: Path, index: int, value: Any) -> str:
    """Put an item into the list at `path`, before the one that has the index now."""

    def change(root: Any) -> Any:
        at(root, path).insert(index, value)
        return root

    return _verified(text, change, lambda plain: _insert(text, path, index, value, plain=plain))


def move(text: str, path: Path, old: int, new: int) -> str:
    """Give an item of a list, or a pair of a mapping, another place among them."""

    def change(root: Any) -> Any:
        held = at(root, path)
        order = _moved(len(held), old, new)
        if isinstance(held, list):
            held[:] = [held[n] for n in order]
        else:
            pairs = list(held.items())
            held.clear()
            held.update(pairs[n] for n in order)
        return root

    return _verified(text, change, lambda plain: _move(text, path, old, new, plain=plain))


def rename_key(text: str, path: Path, name: str) -> str:
    """Give the key at the end of `path` another name; its place and its value stay."""

    def change(root: Any) -> Any:
        held = at(root, path[:-1])
        if name in held and name != path[-1]:
            raise PipelineError(f"there is a key {name!r} already", advice="Choose another name.")
        pairs = [(name if key == path[-1] else key, item) for key, item in held.items()]
        held.clear()
        held.update(pairs)
        return root

    def written(plain: bool) -> str:
        place = _needed(text, path)
        parent = place.parents[-1]
        key = parent.value[place.indexes[-1]][0]
        new = scalar_text(name, in_flow=bool(parent.flow_style))
        return text[: key.start_mark.index] + new + text[key.end_mark.index :]

    return _verified(text, change, written)


def at(root: Any, path: Path) -> Any:
    """Return the plain value at a path; raises PipelineError where nothing is."""
    for key in path:
        try:
            root = root[key]
        except (KeyError, IndexError, TypeError) as error:
            raise PipelineError(f"nothing is at {_shown(path)}", advice="Look at the YAML.") from error
    return root


def _verified(text: str, change: Callable[[Any], Any], write: Callable[[bool], str]) -> str:
    """Write the change, plainly where that is needed, and read it again."""
    wanted = change(copy.deepcopy(read_yaml(text)[0]))
    for plain in (False, True):
        new = write(plain)
        try:
            result = read_yaml(new)[0]
        except PipelineError:
            continue  # written the other way it may be read; if not, the person is told below
        if repr(result) == repr(wanted):  # unlike ==, this tells order, and 1 from 1.0 and true
            return new
    raise PipelineError("this value cannot be changed by itself", advice="Change it in the YAML.")


def _put(root: Any, path: Path, value: Any) -> Any:
    if not path:
        return value
    key, *rest = path
    if isinstance(root, list) and isinstance(key, int) and key < len(root):
        root[key] = _put(root[key], tuple(rest), value)
        return root
    held = root if isinstance(root, dict) else {}
    held[key] = _put(held.get(key), tuple(rest), value)
    return held


def _set(text: str, path: Path, value: Any, *, plain: bool) -> str:
    place = _find(text, path)
    if place is None or not place.parents and len(place.path) < len(path) and not isinstance(place.node, MappingNode):
        return _document(value, path, plain=plain)
    missing = path[len(place.path) :]
    if not missing:
        return _replace(text, place, value, plain=plain)
    nested = value
    for key in reversed(missing[1:]):
        nested = {key: nested}
    if isinstance(place.node, MappingNode) and place.node.value:
        return _add(text, place.node, len(place.node.value), nested, key=missing[0], plain=plain)
    return _replace(text, place, {missing[0]: nested}, plain=plain)


def _document(value: Any, path: Path, *, plain: bool) -> str:
    for key in reversed(path):
        value = {key: value}
    return slot_text(value, -2, blocks=True, plain=plain).lstrip("\n ") + "\n"


def _replace(text: str, place: _Found, value: Any, *, plain: bool) -> str:
    """Write another value in the place of a node."""
    if not place.parents:
        return _document(value, (), plain=plain)
    entry = _entries(text, place.parents[-1])[place.indexes[-1]]
    if place.in_flow:
        start = int(place.node.start_mark.index)
        space = "" if text[start - 1 : start] in (" ", "[", "\n") or start == entry.start else " "
        return text[:start] + space + flow_text(value) + text[_content_end(text, place.node) :]
    was_block = isinstance(place.node, MappingNode | SequenceNode) and not place.node.flow_style
    is_long = (
        isinstance(value, list | dict) and not isinstance(place.node, SequenceNode) and len(flow_text(value)) > 100
    )
    new = slot_text(value, entry.indent, blocks=was_block or is_long, plain=plain)
    head = text[entry.slot :].split("\n", 1)[0].strip()
    if was_block and head.startswith("#"):
        new = f" {head}{new}" if new.startswith("\n") else f"{new}  {head}"
    return text[: entry.slot] + new + text[entry.slot_end :]


def _add(
    text: str, node: Collection, index: int, value: Any, *, key: str | int | None = None, plain: bool = False
) -> str:
    """Put a pair (`key`) or an item into a collection that is not empty."""
    held = _entries(text, node)
    if node.flow_style:
        new = flow_text(value) if key is None else f"{scalar_text(key, in_flow=True)}: {flow_text(value)}"
        if index < len(held):
            return text[: held[index].start] + f"{new}, " + text[held[index].start :]
        return text[: held[-1].end] + f", {new}" + text[held[-1].end :]
    indent = held[0].indent
    new = item_text(value, indent, plain=plain) if key is None else pair_text(key, value, indent, plain=plain)
    gap = "\n\n" if len(held) > 1 and "\n\n" in text[held[0].end : held[1].start] else "\n"
    if index < len(held) and held[index].is_whole:
        start = held[index].start
        return text[:start] + " " * indent + new + gap + text[start:]
    if index < len(held):
        return _anew(text, node, [*held[:index], f"{' ' * indent}{new}", *held[index:]])
    end = held[index - 1].end
    return text[:end] + gap + " " * indent + new + text[end:]


def _insert(text: str, path: Path, index: int, value: Any, *, plain: bool) -> str:
    place = _needed(text, path)
    if isinstance(place.node, SequenceNode) and place.node.value:
        return _add(text, place.node, index, value, plain=plain)
    return _replace(text, place, [value], plain=plain)


def _remove(text: str, path: Path, *, plain: bool) -> str:
    place = _needed(text, path)
    node, index = place.parents[-1], place.indexes[-1]
    held = _entries(text, node)
    if len(held) == 1:
        empty: Any = {} if isinstance(node, MappingNode) else []
        return _set(text, path[:-1], empty, plain=plain)
    if index:
        return text[: held[index - 1].end] + text[held[index].end :]
    if node.flow_style or held[0].is_whole:
        return text[: held[0].start] + text[held[1].start :]
    return _anew(text, node, held[1:])


def _move(text: str, path: Path, old: int, new: int, *, plain: bool) -> str:
    place = _needed(text, path)
    node = place.node
    if not isinstance(node, MappingNode | SequenceNode):
        raise PipelineError(f"nothing is listed at {_shown(path)}", advice="Look at the YAML.")
    held = _entries(text, node)
    order = _moved(len(held), old, new)
    if not node.flow_style and not held[0].is_whole:
        return _anew(text, node, [held[n] for n in order])
    pieces = [text[held[n].start : held[n].end] for n in order]
    gaps = [text[a.end : b.start] for a, b in zip(held, held[1:], strict=False)]
    body = "".join(piece + gap for piece, gap in zip(pieces, [*gaps, ""], strict=True))
    return text[: held[0].start] + body + text[held[-1].end :]


def _anew(text: str, node: Collection, wanted: Sequence[_Entry | str]) -> str:
    """Write the entries of a block that begins behind a dash in another order: the first one has no line of its own."""
    held = _entries(text, node)
    pieces = [entry if isinstance(entry, str) else text[entry.start : entry.end] for entry in wanted]
    lines = [
        " " * held[0].indent + piece if entry == held[0] else piece for entry, piece in zip(wanted, pieces, strict=True)
    ]
    return text[: held[0].start] + "\n".join(lines).lstrip(" ") + text[held[-1].end :]


def _moved(count: int, old: int, new: int) -> list[int]:
    if not (0 <= old < count and 0 <= new < count):
        raise PipelineError(f"there are {count} entries, so none moves from {old} to {new}")
    numbers = list(range(count))
    numbers.insert(new, numbers.pop(old))
    return numbers


def _needed(text: str, path: Path) -> _Found:
    place = _find(text, path)
    if place is None or place.path != path:
        raise PipelineError(f"nothing is at {_shown(path)}", advice="Look at the YAML.")
    return place


def _shown(path: Path) -> str:
    return ".".join(str(key) for key in path) or "the top"


# Where values begin and end, character by character, and which lines belong to each entry.


@dataclass(frozen=True, slots=True)
class _Entry:
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
class _Found:
    """The deepest value on a path that is written: its node, the path to it, and the collections it lies in.

    `indexes` say which entries of those collections lead to it, outermost first; `in_flow`: it stands within
    brackets or braces.
    """

    node: Node
    path: Path
    parents: tuple[MappingNode | SequenceNode, ...]
    indexes: tuple[int, ...]
    in_flow: bool


def _find(text: str, path: Path) -> _Found | None:
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
    return _Found(node, tuple(done), tuple(parents), tuple(indexes), in_flow)


def _index(node: Node, key: str | int) -> int | None:
    if isinstance(node, MappingNode):
        return next((n for n, (k, _) in enumerate(node.value) if str(k.value) == str(key)), None)
    if isinstance(node, SequenceNode) and isinstance(key, int) and 0 <= key < len(node.value):
        return key
    return None


def _entries(text: str, node: MappingNode | SequenceNode) -> Sequence[_Entry]:
    """Return the entries of a collection, in order."""
    if node.flow_style:
        return [_flow_entry(text, child) for child in node.value]
    spans: list[_Entry] = []
    for child in node.value:
        floor = spans[-1].end + 1 if spans else 0
        spans.append(_block_entry(text, node, child, floor))
    return spans


def _content_end(text: str, node: Node) -> int:
    """Return where the characters of a value end; comments and blank lines behind it are not its own."""
    if isinstance(node, ScalarNode):
        return _block_scalar_end(text, node) if node.style in ("|", ">") else int(node.end_mark.index)
    if not isinstance(node, MappingNode | SequenceNode) or node.flow_style or not node.value:
        return int(node.end_mark.index)
    last = node.value[-1]
    return _content_end(text, last[1] if isinstance(node, MappingNode) else last)


def _line_start(text: str, index: int) -> int:
    """Return where the line of a character begins."""
    return text.rfind("\n", 0, index) + 1


def _line_end(text: str, index: int) -> int:
    """Return where the line of a character ends, before its line end."""
    end = text.find("\n", index)
    return len(text) if end < 0 else end


def _flow_entry(text: str, child: Node | tuple[Node, Node]) -> _Entry:
    key, value = child if isinstance(child, tuple) else (child, child)
    start, end = int(key.start_mark.index), _content_end(text, value)
    colon = text.find(":", int(key.end_mark.index), end)
    return _Entry(start, end, start if key is value or colon < 0 else colon + 1, end, 0, False)


def _block_entry(text: str, node: MappingNode | SequenceNode, child: Node | tuple[Node, Node], floor: int) -> _Entry:
    if isinstance(child, tuple):
        key, value = child
        first, column = int(key.start_mark.index), int(key.start_mark.column)
        slot = text.index(":", int(key.end_mark.index)) + 1
    else:
        value, column = child, int(node.start_mark.column)
        first = _dash(text, int(child.start_mark.index), column, floor)
        slot = first + 1
    slot_end = max(_content_end(text, value), slot)
    begin = _line_start(text, first)
    is_whole = not text[begin:first].strip()
    start = _with_comments(text, begin, floor) if is_whole else first
    return _Entry(start, _line_end(text, slot_end), slot, slot_end, column, is_whole)


def _dash(text: str, index: int, column: int, floor: int) -> int:
    """Find the dash of a list item that begins at `index`: in the list's column, on its line or one before it."""
    begin = _line_start(text, index)
    while begin >= floor and not (begin + column <= index and text[begin + column : begin + column + 1] == "-"):
        if begin == 0:
            break
        begin = _line_start(text, begin - 1)
    return begin + column


def _with_comments(text: str, begin: int, floor: int) -> int:
    """Go up over the comment lines right above a line."""
    while begin > floor:
        above = _line_start(text, begin - 1)
        if above < floor or not text[above:begin].lstrip().startswith("#"):
            break
        begin = above
    return begin


def _block_scalar_end(text: str, node: ScalarNode) -> int:
    start = int(node.start_mark.index)
    head = _line_end(text, start)
    end, at, indent = head, head + 1, None
    while at < len(text):
        stop = _line_end(text, at)
        line = text[at:stop]
        if line.strip():
            depth = len(line) - len(line.lstrip(" "))
            indent = depth if indent is None else indent
            if depth < indent or at >= int(node.end_mark.index):
                break
            end = stop
        at = stop + 1
    return end
