"""dedup: keep one of each group of rows that say nearly the same, without a model call."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

import numpy as np

from engine.operators.accounting import require
from engine.operators.base import Operator, Outcome, Rejected, Tools
from engine.operators.blocking import blocking_text, vectors_of
from engine.operators.pairs import Vectors
from engine.operators.shingles import ShingleIndex
from engine.plan.node import Node, Traits
from engine.rows import Row

DEFAULT_THRESHOLD = 0.8
"""Part of all 5-letter pieces that two texts share to count as duplicates, where no threshold is given."""

LOOK_AHEAD = 256
"""Rows compared at once with the embeddings of those kept so far."""

NOT_ALIKE = -2.0
"""Below any cosine."""

BREATH = 100
"""Rows looked up before others of the run may go on."""


@dataclass(frozen=True, kw_only=True)
class Dedup(Node):
    """Keep the first (or the longest) of rows whose fields `keys` (default: all) are nearly the same.

    Rows are duplicates when their texts share at least the part `text_threshold` of their pieces of 5 letters
    (Jaccard), or the cosine of their embeddings is at least `embedding_threshold`; with neither given, text at 0.8.
    Each row that is dropped is that similar to the one that is kept. Rows without text are kept.
    `count_key` receives the number of rows that one stands for.
    """

    kind: ClassVar[str] = "dedup"

    keys: tuple[str, ...] = ()
    text_threshold: float | None = None
    embedding_threshold: float | None = None
    keep: Literal["first", "longest"] = "first"
    count_key: str | None = None

    def __post_init__(self) -> None:
        for name in ("text_threshold", "embedding_threshold"):
            value = getattr(self, name)
            require(self, value is None or 0 < value <= 1, f"{name} must be above 0 and at most 1, not {value}")
        require(self, self.count_key != "", "count_key is empty", "Name a field, or leave count_key out.")

    def traits(self) -> Traits:
        """Say what it reads and writes."""
        return Traits(
            reads=frozenset(self.keys),
            writes=frozenset([self.count_key] if self.count_key else ()),
            cardinality="zero_or_one",
            row_local=False,
            calls_model=False,
            embeds=self.embedding_threshold is not None,
            reads_unknown=not self.keys,
        )


class _Index(Protocol):
    """Finds the most similar of the items added."""

    def find(self, item: int) -> tuple[int, float] | None:
        """Return it and its similarity, if that reaches the threshold."""

    def add(self, item: int) -> None:
        """Let an item be found."""


class _EmbeddingIndex:
    """Vectors that were added. They are looked up in `order`, many at once: one by one would be slow."""

    def __init__(self, vectors: Vectors, threshold: float, order: Sequence[int]) -> None:
        self._vectors = vectors
        self._threshold = threshold
        self._order = {item: position for position, item in enumerate(order)}
        self._turns = np.array(order, int)
        self._kept = np.empty_like(vectors)
        self._items: list[int] = []
        self._ahead: dict[int, tuple[int, float]] = {}
        self._seen = 0
        """How many of the vectors added the look ahead has seen."""

    def find(self, item: int) -> tuple[int, float] | None:
        if item not in self._ahead:
            self._look_ahead(item)
        best = max(self._ahead.pop(item), self._best(item), key=lambda match: match[1])
        return (self._items[best[0]], best[1]) if best[1] >= self._threshold else None

    def add(self, item: int) -> None:
        self._kept[len(self._items)] = self._vectors[item]
        self._items.append(item)

    def _look_ahead(self, item: int) -> None:
        self._seen = len(self._items)
        start = self._order[item]
        items = self._turns[start : start + LOOK_AHEAD]
        cosines = self._vectors[items] @ self._kept[: self._seen].T
        places = cosines.argmax(axis=1) if self._seen else np.zeros(len(items), int)
        best = cosines[np.arange(len(items)), places] if self._seen else np.full(len(items), NOT_ALIKE)
        self._ahead = dict(zip(items.tolist(), zip(places.tolist(), best.tolist(), strict=True), strict=True))

    def _best(self, item: int) -> tuple[int, float]:
        cosines = self._kept[self._seen : len(self._items)] @ self._vectors[item]
        if not len(cosines):
            return 0, NOT_ALIKE
        place = int(np.argmax(cosines))
        return self._seen + place, float(cosines[place])


async def run(node: Dedup, rows: Sequence[Row], tools: Tools) -> Outcome:
    """Keep one of each group, in the order of the rows; the others are rejected, naming the row that is kept."""
    texts = [blocking_text(row.values, node.keys or row.values.keys()) for row in rows]
    order = [i for i, text in enumerate(texts) if text.strip()]
    if node.keep == "longest":
        order.sort(key=lambda i: -len(texts[i]))
    indexes = await _indexes(node, texts, order, tools)
    duplicates: dict[int, tuple[int, float]] = {}
    for done, item in enumerate(order, 1):
        found = [match for index in indexes if (match := index.find(item))]
        if found:
            duplicates[item] = max(found, key=lambda match: match[1])
        else:
            for index in indexes:
                index.add(item)
        if done % BREATH == 0:
            tools.progress(done, len(order))
            await asyncio.sleep(0)  # the run may be cancelled meanwhile
    counts = Counter(kept for kept, _ in duplicates.values())
    return Outcome(
        [_counted(node, row, counts[i] + 1) for i, row in enumerate(rows) if i not in duplicates],
        [Rejected(rows[i], _reason(node, rows[kept], score)) for i, (kept, score) in sorted(duplicates.items())],
    )


async def _indexes(node: Dedup, texts: Sequence[str], order: Sequence[int], tools: Tools) -> list[_Index]:
    indexes: list[_Index] = []
    if node.text_threshold is not None or node.embedding_threshold is None:
        threshold = DEFAULT_THRESHOLD if node.text_threshold is None else node.text_threshold
        indexes.append(ShingleIndex(texts, threshold))
    if node.embedding_threshold is not None:
        indexes.append(_EmbeddingIndex(await vectors_of(texts, tools), node.embedding_threshold, order))
    return indexes


def _counted(node: Dedup, row: Row, count: int) -> Row:
    return row.derive(node.name, {**row.values, **({node.count_key: count} if node.count_key else {})})


def _reason(node: Dedup, kept: Row, score: float) -> str:
    filename = kept.values.get("filename")
    file = f" of {filename}" if isinstance(filename, str) else ""
    return f"dedup {node.name}: duplicate of row {kept.id}{file} (similarity {score:.2f})"


OPERATOR = Operator(Dedup, run)
