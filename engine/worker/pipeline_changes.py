"""The changes that a card makes to a pipeline text, as the window asks for them.

    {"do": "set", "operator": 1, "key": ["output", "n"], "value": 3}      value null: back to the default
    {"do": "set_yaml", "operator": 1, "key": ["aggregate"], "value": "{n: {count: x}}"}
    {"do": "add", "kind": "map", "after": "find"}   {"do": "rename", "operator": 1, "name": "find"}
    {"do": "duplicate", "operator": 1}   {"do": "remove", "operator": 1}   {"do": "move", "name": "find", "by": -1}
    {"do": "add_field" | "set_field" | "rename_field" | "remove_field" | "move_field", "operator": 1, "key": [...], ...}
    {"do": "set_top", "key": ["default_model"], "value": "..."}

`operator` is the place under operations. Fields are those of the schema at `key`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from engine.errors import PipelineError
from engine.language.pipeline_edit import (
    OPERATIONS,
    add_operator,
    duplicate_operator,
    move_operator,
    remove_operator,
    rename_operator,
    set_key,
)
from engine.language.position import Path, did_you_mean
from engine.language.yaml_edit import at, move, remove, rename_key, set_value
from engine.language.yaml_reader import read_yaml
from engine.plan.plan import numbered
from engine.templates import new_operators

Change = Mapping[str, Any]


def changed(text: str, change: Change) -> str:
    """Return the text after a change; raises PipelineError where it cannot be made."""
    do = str(change.get("do"))
    if do not in _CHANGES:
        raise PipelineError(f"there is no change {do!r}", advice=did_you_mean(do, _CHANGES))
    try:
        return _CHANGES[do](text, change)
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise PipelineError(
            f"the change {do!r} does not fit this pipeline ({error})", advice="Change the YAML."
        ) from error


def _set(text: str, change: Change) -> str:
    return set_key(text, change["operator"], tuple(change["key"]), change["value"])


def _set_yaml(text: str, change: Change) -> str:
    written = str(change["value"]).strip()
    value = read_yaml(written)[0] if written else None
    return set_key(text, change["operator"], tuple(change["key"]), value)


def _set_top(text: str, change: Change) -> str:
    path, value = tuple(change["key"]), change["value"]
    if value is None:
        root, _ = read_yaml(text)
        return remove(text, path) if path[-1] in at(root, path[:-1]) else text
    return set_value(text, path, value)


def _add(text: str, change: Change) -> str:
    kind = change["kind"]
    keys = next((operator.keys for operator in new_operators() if operator.kind == kind), {})
    return add_operator(text, {"name": kind, "type": kind, **keys}, after=change.get("after", ""))


def _schema(change: Change) -> Path:
    return (OPERATIONS, change["operator"], *change["key"])


def _add_field(text: str, change: Change) -> str:
    root, _ = read_yaml(text)
    held: Any = root
    for key in _schema(change):
        held = held[int(key)] if isinstance(held, list) else (held or {}).get(key)
    name = numbered(change["name"], [str(field) for field in held or {}])
    return set_value(text, (*_schema(change), name), change["type"])


def _set_field(text: str, change: Change) -> str:
    """Write a field's type, and its description in the long form, if it has one."""
    path = (*_schema(change), change["name"])
    old = at(read_yaml(text)[0], path)
    described = change.get("description", "")
    if not described:
        return set_value(text, path, change["type"])
    if not isinstance(old, Mapping):
        return set_value(text, path, {"type": change["type"], "description": described})
    for key, value in (("type", change["type"]), ("description", described)):
        if old.get(key) != value:
            text = set_value(text, (*path, key), value)
    return text


_CHANGES: Mapping[str, Callable[[str, Change], str]] = MappingProxyType(
    {
        "set": _set,
        "set_yaml": _set_yaml,
        "set_top": _set_top,
        "add": _add,
        "rename": lambda text, c: rename_operator(text, c["operator"], c["name"]),
        "duplicate": lambda text, c: duplicate_operator(text, c["operator"]),
        "remove": lambda text, c: remove_operator(text, c["operator"]),
        "move": lambda text, c: move_operator(text, c["name"], c["by"]),
        "add_field": _add_field,
        "set_field": _set_field,
        "rename_field": lambda text, c: rename_key(text, (*_schema(c), c["name"]), c["to"]),
        "remove_field": lambda text, c: remove(text, (*_schema(c), c["name"])),
        "move_field": lambda text, c: move(text, _schema(c), c["from"], c["to"]),
    }
)
