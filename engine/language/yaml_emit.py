"""Write single values as YAML, to be put into a text that a person wrote."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

WIDTH = 110
"""Characters of a line that a collection in one line ([a, b], {a: b}) may fill."""

_PLAIN = re.compile(r"[A-Za-z_](?:[\w./?() -]*[\w./?()])?")
_PLAIN_IN_BLOCK = re.compile(r"[A-Za-z_](?:[\w./?()\[\],'\"<>=+*|{} -]*[\w./?()\]])?")
_RESERVED = frozenset({"true", "false", "null", "yes", "no", "on", "off", "nan", "inf"})
_ODD = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]")
_NO_BLOCK = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]")


def scalar_text(value: Any, *, in_flow: bool = False) -> str:
    """Write a scalar in one line: bare where that is safe, else as JSON writes it, which has no infinity."""
    if isinstance(value, float) and not math.isfinite(value):
        return ".nan" if math.isnan(value) else ".inf" if value > 0 else "-.inf"
    if not isinstance(value, str):
        return json.dumps(value)
    pattern = _PLAIN if in_flow else _PLAIN_IN_BLOCK
    if pattern.fullmatch(value) and value.casefold() not in _RESERVED:
        return value
    return _ODD.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value, ensure_ascii=False))


def flow_text(value: Any) -> str:
    """Write any value in one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{scalar_text(k, in_flow=True)}: {flow_text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(flow_text(item) for item in value) + "]"
    return scalar_text(value, in_flow=True)


def slot_text(value: Any, indent: int, *, blocks: bool, plain: bool = False) -> str:
    """Write a value as it stands behind `key:` or `-`, with the space or line end before it.

    `indent`: the column of the key or dash. `blocks`: collections that are not empty get a line an entry. `plain`: text
    of several lines is quoted too, for what a `|` block cannot hold.
    """
    if isinstance(value, str):
        block = None if plain else _literal(value, indent + 2)
        return " " + (block or scalar_text(value))
    if not isinstance(value, Mapping | Sequence) or not value:
        return " " + flow_text(value)
    if not blocks and not _has_lines(value):
        return " " + _wrapped(value, indent + 2)
    pairs = value.items() if isinstance(value, Mapping) else None
    lines = (
        [pair_text(key, item, indent + 2, plain=plain) for key, item in pairs]
        if pairs is not None
        else [item_text(item, indent + 2, plain=plain) for item in value]
    )
    return "\n" + "\n".join(" " * (indent + 2) + line for line in lines)


def pair_text(key: Any, value: Any, indent: int, *, plain: bool = False) -> str:
    """Write `key: value` for a mapping at a column; without the spaces before it."""
    return f"{scalar_text(key)}:{slot_text(value, indent, blocks=_wants_block(value, indent), plain=plain)}"


def item_text(value: Any, indent: int, *, plain: bool = False) -> str:
    """Write `- value` for a list at a column; a mapping begins on the line of the dash."""
    if isinstance(value, Mapping) and value and _wants_block(value, indent):
        lines = [pair_text(key, item, indent + 2, plain=plain) for key, item in value.items()]
        return "- " + f"\n{' ' * (indent + 2)}".join(lines)
    return f"-{slot_text(value, indent, blocks=_wants_block(value, indent), plain=plain)}"


def _wants_block(value: Any, indent: int) -> bool:
    if not isinstance(value, Mapping | list | tuple):
        return False
    return (
        _has_lines(value)
        or len(flow_text(value)) + indent > WIDTH
        or (isinstance(value, Mapping) and {"name", "type"} <= value.keys())
    )


def _has_lines(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(_has_lines(item) for item in value.values())
    if isinstance(value, list | tuple):
        return any(_has_lines(item) for item in value)
    return isinstance(value, str) and "\n" in value


def _wrapped(value: Any, indent: int) -> str:
    """Write a collection in one line, a list in several where it is longer than WIDTH."""
    whole = flow_text(value)
    if isinstance(value, Mapping) or len(whole) + indent <= WIDTH:
        return whole
    lines, line = [], "["
    for index, item in enumerate(value):
        piece = flow_text(item) + ("]" if index == len(value) - 1 else ",")
        if len(line) + len(piece) + indent > WIDTH and line != "[":
            lines.append(line.rstrip())
            line = ""
        line += piece + " "
    return f"\n{' ' * indent}".join([*lines, line.rstrip()])


def _literal(text: str, indent: int) -> str | None:
    """Write text of several lines as a `|` block; None where that would change it."""
    body = text.removesuffix("\n")
    first = next((line for line in body.split("\n") if line.strip()), "")
    if "\n" not in text or not first or first[0] in " \t" or body.endswith("\n") or _NO_BLOCK.search(text):
        return None
    head = "|" if text.endswith("\n") else "|-"
    return "\n".join([head, *(f"{' ' * indent}{line}" if line else "" for line in body.split("\n"))])
