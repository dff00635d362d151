"""What each worker has read, so that requests which begin alike go to the worker that need not read it again."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from models.protocol import Segment


@dataclass(frozen=True, slots=True)
class Beginning:
    """How a prompt begins: `key` stands for its first segments, which have so many characters together."""

    key: bytes
    characters: int


def beginnings(segments: Sequence[Segment]) -> tuple[Beginning, ...]:
    """List the beginnings of a prompt that other requests may have too, the shortest first.

    They end at each segment up to the last shared one; where none is marked as shared, at the first.
    """
    last = max((i for i, segment in enumerate(segments) if segment.shared), default=0)
    found, characters, so_far = [], 0, hashlib.sha256()
    for segment in segments[: last + 1]:
        text = segment.text.encode("utf-8", "surrogatepass")
        so_far.update(f"{segment.role} {len(text)}\n".encode() + text)
        characters += len(segment.text)
        found.append(Beginning(so_far.digest(), characters))
    return tuple(found)


class ReadPrefixes:
    """What one worker has read and probably still holds: the latest, up to a number of characters."""

    def __init__(self, most_characters: int) -> None:
        self._most = most_characters
        self._own: OrderedDict[bytes, int] = OrderedDict()
        self._characters = 0

    def match(self, steps: Sequence[Beginning]) -> int:
        """Return how many characters of the prompt need not be read again."""
        matched = 0
        for step in steps:
            if step.key not in self._own:
                break
            matched = step.characters
        return matched

    def add(self, steps: Sequence[Beginning]) -> None:
        """Remember what a prompt begins with. What is added or used last is forgotten last, and ends before starts."""
        lengths = zip(steps, (0, *(step.characters for step in steps)), strict=False)
        for step, before in reversed(list(lengths)):
            if step.key not in self._own:
                self._own[step.key] = step.characters - before
                self._characters += step.characters - before
            self._own.move_to_end(step.key)
        while self._characters > self._most and self._own:
            _, characters = self._own.popitem(last=False)
            self._characters -= characters

    def clear(self) -> None:
        """Forget all: the worker is gone."""
        self._own.clear()
        self._characters = 0
