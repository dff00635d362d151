"""The most alike of many unit vectors: exactly, in blocks of bounded memory, or by an index where there are very many.

A vector of zeros, that of a text without words, is like no other and is nobody's neighbour.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from models.matrices import Matrix

ROWS, COLUMNS = 1024, 4096
"""A block of cosines, 16 MiB: all that is there of a table of all pairs at any time."""

EXACT_UP_TO = 100_000
"""Vectors that are always searched one and all; beyond, many queries are answered by an index unless told otherwise."""

NO_PAIR = -2.0
"""Below any cosine: what stands in a block for what is no pair."""

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Neighbours:
    """The nearest of each query, best first, of equal ones the first: `indices` and `cosines` have shape (queries, k).

    Where there are fewer than k, the index is -1 and the cosine NO_PAIR.
    """

    indices: Indices
    cosines: Matrix


class VectorSearch(Protocol):
    """Finds the nearest of a set of vectors."""

    @property
    def recall(self) -> float | None:
        """Return the part of the true neighbours that is found, measured on a sample; None: all, for it is exact."""

    def search(self, queries: Matrix, k: int) -> Neighbours:
        """Find the `k` nearest of each query."""


@dataclass(frozen=True)
class ExactSearch:
    """Compares with every vector."""

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
    from models.vector_index import ClusteredIndex, is_worthwhile  # noqa: PLC0415 - it is made of what is here

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
