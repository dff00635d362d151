"""What people say of documents (tags, stars, that they are removed), and what a table shows besides the file itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from storage.codec import text_of
from storage.errors import BadRecord
from storage.folding import folded, folding
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

    def remove_documents(self, document_ids: Iterable[str]) -> list[str]:
        """Take documents out: lists, searches and later runs leave them out, and results that are there keep them.

        What stands only inside of them (attachments) goes with them. Return those that were not removed before, sorted.
        Raises NotInCase.
        """
        with self._connection.transaction():
            keys = self._document_keys(self.with_contents(document_ids))
            new = [id for id in sorted(keys) if not self.is_removed(id)]
            for id in new:
                self._connection.execute(
                    "INSERT INTO removed_documents (document, removed_at) VALUES (?, ?)", [keys[id], now()]
                )
        return new

    def put_back_documents(self, document_ids: Iterable[str]) -> list[str]:
        """Undo `remove_documents`; return those that had been removed, sorted. Raises NotInCase."""
        with self._connection.transaction():
            keys = self._document_keys(self.with_contents(document_ids))
            back = [id for id in sorted(keys) if self.is_removed(id)]
            for id in back:
                self._connection.execute("DELETE FROM removed_documents WHERE document = ?", [keys[id]])
        return back

    def with_contents(self, document_ids: Iterable[str]) -> set[str]:
        """Add the documents that were found in these and nowhere else; raises NotInCase."""
        chosen = set(self._document_keys(set(document_ids)).values())
        while True:
            marks = ", ".join(map(str, sorted(chosen)))
            rows = self._connection.query(
                f"SELECT d.key FROM documents d JOIN paths p ON p.document = d.key WHERE d.key NOT IN ({marks})"
                f" GROUP BY d.key HAVING min(coalesce(p.parent IN ({marks}), 0))"
            )
            inside = {key for (key,) in rows}
            if not inside:
                break
            chosen |= inside
        marks = ", ".join(map(str, sorted(chosen)))
        return {id for (id,) in self._connection.query(f"SELECT id FROM documents WHERE key IN ({marks})")}

    def count_result_rows_of(self, document_ids: Iterable[str], *, reviewed: bool = False) -> int:
        """Count the rows of results, over all runs, with evidence in some documents; raises NotInCase.

        `reviewed`: only those in which a person made an edit that was not undone.
        """
        marks = ", ".join(map(str, sorted(self._document_keys(set(document_ids)).values())))
        edited = (
            " AND EXISTS (SELECT 1 FROM review_edits r JOIN row_ids i ON i.id = r.row WHERE i.key = x.row"
            " AND r.run = x.run AND r.is_undone = 0)"
        )
        return self._connection.count(
            "SELECT count(*) FROM (SELECT DISTINCT x.run, x.row FROM results x JOIN evidence e ON e.row = x.row"
            f" WHERE e.document IN ({marks or 'NULL'}){edited if reviewed else ''})"
        )

    def is_removed(self, document_id: str) -> bool:
        """Say whether a document was taken out; raises NotInCase."""
        key = self._document_key(document_id)
        return self._connection.first("SELECT 1 FROM removed_documents WHERE document = ?", [key]) is not None

    def removed_paths(self) -> set[str]:
        """Return the paths at which removed documents were found."""
        rows = self._connection.query("SELECT p.path FROM paths p JOIN removed_documents r ON r.document = p.document")
        return {text_of(path) for (path,) in rows}

    def tag(self, document_ids: Iterable[str], name: str) -> None:
        """Tag documents; letters' case does not make two tags of one. Raises NotInCase or BadRecord."""
        clean = _checked(name)
        with self._connection.transaction():
            tag = self._tag_key(clean) or self._connection.insert("INSERT INTO tags (name) VALUES (?)", [clean])
            for key in self._document_keys(set(document_ids)).values():
                self._connection.execute(
                    "INSERT INTO document_tags (document, tag) VALUES (?, ?) ON CONFLICT DO NOTHING", [key, tag]
                )

    def untag(self, document_ids: Iterable[str], name: str) -> None:
        """Take a tag off documents; one that no document has any more is forgotten. Raises NotInCase."""
        with self._connection.transaction():
            tag = self._tag_key(name.strip())
            for key in self._document_keys(set(document_ids)).values():
                self._connection.execute("DELETE FROM document_tags WHERE document = ? AND tag = ?", [key, tag])
            self._connection.execute(
                "DELETE FROM tags WHERE key = ? AND key NOT IN (SELECT tag FROM document_tags)", [tag]
            )

    def _tag_key(self, name: str) -> int:
        """Find a tag; 0 where there is none. Earlier versions told case apart beyond ASCII: the same name is first."""
        return self._connection.count(
            f"SELECT key FROM tags WHERE {folding('name')} = ? ORDER BY name != ?, key LIMIT 1", [folded(name), name]
        )

    def tags(self) -> list[str]:
        """List the tags in use, by name."""
        return [name for (name,) in self._connection.query("SELECT name FROM tags ORDER BY name")]


def _checked(name: str) -> str:
    clean = " ".join(name.split())
    if not clean or len(clean) > LONGEST_TAG or not clean.isprintable():
        raise BadRecord(f"a tag has 1 to {LONGEST_TAG} printable characters, not {name!r}", advice="Choose another.")
    return clean
