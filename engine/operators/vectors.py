"""The text by which rows are compared, and the rows that stand for all (k-means)."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from engine.operators.mentions import shown
from models.matrices import Matrix


def text_to_embed(values: Mapping[str, Any], keys: Collection[str]) -> str:
    """Join the values of `keys` with spaces, the items of a list with commas; empty and missing ones are left out."""
    parts = [values.get(key) for key in keys]
    return " ".join(_plain(value) for value in parts if value not in (None, "", [], {}))


def _plain(value: Any) -> str:
    return ", ".join(map(shown, value)) if isinstance(value, list | tuple) else shown(value)


def representatives(vectors: Matrix, count: int, seed: int) -> list[int]:
    """Choose `count` of the vectors that stand for all: the one nearest to the middle of each k-means cluster.

    The same vectors and seed give the same choice, ascending. Equal vectors count once; where there are fewer
    different ones than `count`, the first of the others are added.
    """
    _, first = np.unique(vectors, axis=0, return_index=True)
    distinct = sorted(first.tolist())
    chosen = distinct if len(distinct) <= count else [distinct[i] for i in _central(vectors[distinct], count, seed)]
    others = [i for i in range(len(vectors)) if i not in set(chosen)]
    return sorted([*chosen, *others[: max(0, count - len(chosen))]])


def _central(vectors: Matrix, count: int, seed: int) -> list[int]:
    """Choose the vector nearest to the middle of each of `count` clusters."""
    from scipy.cluster.vq import kmeans2  # noqa: PLC0415 - a third of a second, needed by few pipelines

    first = _spread(vectors, count, np.random.default_rng(seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a cluster may end up empty: it is left out below
        middles, labels = kmeans2(vectors.astype(np.float64), vectors[first].astype(np.float64), minit="matrix")
    distances = np.linalg.norm(vectors - middles[labels], axis=1)
    return [int(min(np.flatnonzero(labels == label), key=lambda i: (distances[i], i))) for label in np.unique(labels)]


def _spread(vectors: Matrix, count: int, generator: np.random.Generator) -> list[int]:
    """Draw where clusters begin, far from each other, as k-means++ does (scipy's own takes time in count squared)."""
    chosen = [int(generator.integers(len(vectors)))]
    squares = np.full(len(vectors), np.inf)
    while len(chosen) < count:
        squares = np.minimum(squares, np.sum((vectors - vectors[chosen[-1]]) ** 2, axis=1, dtype=np.float64))
        squares[chosen] = 0
        chosen.append(int(generator.choice(len(vectors), p=squares / squares.sum())))
    return chosen
