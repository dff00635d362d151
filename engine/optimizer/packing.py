"""Put what an agent is to see into one prompt, the most important first (paper section 4.2.3)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from engine.operators.asking.lengths import NEXT_TRY, cut
from models.protocol import canonical_json

MARK_TOKENS = 12
"""Room for the words that say how much was left out of a text."""


@dataclass(frozen=True, slots=True)
class Part:
    """One attribute as a prompt shows it. Where a prompt does not fit, those that are `referenced` are kept first.

    `left_out` are the characters that its text does not show.
    """

    name: str
    text: str
    referenced: bool
    left_out: int = 0


def shown(value: Any) -> str:
    """Write a value as a prompt shows it: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else canonical_json(value)


def input_parts(values: Mapping[str, Any], referenced: Collection[str]) -> list[Part]:
    """Make parts of a row's attributes: those that a prompt names come before the others."""
    return [Part(name, shown(value), name in referenced) for name, value in values.items()]


def pack(parts: Sequence[Part], room_tokens: int, count: Callable[[str], int]) -> tuple[Part, ...]:
    """Cut texts in the middle until all parts fit into the room; same parts, same order.

    Attributes that a prompt names are given room first, then the others, which may have what those leave. Inside a rank
    the longest are cut, all to the same number of tokens, and each says in the text how many characters are skipped;
    where there is no room at all, only that note stays.
    """
    packed = {number: part for number, part in enumerate(parts)}
    left = room_tokens
    for referenced in (True, False):
        rank = {number: part for number, part in packed.items() if part.referenced is referenced}
        packed |= _fitted(rank, max(0, left), count)
        left -= sum(_tokens(packed[number], count) for number in rank)
    return tuple(packed[number] for number in range(len(parts)))


def _fitted(rank: Mapping[int, Part], room: int, count: Callable[[str], int]) -> dict[int, Part]:
    tokens = {number: _tokens(part, count) for number, part in rank.items()}
    if sum(tokens.values()) <= room:
        return dict(rank)
    level = _level(sorted(tokens.values()), room)
    return {
        number: part if tokens[number] <= level else _shortened(part, tokens[number], level, count)
        for number, part in rank.items()
    }


def _level(tokens: Sequence[int], room: int) -> int:
    """Return how many tokens each text may have, so that those which are shorter leave theirs to the longer."""
    left = room
    for taken, size in enumerate(tokens):
        share = left // (len(tokens) - taken)
        if size > share:
            return share
        left -= size
    return room


def _shortened(part: Part, tokens: int, level: int, count: Callable[[str], int]) -> Part:
    keep = int(max(0, level - MARK_TOKENS - count(part.name)) * len(part.text) / tokens)
    while True:
        text = cut(part.text, keep, "middle_out")
        made = replace(part, text=text, left_out=len(part.text) - keep)
        if keep == 0 or _tokens(made, count) <= level:
            return made
        keep = int(keep * NEXT_TRY)


def _tokens(part: Part, count: Callable[[str], int]) -> int:
    return count(part.name) + count(part.text)
