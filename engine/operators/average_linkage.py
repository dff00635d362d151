"""Join what is on average alike: agglomerative clustering by average linkage (UPGMA, Sokal and Michener 1958)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.operators.union_find import UnionFind
from models.matrices import Matrix

MOST_ITEMS = 12_000
"""Items that are clustered at once: the cosines of all pairs take 576 MB for so many."""

_NEVER = -np.inf


@dataclass(frozen=True, slots=True)
class Joined:
    """Two items whose clusters were joined, and the mean cosine of all pairs between these."""

    left: int
    right: int
    cosine: float


def average_linkage(vectors: Matrix, clusters: UnionFind, at_least: float) -> Iterator[Joined]:
    """Give the joins of clusters of unit vectors, shape (items, dimensions), the most alike first.

    Two clusters are as alike as the pairs between them are on average, so that no chain of pairs joins what is not
    alike. It ends where no two reach `at_least` (inclusive). It begins with `clusters`, which are not changed; what
    they keep apart never meets. A vector of zeros is like no other.
    """
    groups = clusters.clusters()
    if len(groups) < 2:
        return
    members = np.array([len(group) for group in groups], np.float64)
    means = np.array([vectors[group].mean(axis=0) for group in groups], np.float32)
    alike = means @ means.T  # of means: the mean cosine of all pairs between two groups
    _forbid(alike, groups, clusters)
    empty = np.flatnonzero(~means.any(axis=1))
    alike[empty, :] = alike[:, empty] = _NEVER
    best = alike.argmax(axis=1)
    at = np.arange(len(groups))
    while True:
        first = int(alike[at, best].argmax())
        second = int(best[first])
        cosine = float(alike[first, second])
        if cosine < at_least or cosine == _NEVER:
            return
        first, second = sorted((first, second))
        yield Joined(groups[first][0], groups[second][0], cosine)
        _merge(alike, members, first, second)
        for stale in np.flatnonzero((best == first) | (best == second)):
            best[stale] = alike[stale].argmax()
        nearer = alike[:, first] > alike[at, best]
        best[nearer] = first


def _forbid(alike: Matrix, groups: Sequence[list[int]], clusters: UnionFind) -> None:
    np.fill_diagonal(alike, _NEVER)
    place = {clusters.find(group[0]): index for index, group in enumerate(groups)}
    for left, right in clusters.kept_apart():
        alike[place[left], place[right]] = alike[place[right], place[left]] = _NEVER


def _merge(alike: Matrix, members: NDArray[np.float64], first: int, second: int) -> None:
    """Put the second cluster into the first: its cosines are the mean of both, weighed by their members."""
    share = members[first] / (members[first] + members[second])
    both = share * alike[first] + (1 - share) * alike[second]
    members[first] += members[second]
    alike[first, :] = both
    alike[:, first] = both
    alike[first, first] = _NEVER
    alike[second, :] = _NEVER
    alike[:, second] = _NEVER
