"""cluster: group rows by the likeness of their texts, as a tree or flat, and let the model name every group."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from engine.errors import ItemError
from engine.language.position import did_you_mean
from engine.language.schema import Field, ListOf, Record, Scalar, Schema, Type
from engine.language.templates import SHOWS_ROWS, Template
from engine.operators.accounting import Failure, attempt_all, fail, process_rows
from engine.operators.asking import ModelNode, Question, ask, fits, quote_source, reads_of, texts_of, visible
from engine.operators.base import Failed, Operator, Outcome, Tools
from engine.operators.cutting import pack
from engine.operators.vectors import text_to_embed
from engine.plan.node import Traits
from engine.rows import Row
from engine.text.ranking import embed_whole
from models.matrices import Matrix

DISTANCE = "distance"


@dataclass(frozen=True, kw_only=True)
class Cluster(ModelNode):
    """Write into `output_key` of each row the clusters it is in, the smallest first, the one of all rows last.

    Rows are embedded by the values of `embedding_keys` and merged in pairs (Ward's criterion); one without any text
    there is in no cluster. Each cluster is named by the fields of `summary_schema`, which the model writes from
    `summary_prompt`; its `inputs` are what the cluster was merged from: rows, or named clusters. An entry of
    `output_key` has the `distance` at which the cluster was merged, and the name.

    `collapse` (0 to 1) leaves out the share of clusters that are hardly nearer than the one above. With `num_clusters`
    or `distance_threshold` the clusters are flat: each row has one entry, and a cluster's `inputs` are its rows.
    `max_batch_size` bounds the clusters that are named at once.
    """

    kind: ClassVar[str] = "cluster"

    embedding_keys: tuple[str, ...]
    summary_schema: Schema
    summary_prompt: Template = field(metadata={"variables": ("inputs",), SHOWS_ROWS: True})
    output_key: str = "clusters"
    collapse: float | None = None
    num_clusters: int | None = None
    distance_threshold: float | None = None
    max_batch_size: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(bool(self.embedding_keys), "embedding_keys names no field", "Write embedding_keys: [text].")
        self.require(bool(self.output_key), "output_key is empty", "Leave it out to write to `clusters`.")
        self.require(
            self.summary_prompt.uses("inputs"),
            "the summary_prompt does not use 'inputs'",
            "Write {% for input in inputs %} ... {% endfor %}.",
        )
        self.require(
            DISTANCE not in self.summary_schema.names,
            "summary_schema has a field 'distance', which is how far apart a cluster's parts are",
            "Give the field another name.",
        )
        self._check_numbers()
        lacking = sorted(self._lacking)
        self.require(
            self.is_flat or not lacking,
            f"summary_prompt reads the field {''.join(lacking[:1])!r}, which clusters do not have: its inputs are rows "
            "and, further up, the names of clusters",
            did_you_mean("".join(lacking[:1]), self.summary_schema.names),
        )

    def _check_numbers(self) -> None:
        share, distance = self.collapse, self.distance_threshold
        self.require(share is None or 0 <= share <= 1, f"collapse is a share from 0 to 1, not {share}")
        self.require_at_least(num_clusters=1, max_batch_size=1)
        self.require(distance is None or distance >= 0, f"distance_threshold must not be negative, but is {distance}")
        keys = [n for n in ("collapse", "num_clusters", "distance_threshold") if getattr(self, n) is not None]
        self.require(len(keys) < 2, f"{' and '.join(keys)} exclude each other", "Keep one of them.")

    @property
    def is_flat(self) -> bool:
        """Say whether each row is in one cluster only."""
        return self.num_clusters is not None or self.distance_threshold is not None

    @property
    def _lacking(self) -> frozenset[str]:
        """Return the fields that the prompt reads and a cluster's name does not have."""
        return self.summary_prompt.reads("inputs") - frozenset(self.summary_schema.names)

    @property
    def names_clusters_again(self) -> bool:
        """Say whether the prompt can be put about clusters as well as about rows."""
        return not self._lacking

    @property
    def judged_fields(self) -> tuple[str, ...]:
        """Return the fields of a name, and `inputs`, what it is the name of."""
        return (*self.summary_schema.names, "inputs")

    def own_traits(self) -> Traits:
        """Say what it reads and writes."""
        return Traits(
            reads=reads_of(self.summary_prompt, "inputs", self.summary_schema) | frozenset(self.embedding_keys),
            writes=frozenset({self.output_key}),
            row_local=False,
            embeds=True,
            reads_unknown=self.summary_prompt.reads_unknown,
        )

    def written_types(self) -> Mapping[str, Type]:
        """Return the type of the clusters of a row."""
        entry = Record((Field(DISTANCE, Scalar("float")), *self.summary_schema.fields))
        return {self.output_key: ListOf(entry)}


async def run(node: Cluster, rows: Sequence[Row], tools: Tools) -> Outcome:
    """Cluster the rows; they keep their order.

    A row that has none of the embedding keys fails alone. A cluster that cannot be named fails its rows, and those
    above it are named from the rest.
    """
    checked = await process_rows(node, rows, functools.partial(_check_row, node), tools)
    kept = [row for row in checked.rows if text_to_embed(row.values, node.embedding_keys).strip()]
    if len(kept) > MAX_ROWS:
        failure = Failure(
            f"{len(kept)} rows are too many to cluster: at most {MAX_ROWS}, whose distances fill 1.2 GB of memory",
            "Filter or sample the rows first, or cluster what a reduce has made of groups of them.",
        )
        return Outcome(failed=[*checked.failed, *fail(node, checked.rows, failure)])
    naming = Naming(node, kept, await _tree(node, kept, tools), tools)
    await naming.run()
    paths = dict(zip((row.id for row in kept), naming.paths, strict=True))
    lost = {kept[index].id: failure for index, failure in naming.failed.items()}
    failed: list[Failed] = list(checked.failed)
    out: list[Row] = []
    for row in checked.rows:
        if row.id in lost:
            failed += fail(node, [row], lost[row.id])
        else:
            out.append(row.derive(node.name, {**row.values, node.output_key: paths.get(row.id, [])}))
    return Outcome(out, failed=failed)


async def _check_row(node: Cluster, row: Row) -> Sequence[Row]:
    if not any(key in row.values for key in node.embedding_keys):
        fields = ", ".join(row.values) or "none"
        raise ItemError(
            f"there is no field {' or '.join(map(repr, node.embedding_keys))}; the fields there are: {fields}"
        )
    return [row]


async def _tree(node: Cluster, rows: Sequence[Row], tools: Tools) -> Tree:
    if len(rows) < 2:
        tree = Tree(len(rows), (), (), tuple(range(len(rows))))
    else:
        vectors = await embed_whole([text_to_embed(row.values, node.embedding_keys) for row in rows], tools.embed)
        tree = await asyncio.to_thread(ward_tree, vectors)
    if node.is_flat:
        return cut(tree, clusters=node.num_clusters, distance=node.distance_threshold)
    return tree if node.collapse is None else collapse(tree, node.collapse)


class Naming:
    """Names the clusters of a tree, those of rows first. Then `paths` and `failed` say what became of each row."""

    def __init__(self, node: Cluster, rows: Sequence[Row], tree: Tree, tools: Tools) -> None:
        self.paths: list[list[dict[str, Any]]] = [[] for _ in rows]
        self.failed: dict[int, Failure] = {}
        self._node = node
        self._rows = rows
        self._tree = tree
        self._tools = tools
        self._names: dict[int, dict[str, Any]] = {}
        self._slots = asyncio.Semaphore(node.max_batch_size or len(rows) or 1)

    async def run(self) -> None:
        """Name all clusters, level by level; a flat tree has one level, its roots."""
        levels = [list(self._tree.roots)] if self._node.is_flat else self._tree.levels()
        total, done = sum(map(len, levels)), 0
        for level in levels:
            names = await attempt_all(level, self._name, functools.partial(self._report, done, total))
            done += len(level)
            for cluster, name in zip(level, names, strict=True):
                self._keep(cluster, name)

    def _report(self, before: int, total: int, done: int, _: int) -> None:
        self._tools.progress(before + done, total)

    def _keep(self, cluster: int, name: dict[str, Any] | Failure | None) -> None:
        rows = [row for row in self._tree.rows_of(cluster) if row not in self.failed]
        if isinstance(name, Failure):
            self.failed |= dict.fromkeys(rows, name)
        elif name is not None:
            self._names[cluster] = {DISTANCE: self._tree.distance(cluster), **name}
            for row in rows:
                self.paths[row].append(self._names[cluster])

    async def _name(self, cluster: int) -> dict[str, Any] | None:
        """Name one cluster; None if nothing is left of it."""
        below = self._tree.rows_of(cluster) if self._node.is_flat else self._tree.children_of(cluster)
        inputs = [visible(self._rows[n].values) if self._tree.is_row(n) else self._names.get(n) for n in below]
        known = [values for values in inputs if values is not None]
        async with self._slots:
            return await self._summarize(known, self._rows[self._tree.rows_of(cluster)[0]]) if known else None

    async def _summarize(self, inputs: Sequence[Mapping[str, Any]], first: Row) -> dict[str, Any]:
        """Ask for a name; of more inputs than fit, name as many as do at a time, and then those names."""
        while len(inputs) > 1 and self._node.names_clusters_again:
            batches = pack(len(inputs), functools.partial(self._fits, inputs, first))
            if len(batches) in (1, len(inputs)):
                break
            inputs = [await self._ask(inputs[start:stop], first) for start, stop in batches]
        return await self._ask(inputs, first)

    def _fits(self, inputs: Sequence[Mapping[str, Any]], first: Row, start: int, stop: int) -> bool:
        return fits(self._node, self._question(inputs[start:stop], first), self._tools)

    async def _ask(self, inputs: Sequence[Mapping[str, Any]], first: Row) -> dict[str, Any]:
        return await ask(self._node, self._question(inputs, first), self._tools)

    def _question(self, inputs: Sequence[Mapping[str, Any]], first: Row) -> Question:
        node = self._node
        return Question(
            prompt=node.summary_prompt.render(inputs=inputs),
            json_schema=node.summary_schema.json_schema(quote_source(inputs, node.summary_prompt, "inputs")),
            form=node.summary_schema.describe(),
            read=node.summary_schema.read,
            texts=[text for values in inputs for text in texts_of(values)],
            task=f"name {len(inputs)} alike",
            row_id=first.id,
            values={"inputs": list(inputs)},
            template=node.summary_prompt,
        )


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


def ward_tree(vectors: Matrix) -> Tree:
    """Merge the two nearest of two rows or more until one is left (Ward's criterion on distances, as DocETL does)."""
    from scipy.cluster.hierarchy import ward  # noqa: PLC0415 - a third of a second, needed by few pipelines
    from scipy.spatial.distance import pdist  # noqa: PLC0415

    count = len(vectors)
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


OPERATOR = Operator(Cluster, run)
