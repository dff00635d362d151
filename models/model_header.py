"""What a model says of itself, in whatever kind of file it comes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ModelHeader:
    """What a model's files say of it. Counts are 0 where they do not say."""

    name: str
    licence: str
    context_tokens: int
    layers: int
    kv_bytes_per_token: int
    vocabulary_size: int


def printable(value: object) -> str:
    """Keep what may be shown on a terminal: the text comes from the model's maker."""
    return "".join(c for c in str(value or "") if c.isprintable())[:200]
