"""Score texts by how well they answer a query, without a model call: full text, embeddings, or both.

Shared by the operators that pick the best rows or passages. Scores of different methods cannot be compared.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from typing import Literal

import numpy as np

from models.matrices import Matrix, new_matrix

Method = Literal["fts", "embedding", "hybrid"]

Embed = Callable[[Sequence[str]], Awaitable[Matrix]]
"""Texts to unit vectors, shape (len(texts), dimensions): `Tools.embed`."""

FUSION_RANKS = 60
"""The k of reciprocal rank fusion: the larger, the less the first ranks stand out (Cormack et al. 2009)."""

PIECE_CHARACTERS = 900
"""The embedding model reads about 1,000 characters and ignores the rest, so longer texts are embedded in pieces."""

STEP = 4096
"""Vectors put together at once, for many are no plain memory (models.matrices)."""

MOST_WORDS = 1000
"""Different words of a query that are searched for; those after them hardly change a rank."""

_WORD = re.compile(r"[^\W_]+")


async def rank(method: str, query: str, texts: Sequence[str], embed: Embed, *, meant: str = "") -> list[float]:
    """Score texts by a Method: the higher the better, same order as `texts`. `meant` is embedded instead of `query`."""
    by_text = rank_by_text(query, texts) if method != "embedding" else []
    by_embedding = await rank_by_embedding(meant or query, texts, embed) if method != "fts" else []
    return fused(by_text, by_embedding) if method == "hybrid" else by_text or by_embedding


def rank_by_text(query: str, texts: Sequence[str]) -> list[float]:
    """Score texts by BM25 over stemmed words (SQLite FTS5); any word of the query may match. 0 where none does."""
    words = list(dict.fromkeys(word.casefold() for word in _WORD.findall(_encodable(query))))[:MOST_WORDS]
    scores = [0.0] * len(texts)
    if not words:
        return scores
    with closing(sqlite3.connect(":memory:")) as index:
        index.execute("CREATE VIRTUAL TABLE texts USING fts5 (text, tokenize = 'porter unicode61 remove_diacritics 2')")
        index.executemany("INSERT INTO texts (rowid, text) VALUES (?, ?)", enumerate(map(_encodable, texts)))
        hits = index.execute(
            "SELECT rowid, bm25(texts) FROM texts WHERE texts MATCH ?", [" OR ".join(f'"{word}"' for word in words)]
        )
        for position, negative in hits:
            scores[position] = -negative
    return scores


async def rank_by_embedding(query: str, texts: Sequence[str], embed: Embed) -> list[float]:
    """Score texts by the cosine of the query and their most similar piece: -1 to 1."""
    cut = [pieces(text) for text in texts]
    vectors = await embed([query, *(piece for parts in cut for piece in parts)])
    cosines = (vectors[1:] @ vectors[0]).tolist()
    scores, start = [], 0
    for parts in cut:
        scores.append(float(max(cosines[start : start + len(parts)])))
        start += len(parts)
    return scores


async def embed_whole(texts: Sequence[str], embed: Embed) -> Matrix:
    """Give each text one unit vector, the mean over its pieces: shape (len(texts), dimensions)."""
    cut = [pieces(text) for text in texts]
    vectors = await embed([piece for parts in cut for piece in parts])
    if len(vectors) == len(texts):
        return vectors
    ends = np.cumsum([len(parts) for parts in cut])
    starts = np.concatenate(([0], ends[:-1]))
    whole = new_matrix(len(texts), vectors.shape[1])
    for first in range(0, len(texts), STEP):
        last = min(first + STEP, len(texts))
        means = np.add.reduceat(vectors[starts[first] : ends[last - 1]], starts[first:last] - starts[first], axis=0)
        lengths = np.linalg.norm(means, axis=1, keepdims=True)
        whole[first:last] = means / np.maximum(lengths, np.finfo(np.float32).tiny)
    return whole


def fused(by_text: Sequence[float], by_embedding: Sequence[float]) -> list[float]:
    """Add the scores of each text's two ranks; a text without any word of the query gets none for its words."""
    return [
        (reciprocal(text_rank) if score > 0 else 0.0) + reciprocal(embedding_rank)
        for score, text_rank, embedding_rank in zip(by_text, ranks(by_text), ranks(by_embedding), strict=True)
    ]


def reciprocal(rank: int) -> float:
    """Score a rank, from 1, for the sum over rankings (reciprocal rank fusion)."""
    return 1 / (FUSION_RANKS + rank)


def ranks(scores: Sequence[float]) -> list[int]:
    """Rank scores from 1, the highest; equal ones share a rank, so that the order of rows does not matter."""
    place: dict[float, int] = {}
    for number, score in enumerate(sorted(scores, reverse=True), 1):
        place.setdefault(score, number)
    return [place[score] for score in scores]


def best(scores: Sequence[float], count: int) -> list[int]:
    """Return the indices of the highest scores, best first; of equal ones the first."""
    return sorted(range(len(scores)), key=lambda i: (-scores[i], i))[:count]


def pieces(text: str) -> list[str]:
    """Cut a text at white space into pieces the embedding model reads whole; at least one."""
    if len(text) <= PIECE_CHARACTERS:
        return [text]
    parts, rest = [], text
    while len(rest) > PIECE_CHARACTERS:
        cut = re.search(r"\s\S*$", rest[:PIECE_CHARACTERS])
        end = cut.start() + 1 if cut else PIECE_CHARACTERS
        parts.append(rest[:end])
        rest = rest[end:]
    return [*parts, rest] if rest.strip() else parts


def _encodable(text: str) -> str:
    """Replace what is no UTF-8: lone surrogates, which text layers of PDFs do contain."""
    return text.encode("utf-8", errors="replace").decode()
