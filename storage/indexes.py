"""Full-text indexes over texts that a run puts together (retrievers), each in a table of its own.

A word that is rare in one index may be frequent in another, and search weighs words by that. Texts go by their
position, from 0; whoever made the index knows what stands there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from storage.topic import Topic

MOST_WORDS: Final = 200
"""Words of a query that are looked for; a whole document may be asked about."""

_WORD = re.compile(r"\w+")


class TextIndexes(Topic):
    """The part of a case that holds full-text indexes."""

    def save(self, name: str, digest: str, texts: Sequence[str]) -> None:
        """Make the index of that name over `texts`; one of the same digest is left as it is, another replaced."""
        if self._index_key(name, digest) is not None:
            return
        with self._connection.transaction(relaxed=True):
            self._forget(name)
            key = self._connection.insert(
                "INSERT INTO text_indexes (name, digest, texts) VALUES (?, ?, ?)", [name, digest, len(texts)]
            )
            self._connection.execute(
                f"CREATE VIRTUAL TABLE text_index_{key} USING fts5"
                " (text, content = '', tokenize = 'unicode61 remove_diacritics 2')"
            )
            self._connection.execute_many(
                f"INSERT INTO text_index_{key} (rowid, text) VALUES (?, ?)",
                ((number, text.replace("\0", " ")) for number, text in enumerate(texts)),
            )

    def _forget(self, name: str) -> None:
        for (key,) in self._connection.query("SELECT key FROM text_indexes WHERE name = ?", [name]):
            self._connection.execute(f"DROP TABLE text_index_{int(key)}")
            self._connection.execute("DELETE FROM text_indexes WHERE key = ?", [key])

    def _index_key(self, name: str, digest: str) -> int | None:
        row = self._connection.first("SELECT key FROM text_indexes WHERE name = ? AND digest = ?", [name, digest])
        return int(row[0]) if row else None

    def search(self, name: str, digest: str, query: str, limit: int) -> list[tuple[int, float]]:
        """Find the texts that hold any word of `query`: (position, score) by falling BM25 score, then by position.

        Rare words weigh more. Any characters may stand in a query; one without a word finds nothing, and so does an
        index that was not saved.
        """
        words = list(dict.fromkeys(word.casefold() for word in _WORD.findall(query)))[:MOST_WORDS]
        key = self._index_key(name, digest)
        if key is None or not words or limit < 1:
            return []
        expression = " OR ".join(f'"{word}"' for word in words)
        matches = self._connection.query(
            f"SELECT rowid, -rank FROM text_index_{key} WHERE text_index_{key} MATCH ? ORDER BY rank, rowid LIMIT ?",
            [expression, limit],
        )
        return [(int(position), float(score)) for position, score in matches]
