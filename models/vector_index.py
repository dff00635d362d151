"""An index over very many vectors: they are put into clusters, and a query looks into the clusters nearest to it.

This is the inverted file of Jégou et al., "Product quantization for nearest neighbor search" (2011), section IV, with
the vectors themselves, not codes, in the lists. docs/decisions/0013 compares it with libraries.
"""

from __future__ import annotations

import math

import numpy as np

from models.matrices import Matrix, new_matrix
from models.nearest import NO_PAIR, ROWS, Indices, Neighbours, cosine_block, nearest_exact

TARGET_RECALL = 0.98
"""Part of the true neighbours that is to be found; clusters are looked into until a sample shows it."""

SAMPLE_QUERIES = 256
SAMPLE_PER_LIST = 32
"""Vectors per cluster from which the clusters' middles are learned."""

ROUNDS = 6
"""Rounds of k-means; more hardly move the middles."""

FIRST_PROBES = 8
QUERIES = 8192
"""Queries answered at once: a cluster is multiplied with all of them that look into it."""

MOST_PROBED = 4
"""A search that must look into more than one part in so many of the clusters is left to the exact one."""


def is_worthwhile(queries: int, vectors: int) -> bool:
    """Say whether the time to build an index is less than what so many queries would save."""
    return queries >= 4 * _lists_for(vectors)


class ClusteredIndex:
    """Unit vectors in clusters. The same vectors and seed give the same index."""

    def __init__(self, vectors: Matrix, *, lists: int | None = None, seed: int = 0) -> None:
        """Build it; `lists` is the number of clusters. Memory: a second copy of the vectors (see models.matrices)."""
        self._middles = _learn(vectors, lists or _lists_for(len(vectors)), np.random.default_rng(seed))
        labels = np.concatenate([*_label(vectors, self._middles), np.empty(0, np.int64)])
        self._order: Indices = np.argsort(labels, kind="stable")
        self._starts = np.searchsorted(labels[self._order], np.arange(len(self._middles) + 1))
        self._vectors = new_matrix(*vectors.shape)
        for start in range(0, len(vectors), ROWS):
            self._vectors[start : start + ROWS] = vectors[self._order[start : start + ROWS]]
        self.probes = min(FIRST_PROBES, len(self._middles))
        self.recall = 0.0

    def tune(self, queries: Matrix, k: int) -> float | None:
        """Look into as many clusters as it takes to find TARGET_RECALL of the true neighbours; return what is found.

        Measured on a sample of the queries. None: it takes so many that an exact search is as well.
        """
        sample = queries[np.linspace(0, len(queries) - 1, min(SAMPLE_QUERIES, len(queries))).astype(int)]
        true = nearest_exact(sample, self._vectors, k)
        self.probes = min(FIRST_PROBES, len(self._middles))
        while self.probes * MOST_PROBED <= len(self._middles):
            self.recall = _share_found(true.cosines, self.search(sample, k).cosines)
            if self.recall >= TARGET_RECALL:
                return self.recall
            self.probes *= 2
        return None

    def search(self, queries: Matrix, k: int) -> Neighbours:
        """Find the `k` nearest of each query in the clusters that are looked into; cosines are exact."""
        indices = np.full((len(queries), k), -1, np.int64)
        cosines = np.full((len(queries), k), NO_PAIR, np.float32)
        for start in range(0, len(queries), QUERIES):
            found = self._search(queries[start : start + QUERIES], k)
            indices[start : start + QUERIES], cosines[start : start + QUERIES] = found
        return Neighbours(indices, cosines)

    def _search(self, queries: Matrix, k: int) -> tuple[Indices, Matrix]:
        lists = np.argpartition(-(queries @ self._middles.T), self.probes - 1, axis=1)[:, : self.probes]
        scores = np.full((len(queries), self.probes, k), NO_PAIR, np.float32)
        places = np.full((len(queries), self.probes, k), -1, np.int64)
        by_list = np.argsort(lists, axis=None, kind="stable")
        ends = np.flatnonzero(np.diff(lists.ravel()[by_list], append=-1)) + 1
        for first, last in zip([0, *ends[:-1]], ends, strict=True):
            rows, turns = np.unravel_index(by_list[first:last], lists.shape)
            number = lists[rows[0], turns[0]]
            start, stop = self._starts[number], self._starts[number + 1]
            block = cosine_block(queries[rows], self._vectors[start:stop])
            width = min(k, stop - start)
            columns = np.argpartition(-block, width - 1, axis=1)[:, :width] if width else np.empty((len(rows), 0), int)
            scores[rows, turns, :width] = np.take_along_axis(block, columns, axis=1)
            places[rows, turns, :width] = columns + start
        return self._merged(scores.reshape(len(queries), -1), places.reshape(len(queries), -1), k)

    def _merged(self, scores: Matrix, places: Indices, k: int) -> tuple[Indices, Matrix]:
        originals = np.where(scores > NO_PAIR, self._order[places], -1)
        order = np.lexsort((originals, -scores), axis=1)[:, :k]
        return np.take_along_axis(originals, order, axis=1), np.take_along_axis(scores, order, axis=1)


def _lists_for(vectors: int) -> int:
    return max(1, min(vectors, 4 * math.isqrt(vectors)))


def _learn(vectors: Matrix, lists: int, generator: np.random.Generator) -> Matrix:
    """Find the middles of clusters by k-means on the sphere, from a sample; an empty cluster keeps its middle."""
    count = min(len(vectors), lists * SAMPLE_PER_LIST)
    sample = np.asarray(vectors[np.sort(generator.choice(len(vectors), count, replace=False))])
    middles = sample[np.sort(generator.choice(count, lists, replace=False))].copy()
    for _ in range(ROUNDS):
        labels = np.concatenate(_label(sample, middles))
        order = np.argsort(labels, kind="stable")
        there, starts = np.unique(labels[order], return_index=True)
        sums = np.add.reduceat(sample[order], starts, axis=0)
        middles[there] = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    return middles


def _label(vectors: Matrix, middles: Matrix) -> list[Indices]:
    """Say, in blocks, which middle each vector is nearest to."""
    blocks = (vectors[start : start + ROWS] for start in range(0, len(vectors), ROWS))
    return [np.asarray((block @ middles.T).argmax(axis=1), np.int64) for block in blocks]


def _share_found(true: Matrix, found: Matrix) -> float:
    """Say which part of the true neighbours was found; one that is as near as the last true one counts."""
    last = np.where(true > NO_PAIR, true, np.inf).min(axis=1, keepdims=True)
    wanted = np.count_nonzero(true > NO_PAIR)
    return min(1.0, float(np.count_nonzero(found >= last - 1e-6)) / wanted) if wanted else 1.0
