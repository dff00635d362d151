"""Vectors of rows, for operators that group or choose by meaning: long texts piece by piece, k-means."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.language.sandbox import to_json
from engine.operators.base import Tools

Vectors = NDArray[np.float32]

PIECE_BYTES = 750
"""UTF-8 bytes embedded at once: below the 256 tokens that the embedding model reads, in scripts of 3 bytes too."""

_WORD = re.compile(r"\S+\s*|\s+")


def text_to_embed(values: Mapping[str, Any], keys: Sequence[str]) -> str:
    """Join the values of `keys` (all if there are none) with spaces; null and missing ones are left out."""
    found = [values.get(key) for key in keys or values]
    return " ".join(value if isinstance(value, str) else to_json(value) for value in found if value is not None)


async def embed_whole(texts: Sequence[str], tools: Tools) -> Vectors:
    """Embed texts of any length: the mean of the vectors of a text's pieces, by length, as a unit vector."""
    cut = [list(pieces(text)) for text in texts]
    vectors = await tools.embed([piece for parts in cut for piece in parts])
    means: list[Vectors] = []
    start = 0
    for parts in cut:
        own = vectors[start : start + len(parts)]
        start += len(parts)
        means.append(own[0] if len(parts) == 1 else _mean(own, [len(part.encode(errors="replace")) for part in parts]))
    return np.stack(means) if means else np.empty((0, 0), np.float32)


def pieces(text: str) -> Iterator[str]:
    """Cut a text at white space into pieces of at most PIECE_BYTES that join to it; longer words are cut inside."""
    piece, size = "", 0
    for word in _short_words(text):
        length = len(word.encode(errors="replace"))
        if piece and size + length > PIECE_BYTES:
            yield piece
            piece, size = "", 0
        piece, size = piece + word, size + length
    yield piece


def _short_words(text: str) -> Iterator[str]:
    most = PIECE_BYTES // 4  # a character has at most 4 bytes
    for found in _WORD.finditer(text):
        word = found.group()
        yield from (word[i : i + most] for i in range(0, len(word), most))


def _mean(vectors: Vectors, weights: Sequence[int]) -> Vectors:
    mean = np.average(vectors, axis=0, weights=weights)
    length = float(np.linalg.norm(mean))
    return np.asarray(mean / length if length else vectors[0], np.float32)


def representatives(vectors: Vectors, count: int, seed: int) -> list[int]:
    """Choose `count` of the vectors that stand for all: the one nearest to the middle of each k-means cluster.

    The same vectors and seed give the same choice, ascending. Equal vectors count once; where there are fewer
    different ones than `count`, the first of the others are added.
    """
    _, first = np.unique(vectors, axis=0, return_index=True)
    distinct = sorted(first.tolist())
    chosen = distinct if len(distinct) <= count else [distinct[i] for i in _central(vectors[distinct], count, seed)]
    others = [i for i in range(len(vectors)) if i not in set(chosen)]
    return sorted([*chosen, *others[: max(0, count - len(chosen))]])


def _central(vectors: Vectors, count: int, seed: int) -> list[int]:
    """Choose the vector nearest to the middle of each of `count` clusters."""
    from scipy.cluster.vq import kmeans2  # noqa: PLC0415 - a third of a second, needed by few pipelines

    first = _spread(vectors, count, np.random.default_rng(seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a cluster may end up empty: it is left out below
        middles, labels = kmeans2(vectors.astype(np.float64), vectors[first].astype(np.float64), minit="matrix")
    distances = np.linalg.norm(vectors - middles[labels], axis=1)
    return [int(min(np.flatnonzero(labels == label), key=lambda i: (distances[i], i))) for label in np.unique(labels)]


def _spread(vectors: Vectors, count: int, generator: np.random.Generator) -> list[int]:
    """Draw where clusters begin, far from each other, as k-means++ does (scipy's own takes time in count squared)."""
    chosen = [int(generator.integers(len(vectors)))]
    squares = np.full(len(vectors), np.inf)
    while len(chosen) < count:
        squares = np.minimum(squares, np.sum((vectors - vectors[chosen[-1]]) ** 2, axis=1, dtype=np.float64))
        squares[chosen] = 0
        chosen.append(int(generator.choice(len(vectors), p=squares / squares.sum())))
    return chosen
