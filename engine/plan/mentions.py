"""Find out, without running it, whether an operator could look at a field. When unsure, the answer is yes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any

from engine.plan.node import Node

ALWAYS_READ = frozenset({"filename"})
"""Fields that every operator may look at: errors name the file of a row."""


def may_read(node: Node, field: str) -> bool:
    """Say whether an operator may read `field` of a row: its traits, prompts, conditions, code or keys name it.

    An expression can reach a field only by writing its name, or in a way that `Traits.reads_unknown` tells of. A chunk
    that gather rendered is looked up together with the chunk itself, so naming `x_rendered` names `x`.
    """
    traits = node.traits()
    if traits.reads_unknown or node.retriever or field in ALWAYS_READ:
        return True
    if {field, f"{field}_rendered"} & (traits.reads | traits.reads_right):
        return True
    word = re.compile(rf"(?<!\w){re.escape(field)}(?:_rendered)?(?!\w)")
    return any("\\" in text or word.search(text) for text in _texts(node))


@lru_cache(maxsize=1024)
def _texts(node: Node) -> tuple[str, ...]:
    """Return every text inside a node, its own name apart; a backslash in one may spell a name in another way."""
    return tuple(text for f in fields(node) if f.name != "name" for text in _inside(getattr(node, f.name)))


def _inside(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case Mapping():
            for key, item in value.items():
                yield from _inside(key)
                yield from _inside(item)
        case tuple() | list() | set() | frozenset():
            for item in value:
                yield from _inside(item)
        case _ if is_dataclass(value) and not isinstance(value, type):
            for f in fields(value):
                yield from _inside(getattr(value, f.name))
