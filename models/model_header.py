"""A model's own metadata, from any file format, and the memory that it needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from models.hardware import COMPUTE_BASE_BYTES, COMPUTE_BATCH_TOKENS, MemoryEstimate

if TYPE_CHECKING:
    from models.catalog import CatalogEntry

CONTEXT_STEP = 1024
"""Tokens; a context that is chosen by the memory is a multiple of it."""


@dataclass(frozen=True, slots=True)
class ModelHeader:
    """What a model's files say of it. Counts are 0 where they do not say."""

    name: str
    licence: str
    context_tokens: int
    kv_bytes_per_token: int
    vocabulary_size: int


@dataclass(frozen=True, slots=True)
class Needs:
    """What a model's memory depends on. `kv_bytes_per_token` is 0 where the file does not say."""

    weights_bytes: int
    kv_bytes_per_token: int
    vocabulary_size: int
    context_tokens: int

    @classmethod
    def of(cls, model: CatalogEntry | ModelHeader, weights_bytes: int) -> Needs:
        """Build it from a catalogue entry or a file header, and the size of the weights in bytes."""
        return cls(weights_bytes, model.kv_bytes_per_token, model.vocabulary_size, model.context_tokens)

    def memory(self, context_tokens: int, available_bytes: int) -> MemoryEstimate:
        """Estimate the memory with a context of so many tokens.

        The work space is dominated by the logits of one batch: 512 tokens x vocabulary x 4 bytes.
        """
        logits = COMPUTE_BATCH_TOKENS * self.vocabulary_size * 4
        compute = COMPUTE_BASE_BYTES + logits if logits else 0
        return MemoryEstimate(self.weights_bytes, self.kv_bytes_per_token * context_tokens, compute, available_bytes)

    def largest_context(self, available_bytes: int) -> int:
        """Return the largest context that fits, at most the model's own; 0 when not even the weights do."""
        left = available_bytes - self.memory(0, available_bytes).needed_bytes
        if left < 0:
            return 0
        tokens = left // self.kv_bytes_per_token if self.kv_bytes_per_token else self.context_tokens
        return self.context_tokens if tokens >= self.context_tokens else tokens // CONTEXT_STEP * CONTEXT_STEP


def printable(value: object) -> str:
    """Keep what may be shown on a terminal: the text comes from the model's maker."""
    return "".join(c for c in str(value or "") if c.isprintable())[:200]
