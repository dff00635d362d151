"""The `peripheral_chunks` setting of gather: which neighbours of a chunk are shown, and by which field."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.language.position import did_you_mean


@dataclass(frozen=True, slots=True)
class Ends:
    """The first or last `count` chunks of one side, shown by `content_key` (None: the operator's own)."""

    count: int = 1
    content_key: str | None = None


@dataclass(frozen=True, slots=True)
class Middle:
    """All chunks of one side between its ends, shown by `content_key`."""

    content_key: str | None = None


Part = Ends | Middle


@dataclass(frozen=True, slots=True)
class Side:
    """What to show of the chunks on one side; those of a part that is None are skipped, with a note."""

    head: Ends | None = None
    middle: Middle | None = None
    tail: Ends | None = None

    @property
    def parts(self) -> tuple[Part, ...]:
        """Return the parts that are shown."""
        return tuple(p for p in (self.head, self.middle, self.tail) if p)

    def assign(self, count: int, *, nearest_last: bool) -> list[Part | None]:
        """Say which part shows each of `count` chunks in order.

        The gather page works outwards from the main chunk, so where head and tail overlap, the nearer one wins.
        """
        parts: list[Part | None] = [self.middle] * count
        head = [(i, self.head) for i in range(min(self.head.count, count))] if self.head else []
        tail = [(count - 1 - i, self.tail) for i in range(min(self.tail.count, count))] if self.tail else []
        for position, part in (head + tail) if nearest_last else (tail + head):
            parts[position] = part
        return parts


@dataclass(frozen=True, slots=True)
class PeripheralChunks:
    """What to show before and after the main chunk; a side that is None is not mentioned at all."""

    previous: Side | None = None
    next: Side | None = None

    @classmethod
    def parse(cls, value: Any) -> PeripheralChunks:
        """Read the YAML mapping; raises ValueError saying what is wrong where, and what would be valid."""
        sides = _mapping(value, "peripheral_chunks", ("previous", "next"))
        return cls(**{name: _side(side, f"peripheral_chunks.{name}") for name, side in sides.items()})

    @property
    def content_keys(self) -> frozenset[str | None]:
        """Return the fields that show neighbours; None is the operator's own content key."""
        return frozenset(p.content_key for side in (self.previous, self.next) if side for p in side.parts)


def _side(value: Any, at: str) -> Side:
    parts = _mapping(value, at, ("head", "middle", "tail"))
    return Side(
        head=_ends(parts["head"], f"{at}.head") if "head" in parts else None,
        middle=_middle(parts["middle"], f"{at}.middle") if "middle" in parts else None,
        tail=_ends(parts["tail"], f"{at}.tail") if "tail" in parts else None,
    )


def _middle(value: Any, at: str) -> Middle:
    return Middle(_content_key(_mapping(value, at, ("content_key",)), at))


def _ends(value: Any, at: str) -> Ends:
    part = _mapping(value, at, ("count", "content_key"))
    count = part.get("count", 1)
    if isinstance(count, bool) or not isinstance(count, int | float) or not 0 <= count < math.inf:
        raise ValueError(f"{at}.count must be a number of chunks, 0 or more, not {count!r}")
    return Ends(int(count), _content_key(part, at))  # rounded down, as peers do


def _content_key(part: Mapping[str, Any], at: str) -> str | None:
    key = part.get("content_key")
    if key is None or isinstance(key, str):
        return key
    raise ValueError(f"{at}.content_key must be the name of a field, not {key!r}")


def _mapping(value: Any, at: str, valid: tuple[str, ...]) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ValueError(f"{at} must be a mapping with {', '.join(valid)}, not {value!r}")
    for key in value:
        if key not in valid:
            raise ValueError(f"{at} has no {key!r}. {did_you_mean(str(key), valid)}")
    return value
