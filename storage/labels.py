"""What people say of documents, tags and stars, and what a table of documents shows besides the file itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from storage.errors import BadRecord
from storage.topic import Topic, now

LONGEST_TAG = 60
"""Characters of a tag."""


@dataclass(frozen=True, slots=True)
class DocumentFacts:
    """What was found out about a document when it was read.

    `language` is an ISO 639-1 code, empty when unknown; `year` the one it is about, None when unknown; `read_seconds`
    how long reading took, None when that was not measured.
    """

    ocr_pages: int
    language: str
    year: int | None
    read_seconds: float | None = None


class Labels(Topic):
    """The part of a case that holds tags, stars and facts of documents."""

    def save_facts(self, document_id: str, facts: DocumentFacts) -> None:
        """Save the facts of a document, in place of earlier ones; raises NotInCase."""
        with self._connection.transaction(relaxed=True):
            self._connection.execute(
                "INSERT OR REPLACE INTO document_facts (document, ocr_pages, language, year, read_seconds)"
                " VALUES (?, ?, ?, ?, ?)",
                [self._document_key(document_id), facts.ocr_pages, facts.language, facts.year, facts.read_seconds],
            )

    def documents_without_facts(self, limit: int) -> list[str]:
        """List up to `limit` documents that an earlier version of Redwell read without keeping facts."""
        rows = self._connection.query(
            "SELECT id FROM documents WHERE key NOT IN (SELECT document FROM document_facts) ORDER BY key LIMIT ?",
            [limit],
        )
        return [document for (document,) in rows]

    def star(self, document_ids: Iterable[str], *, on: bool = True) -> None:
        """Give documents a star, or take it away; raises NotInCase."""
        sql = (
            "INSERT INTO stars (document, starred_at) VALUES (?, ?) ON CONFLICT DO NOTHING"
            if on
            else "DELETE FROM stars WHERE document = ?"
        )
        with self._connection.transaction():
            for key in self._document_keys(set(document_ids)).values():
                self._connection.execute(sql, [key, now()] if on else [key])

    def tag(self, document_ids: Iterable[str], name: str) -> None:
        """Tag documents; letters' case does not make two tags of one. Raises NotInCase or BadRecord."""
        clean = _checked(name)
        with self._connection.transaction():
            self._connection.execute("INSERT INTO tags (name) VALUES (?) ON CONFLICT DO NOTHING", [clean])
            tag = self._connection.count("SELECT key FROM tags WHERE name = ?", [clean])
            for key in self._document_keys(set(document_ids)).values():
                self._connection.execute(
                    "INSERT INTO document_tags (document, tag) VALUES (?, ?) ON CONFLICT DO NOTHING", [key, tag]
                )

    def untag(self, document_ids: Iterable[str], name: str) -> None:
        """Take a tag off documents; one that no document has any more is forgotten. Raises NotInCase."""
        with self._connection.transaction():
            tag = self._connection.count("SELECT key FROM tags WHERE name = ?", [name.strip()])
            for key in self._document_keys(set(document_ids)).values():
                self._connection.execute("DELETE FROM document_tags WHERE document = ? AND tag = ?", [key, tag])
            self._connection.execute(
                "DELETE FROM tags WHERE key = ? AND key NOT IN (SELECT tag FROM document_tags)", [tag]
            )

    def tags(self) -> list[str]:
        """List the tags in use, by name."""
        return [name for (name,) in self._connection.query("SELECT name FROM tags ORDER BY name")]


def _checked(name: str) -> str:
    clean = " ".join(name.split())
    if not clean or len(clean) > LONGEST_TAG or not clean.isprintable():
        raise BadRecord(f"a tag has 1 to {LONGEST_TAG} printable characters, not {name!r}", advice="Choose another.")
    return clean
