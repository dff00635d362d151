"""Let a reduce prompt see some rows of a large group: chosen at random, first, by cluster or by likeness to a query."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from engine.errors import PipelineError
from engine.language.templates import Template
from engine.operators.base import Tools
from engine.operators.vectors import representatives, text_to_embed
from engine.rows import Row
from engine.text.ranking import embed_whole

Method = Literal["random", "first_n", "cluster", "sem_sim", "semantic_similarity"]


@dataclass(frozen=True, kw_only=True)
class ValueSampling:
    """Show a prompt at most `sample_size` rows of a group, in the order they have in it.

    `cluster` takes the row nearest to the middle of each of `sample_size` k-means clusters; `sem_sim` (also written
    semantic_similarity) those most alike to `query_text`, which may use `reduce_key`. Both embed the values of
    `embedding_keys` (default: all that the prompt may see). The pipeline's seed decides what is random.
    """

    enabled: bool = True
    method: Method | None = None
    sample_size: int | None = None
    embedding_keys: tuple[str, ...] = ()
    query_text: Template | None = field(default=None, metadata={"variables": ("reduce_key",)})

    def __post_init__(self) -> None:
        if self.enabled and (self.method is None or self.sample_size is None):
            raise PipelineError(
                "value_sampling needs a method and a sample_size",
                advice=f"Valid methods: {', '.join(get_args(Method))}. Or write enabled: false.",
            )
        if self.sample_size is not None and self.sample_size < 1:
            raise PipelineError(f"value_sampling.sample_size must be at least 1, not {self.sample_size}")
        if self.is_semantic and self.query_text is None:
            raise PipelineError(
                f"value_sampling by {self.method} needs a query_text", advice="For example query_text: battery life."
            )

    @property
    def is_semantic(self) -> bool:
        """Say whether rows are compared with a query."""
        return self.method in ("sem_sim", "semantic_similarity")

    @property
    def embeds(self) -> bool:
        """Say whether it needs the embedding model."""
        return self.enabled and (self.is_semantic or self.method == "cluster")

    async def choose(
        self, rows: Sequence[Row], seen: Sequence[Mapping[str, Any]], reduce_key: Mapping[str, Any], tools: Tools
    ) -> list[int]:
        """Choose the rows of a group to be shown, ascending; `seen` are the values of each that a prompt may see."""
        count, size = len(rows), self.sample_size
        if not self.enabled or size is None or count <= size:
            return list(range(count))
        if self.method == "first_n":
            return list(range(size))
        if self.method == "random":
            return sorted(sorted(range(count), key=lambda i: _lot(tools.seed, rows[i]))[:size])
        texts = [
            text_to_embed(row.values if self.embedding_keys else shown, self.embedding_keys)
            for row, shown in zip(rows, seen, strict=True)
        ]
        if self.query_text is None or not self.is_semantic:
            vectors = await embed_whole(texts, tools.embed)
            return await asyncio.to_thread(representatives, vectors, size, tools.seed)
        query = self.query_text.render(reduce_key=reduce_key)
        vectors = await embed_whole([query, *texts], tools.embed)
        likeness = vectors[1:] @ vectors[0]
        return sorted(np.argsort(-likeness, kind="stable")[:size].tolist())


def _lot(seed: int, row: Row) -> str:
    """Draw a lot for a row that does not depend on which other rows there are."""
    return hashlib.sha256(f"{seed}\n{row.id}".encode()).hexdigest()
