"""The most alike of many unit vectors: exactly, in blocks of bounded memory, or by an index where there are very many.

A vector of zeros, that of a text without words, is like no other and is nobody's neighbour.

The index puts the vectors into clusters, and a query looks into the clusters nearest to it: the inverted file of Jégou
et al., "Product quantization for nearest neighbor search" (2011), section IV, with the vectors themselves, not codes,
in the lists. docs/decisions/0013 compares it with libraries.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.matrices import Matrix, new_matrix

ROWS, COLUMNS = 1024, 4096
"""A block of cosines, 16 MiB: all that is there of a table of all pairs at any time."""

EXACT_UP_TO = 100_000
"""Vectors that are always searched one and all; beyond, many queries are answered by an index unless told otherwise."""

NO_PAIR = -2.0
"""Below any cosine: what stands in a block for what is no pair."""

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

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Neighbours:
    """The nearest of each query, best first, of equal ones the first: `indices` and `cosines` have shape (queries, k).

    Where there are fewer than k, the index is -1 and the cosine NO_PAIR.
    """

    indices: Indices
    cosines: Matrix


@dataclass(frozen=True)
class ExactSearch:
    """Compares with every vector: `recall` is None, for nothing is missed."""

    vectors: Matrix
    recall: None = None

    def search(self, queries: Matrix, k: int) -> Neighbours:
        """Find the `k` nearest of each query."""
        return nearest_exact(queries, self.vectors, k)


def prepare_search(
    vectors: Matrix, queries: Matrix, k: int, *, expected: int | None = None, exact: bool = False
) -> VectorSearch:
    """Choose how to search: exactly up to EXACT_UP_TO vectors or with `exact`, else by an index if that saves time.

    `queries` are such as will be asked: the recall is measured on a sample of them. `expected` is how many will come
    (None: as many as these). Building an index over a million vectors takes minutes.
    """
    count = len(queries) if expected is None else expected
    if exact or len(vectors) <= EXACT_UP_TO or not is_worthwhile(count, len(vectors)):
        return ExactSearch(vectors)
    index = ClusteredIndex(vectors)
    return ExactSearch(vectors) if index.tune(queries, k) is None else index


def nearest_exact(queries: Matrix, among: Matrix, k: int) -> Neighbours:
    """Compare every query with every vector; memory grows with queries x k, not with queries x vectors."""
    width = min(k, len(among))
    indices = np.full((len(queries), k), -1, np.int64)
    cosines = np.full((len(queries), k), NO_PAIR, np.float32)
    for start in range(0, len(queries), ROWS) if width else ():
        best = _Best(min(ROWS, len(queries) - start), width)
        for column in range(0, len(among), COLUMNS):
            best.see(column, cosine_block(queries[start : start + ROWS], among[column : column + COLUMNS]))
        indices[start : start + ROWS, :width] = np.where(best.cosines > NO_PAIR, best.indices, -1)
        cosines[start : start + ROWS, :width] = best.cosines
    return Neighbours(indices, cosines)


class _Best:
    """The best `k` of each row over blocks whose columns come in order."""

    def __init__(self, rows: int, k: int) -> None:
        self.cosines = np.full((rows, k), NO_PAIR, np.float32)
        self.indices = np.full((rows, k), -1, np.int64)

    def see(self, first_column: int, block: Matrix) -> None:
        """Take what is better than the worst that is kept: of equal ones the earlier column stays."""
        k = self.cosines.shape[1]
        better = block > self.cosines[:, -1:]
        if np.count_nonzero(better) > 4 * self.cosines.size and block.shape[1] > k:
            better &= block >= np.partition(block, -k, axis=1)[:, -k, np.newaxis]
        rows, columns = np.nonzero(better)
        touched = np.unique(rows)
        if not len(touched):
            return
        kept_rows = np.repeat(touched, k)
        all_rows = np.concatenate((kept_rows, rows))
        scores = np.concatenate((self.cosines[touched].ravel(), block[rows, columns]))
        places = np.concatenate((self.indices[touched].ravel(), columns + first_column))
        order = np.lexsort((places, -scores, all_rows))
        starts = np.searchsorted(all_rows[order], touched)
        chosen = order[starts[:, np.newaxis] + np.arange(k)]
        self.cosines[touched] = scores[chosen]
        self.indices[touched] = places[chosen]


def cosine_block(left: Matrix, right: Matrix) -> Matrix:
    """Return all cosines of two small sets of unit vectors; NO_PAIR where either is zero."""
    block = np.asarray(left @ right.T)
    block[_empty(left)] = NO_PAIR
    block[:, _empty(right)] = NO_PAIR
    return block


def cosine_blocks(vectors: Matrix, others: Matrix | None = None) -> Iterator[tuple[int, int, Matrix]]:
    """Give all pairs of two sets, or of one with itself (then left < right), block by block.

    A block is its first row, its first column and the cosines, NO_PAIR where there is no pair; it may be written to.
    """
    across = vectors if others is None else others
    for row in range(0, len(vectors), ROWS):
        for column in range(0, len(across), COLUMNS):
            if others is None and column + COLUMNS <= row:
                continue
            block = cosine_block(vectors[row : row + ROWS], across[column : column + COLUMNS])
            if others is None and column <= row + ROWS:
                rows, columns = np.ogrid[row : row + len(block), column : column + block.shape[1]]
                block[columns <= rows] = NO_PAIR
            yield row, column, block


def _empty(vectors: Matrix) -> Indices:
    """Find the vectors of zeros; few begin with a zero, and only those are looked at whole."""
    likely = np.flatnonzero(vectors[:, :1] == 0) if vectors.shape[1] else np.arange(len(vectors))
    return likely[~vectors[likely].any(axis=1)]


def is_worthwhile(queries: int, vectors: int) -> bool:
    """Say whether the time to build an index is less than what so many queries would save."""
    return queries >= 4 * _lists_for(vectors)


class ClusteredIndex:
    """Unit vectors in clusters. The same vectors give the same index.

    `recall` is the part of the true neighbours that is found, measured on a sample.
    """

    def __init__(self, vectors: Matrix, *, lists: int | None = None) -> None:
        """Build it; `lists` is the number of clusters. Memory: a second copy of the vectors (see models.matrices)."""
        self._middles = _learn(vectors, lists or _lists_for(len(vectors)), np.random.default_rng(0))
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
            neighbours = self._search(queries[start : start + QUERIES], k)
            indices[start : start + QUERIES], cosines[start : start + QUERIES] = neighbours
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


VectorSearch = ExactSearch | ClusteredIndex
"""Finds the nearest of a set of vectors."""


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
        clusters, starts = np.unique(labels[order], return_index=True)
        sums = np.add.reduceat(sample[order], starts, axis=0)
        middles[clusters] = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    return middles


def _label(vectors: Matrix, middles: Matrix) -> list[Indices]:
    """Say, in blocks, which middle each vector is nearest to."""
    blocks = (vectors[start : start + ROWS] for start in range(0, len(vectors), ROWS))
    return [np.asarray((block @ middles.T).argmax(axis=1), np.int64) for block in blocks]


def _share_found(true: Matrix, cosines: Matrix) -> float:
    """Say which part of the true neighbours was found; one that is as near as the last true one counts."""
    last = np.where(true > NO_PAIR, true, np.inf).min(axis=1, keepdims=True)
    wanted = np.count_nonzero(true > NO_PAIR)
    return min(1.0, float(np.count_nonzero(cosines >= last - 1e-6)) / wanted) if wanted else 1.0
