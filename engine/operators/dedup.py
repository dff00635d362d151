"""dedup: keep one of each group of rows that say nearly the same, without a model call."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from engine.operators.accounting import label
from engine.operators.asking import visible
from engine.operators.base import Operator, Outcome, Rejected, Tools
from engine.operators.blocking import vectors_of
from engine.operators.vectors import text_to_embed
from engine.plan.node import Node, Traits
from engine.rows import Row
from models.matrices import Matrix
from storage.folding import folded

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
            self.require(value is None or 0 < value <= 1, f"{name} must be above 0 and at most 1, not {value}")
        self.require(self.count_key != "", "count_key is empty", "Name a field, or leave count_key out.")

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


class _EmbeddingIndex:
    """Vectors that were added. They are looked up in `order`, many at once: one by one would be slow."""

    def __init__(self, vectors: Matrix, threshold: float, order: Sequence[int]) -> None:
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
        """Return the most similar item that was added and how similar it is, if that reaches the threshold."""
        if item not in self._ahead:
            self._look_ahead(item)
        best = max(self._ahead.pop(item), self._best(item), key=lambda match: match[1])
        return (self._items[best[0]], best[1]) if best[1] >= self._threshold else None

    def add(self, item: int) -> None:
        """Let an item be found."""
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
    texts = [text_to_embed(row.values, node.keys or visible(row.values)) for row in rows]
    order = [i for i, text in enumerate(texts) if text.strip()]
    if node.keep == "longest":
        order.sort(key=lambda i: -len(texts[i]))
    indexes = await _indexes(node, texts, order, tools)
    duplicates: dict[int, tuple[int, float]] = {}
    for done, item in enumerate(order, 1):
        matches = [match for index in indexes if (match := index.find(item))]
        if matches:
            duplicates[item] = max(matches, key=lambda match: match[1])
        else:
            for index in indexes:
                index.add(item)
        if done % BREATH == 0:
            tools.progress(done, len(order))
            await asyncio.sleep(0)  # the run may be cancelled meanwhile
    counts = Counter(kept for kept, _ in duplicates.values())
    return Outcome(
        [_counted(node, row, counts[i] + 1) for i, row in enumerate(rows) if i not in duplicates],
        [
            Rejected(rows[i], f"dedup {node.name}: duplicate of {label(rows[kept])} (similarity {score:.2f})")
            for i, (kept, score) in sorted(duplicates.items())
        ],
    )


async def _indexes(
    node: Dedup, texts: Sequence[str], order: Sequence[int], tools: Tools
) -> list[ShingleIndex | _EmbeddingIndex]:
    indexes: list[ShingleIndex | _EmbeddingIndex] = []
    if node.text_threshold is not None or node.embedding_threshold is None:
        threshold = DEFAULT_THRESHOLD if node.text_threshold is None else node.text_threshold
        indexes.append(ShingleIndex(texts, threshold))
    if node.embedding_threshold is not None:
        indexes.append(_EmbeddingIndex(await vectors_of(texts, tools), node.embedding_threshold, order))
    return indexes


def _counted(node: Dedup, row: Row, count: int) -> Row:
    return row.derive(node.name, {**row.values, **({node.count_key: count} if node.count_key else {})})


LETTERS = 5
"""Characters of a shingle. A misread letter then changes 5 shingles of many, not whole words."""

SKETCH = 1024
"""Shingles kept of a text: those with the lowest hashes, a fair sample of both of two texts (bottom-k MinHash).

Shorter texts are compared exactly; of longer ones the Jaccard similarity is estimated, to within about 0.03.
"""

BINS = 128
"""Hashes are put into so many bins; the lowest of each makes the signature (one permutation hashing: Li et al. 2012).

