"""Union-find with pairs that must stay apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

Relation = Literal["joined", "forbidden", "open"]


class UnionFind:
    """Clusters of the integers 0..size-1. Two that are kept apart never meet, also not through third parties."""

    def __init__(self, size: int) -> None:
        self._parent = list(range(size))
        self._apart: dict[int, set[int]] = {}

    def copy(self) -> UnionFind:
        """Make an independent copy, to try joins on."""
        twin = UnionFind(0)
        twin._parent = list(self._parent)
        twin._apart = {root: set(others) for root, others in self._apart.items()}
        return twin

    def find(self, item: int) -> int:
        """Return the cluster's root: its smallest member."""
        while self._parent[item] != item:
            self._parent[item] = self._parent[self._parent[item]]
            item = self._parent[item]
        return item

    def relation(self, left: int, right: int) -> Relation:
        """Say whether two are joined, kept apart, or neither."""
        a, b = self.find(left), self.find(right)
        if a == b:
            return "joined"
        return "forbidden" if b in self._apart.get(a, ()) else "open"

    def any_apart(self, items: Iterable[int]) -> bool:
        """Say whether two of the items are kept apart."""
        roots = {self.find(item) for item in items}
        return any(not roots.isdisjoint(self._apart.get(root, ())) for root in roots)

    def keep_apart(self, left: int, right: int) -> bool:
        """Forbid two clusters to join; False if they are one already."""
        a, b = self.find(left), self.find(right)
        if a == b:
            return False
        self._apart.setdefault(a, set()).add(b)
        self._apart.setdefault(b, set()).add(a)
        return True

    def join(self, left: int, right: int) -> bool:
        """Join two clusters; False if they are one already or kept apart."""
        if self.relation(left, right) != "open":
            return False
        root, child = sorted((self.find(left), self.find(right)))
        self._parent[child] = root
        for other in self._apart.pop(child, set()):
            self._apart[other].discard(child)
            self.keep_apart(root, other)
        return True

    def kept_apart(self) -> Iterator[tuple[int, int]]:
        """Give all clusters that are kept apart, each pair once: the smallest members of both, the smaller first."""
        for root in sorted(self._apart):
            yield from ((root, other) for other in sorted(self._apart[root]) if root < other)

    def clusters(self) -> list[list[int]]:
        """Return all clusters, in order of their first members."""
        members: dict[int, list[int]] = {}
        for item in range(len(self._parent)):
            members.setdefault(self.find(item), []).append(item)
        return list(members.values())
