"""The tree of an agglomerative clustering: merged bottom-up by Ward's criterion, cut or collapsed from the top."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_ROWS = 12_000
"""Rows that are clustered at once. The distances of all pairs are held in memory twice: 1.2 GB for so many."""


@dataclass(frozen=True, slots=True)
class Tree:
    """Clusters above rows 0 up to `leaves`: cluster `leaves + i` has `children[i]`, rows or earlier clusters.

    `distances` are those at which the children were merged, ascending. `roots` are the clusters (or single rows) that
    nothing is above, in the order of their first rows.
    """

    leaves: int
    children: Sequence[Sequence[int]]
    distances: Sequence[float]
    roots: Sequence[int]

    def is_row(self, node: int) -> bool:
        """Say whether a node is a row and not a cluster."""
        return node < self.leaves

    def children_of(self, node: int) -> Sequence[int]:
        """Return what a cluster was merged from."""
        return self.children[node - self.leaves]

    def distance(self, node: int) -> float:
        """Return the distance at which a cluster was merged; 0 for a row."""
        return 0.0 if self.is_row(node) else self.distances[node - self.leaves]

    def below(self, root: int) -> Iterator[int]:
        """Give a cluster and all clusters and rows below it, each after its parent."""
        waiting = [root]
        while waiting:
            node = waiting.pop()
            yield node
            if not self.is_row(node):
                waiting += reversed(self.children_of(node))

    def rows_of(self, root: int) -> list[int]:
        """Return the rows below a cluster, ascending."""
        return sorted(node for node in self.below(root) if self.is_row(node))

    def levels(self) -> list[list[int]]:
        """Return the clusters below the roots in levels: each level's children are in earlier ones, or are rows."""
        height: dict[int, int] = {}
        for root in self.roots:
            for node in reversed(list(self.below(root))):
                if not self.is_row(node):
                    height[node] = 1 + max(height.get(child, 0) for child in self.children_of(node))
        grouped: dict[int, list[int]] = {}
        for node in sorted(height):
            grouped.setdefault(height[node], []).append(node)
        return [grouped[level] for level in sorted(grouped)]


def ward_tree(vectors: NDArray[np.float32]) -> Tree:
    """Merge the two nearest clusters until one is left (Ward's criterion on Euclidean distances, as DocETL does)."""
    from scipy.cluster.hierarchy import ward  # noqa: PLC0415 - a third of a second, needed by few pipelines
    from scipy.spatial.distance import pdist  # noqa: PLC0415

    count = len(vectors)
    if count < 2:
        return Tree(count, (), (), tuple(range(count)))
    merges: NDArray[Any] = ward(pdist(vectors.astype(np.float64)))
    return Tree(count, merges[:, :2].astype(int).tolist(), merges[:, 2].tolist(), (2 * count - 2,))


def cut(tree: Tree, *, clusters: int | None = None, distance: float | None = None) -> Tree:
    """Undo the last merges until there are `clusters` roots, or those at more than `distance`."""
    kept = len(tree.children) if clusters is None else max(0, tree.leaves - clusters)
    if distance is not None:
        kept = int(np.searchsorted(tree.distances, distance, side="right"))
    children = tree.children[:kept]
    under = {child for pair in children for child in pair}
    roots = [node for node in range(tree.leaves + kept) if node not in under]
    lower = Tree(tree.leaves, children, tree.distances[:kept], ())
    first = {root: min(lower.rows_of(root)) for root in roots}
    return Tree(tree.leaves, children, tree.distances[:kept], tuple(sorted(roots, key=lambda root: first[root])))


def collapse(tree: Tree, share: float) -> Tree:
    """Remove clusters that are hardly nearer than the one above: their children become its own.

    How much nearer a cluster must be is the value below which the given share (0 to 1) of all steps in distance from a
    cluster to one right below it lies, each different step counted once.
    """
    steps = {
        distance - tree.distance(child)
        for children, distance in zip(tree.children, tree.distances, strict=True)
        for child in children
        if not tree.is_row(child)
    }
    if not steps:
        return tree
    least = sorted(steps)[min(int(len(steps) * share), len(steps) - 1)]
    children: list[Sequence[int]] = list(tree.children)
    for root in tree.roots:
        waiting = [root]
        while waiting:
            node = waiting.pop()
            if not tree.is_row(node):
                children[node - tree.leaves] = list(_promoted(tree, node, least))
                waiting += children[node - tree.leaves]
    return Tree(tree.leaves, children, tree.distances, tree.roots)


def _promoted(tree: Tree, parent: int, least: float) -> Iterator[int]:
    """Give the children of a cluster, in place of each that is too near the children of that, and so on."""
    waiting = list(reversed(tree.children_of(parent)))
    while waiting:
        child = waiting.pop()
        if not tree.is_row(child) and tree.distance(parent) - tree.distance(child) < least:
            waiting += reversed(tree.children_of(child))
        else:
            yield child