No more than 255, so that equal bins can be counted in a byte.
"""

CLOSEST = 20
"""Texts with the most alike signatures, whose similarity is then computed from their sketches."""

SLACK = 0.3
"""How far signatures may be less alike than the texts are; in short ones a bin more or less matters."""

_FACTOR = 0x9E3779B97F4A7C15
_MIX = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
_EMPTY, _SOUGHT, _LOWEST = 0, 1, 2
"""What stands for an empty bin, among those added and in what is sought, never equals anything."""

Sketch = NDArray[np.uint64]
Signature = NDArray[np.uint16]


def shingles(text: str) -> Sketch:
    """Return the hashes of a text's shingles, ascending and distinct.

    Case, white space and how accents are stored do not count.
    """
    plain = " ".join(folded(text).split())
    codes = np.frombuffer(plain.encode("utf-32-le", errors="surrogatepass"), np.uint32).astype(np.uint64)
    width = min(LETTERS, len(codes))
    hashes = np.zeros(len(codes) - width + 1, np.uint64)
    for offset in range(width):
        hashes = hashes * np.uint64(_FACTOR) + codes[offset : offset + len(hashes)] + np.uint64(1)
    return np.unique(_mixed(hashes))


def similarity(one: Sketch, other: Sketch) -> float:
    """Return the Jaccard similarity of two texts by the lowest SKETCH of their shingles: 0 to 1."""
    union = np.union1d(one, other)[:SKETCH] if max(len(one), len(other)) == SKETCH else np.union1d(one, other)
    shared = np.intersect1d(one, other, assume_unique=True)
    return float(np.count_nonzero(shared <= union[-1]) / len(union))


def signature(hashes: Sketch) -> Signature:
    """Return the low 16 bits of the lowest hash in each bin, at least _LOWEST; 0 for an empty bin."""
    bins = (hashes >> np.uint64(64 - BINS.bit_length() + 1)).astype(np.intp)
    filled, first = np.unique(bins, return_index=True)
    lowest = np.full(BINS, _EMPTY, np.uint16)
    lowest[filled] = np.maximum(hashes[first] & np.uint64(0xFFFF), _LOWEST).astype(np.uint16)
    return lowest


class ShingleIndex:
    """Texts that were added, to be found by those that are similar to them."""

    def __init__(self, texts: Sequence[str], threshold: float) -> None:
        """`texts` are all that will be added or looked up, by their index."""
        self._threshold = threshold
        hashes = [shingles(text) for text in texts]
        self._sketches = [each[:SKETCH].copy() for each in hashes]
        self._signatures = np.stack([signature(each) for each in hashes]) if hashes else np.empty((0, BINS), np.uint16)
        self._filled = np.count_nonzero(self._signatures, axis=1)
        # A column per text that was added: numpy adds up rows much faster than it counts along them.
        self._added = np.empty(self._signatures.shape[::-1], np.uint16)
        self._added_filled = np.empty_like(self._filled)
        self._items: list[int] = []

    def find(self, item: int) -> tuple[int, float] | None:
        """Return the most similar text that was added (of equal ones the first) and how similar it is."""
        count = len(self._items)
        # A short text fills few bins; a selection of rows is a copy, though.
        filled = np.flatnonzero(self._signatures[item]) if self._filled[item] < BINS // 2 else np.arange(BINS)
        added = self._added[filled, :count] if len(filled) < BINS else self._added[:, :count]
        sought = np.where(self._signatures[item] == _EMPTY, _SOUGHT, self._signatures[item])[filled, np.newaxis]
        equal = (added == sought).view(np.uint8).sum(axis=0, dtype=np.uint8)
        alike = equal / np.maximum(self._added_filled[:count], self._filled[item])
        likely = np.flatnonzero(alike >= max(self._threshold - SLACK, 1 / BINS))
        closest = likely[np.argsort(-alike[likely], kind="stable")[:CLOSEST]]
        sketch = self._sketches[item]
        scored = [(similarity(sketch, self._sketches[self._items[place]]), -place) for place in closest.tolist()]
        score, place = max(scored, default=(0.0, 0))
        return (self._items[-place], score) if score >= self._threshold else None

    def add(self, item: int) -> None:
        """Let a text be found."""
        place = len(self._items)
        self._added[:, place] = self._signatures[item]
        self._added_filled[place] = self._filled[item]
        self._items.append(item)


def _mixed(hashes: Sketch) -> Sketch:
    """Spread hashes evenly, so that the lowest are a fair sample (the finalizer of SplitMix64)."""
    hashes = (hashes ^ (hashes >> np.uint64(30))) * np.uint64(_MIX[0])
    hashes = (hashes ^ (hashes >> np.uint64(27))) * np.uint64(_MIX[1])
    return hashes ^ (hashes >> np.uint64(31))


OPERATOR = Operator(Dedup, run)
