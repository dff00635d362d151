"""Vectors of texts (embeddings), kept under the model and the SHA-256 of the text, so that none is computed twice.

A body is the vector's bytes and then a short hash of model, text and vector: what has been damaged, or stands under
another text than its own, is not given out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from storage.topic import Topic

CHECK_BYTES: Final = 8


class Vectors(Topic):
    """The part of a case that holds vectors. `texts` are SHA-256 digests, 32 bytes each."""

    def get(self, model: str, texts: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the vectors that were saved of these texts; what is absent or damaged is left out."""
        key = self._connection.first("SELECT key FROM vector_models WHERE digest = ?", [model])
        if key is None:
            return {}
        rows = self._query_in("SELECT text, body FROM vectors WHERE model = ? AND text", texts, [key[0]])
        return dict(_sound(model, rows))

    def save(self, model: str, vectors: Mapping[bytes, bytes]) -> None:
        """Save vectors, all in one transaction; the latest of a text stands."""
        with self._connection.transaction(relaxed=True):
            self._connection.execute("INSERT INTO vector_models (digest) VALUES (?) ON CONFLICT DO NOTHING", [model])
            key = self._connection.count("SELECT key FROM vector_models WHERE digest = ?", [model])
            self._connection.execute_many(
                "INSERT INTO vectors (model, text, body) VALUES (?, ?, ?)"
                " ON CONFLICT (model, text) DO UPDATE SET body = excluded.body",
                ((key, text, vector + _check(model, text, vector)) for text, vector in vectors.items()),
            )

    def damaged(self) -> Iterator[bytes]:
        """Yield the texts whose vectors are not as they were saved."""
        for (model,) in self._connection.query("SELECT digest FROM vector_models"):
            rows = self._connection.raw_rows(
                "SELECT text, body FROM vectors WHERE model = (SELECT key FROM vector_models WHERE digest = ?)", [model]
            )
            for row in rows:
                if not any(_sound(model, [row])):
                    yield bytes(row[0]) if isinstance(row[0], bytes) else str(row[0]).encode()


def _sound(model: str, rows: Iterable[tuple[object, ...]]) -> Iterator[tuple[bytes, bytes]]:
    for text, body in rows:
        if isinstance(text, bytes) and isinstance(body, bytes):
            vector = body[:-CHECK_BYTES]
            if vector and body[-CHECK_BYTES:] == _check(model, text, vector):
                yield text, vector


def _check(model: str, text: bytes, vector: bytes) -> bytes:
    return hashlib.blake2b(b"\0".join((model.encode(), text, vector)), digest_size=CHECK_BYTES).digest()
