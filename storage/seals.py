"""Digests of what a run delivered and of what files were read as, and the comparison of a case with them.

The digest of the whole stands in the custody log (storage.custody). The digests of single rows, and four bytes for each
line, are kept beside it only to name what was changed: without the log they prove nothing.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from storage.codec import text_of, unpack
from storage.custody import BEGIN, Custody, CustodyEntry, canonical, commitment
from storage.documents import LINES_PER_DOCUMENT
from storage.errors import CustodyBroken, NotInCase
from storage.result_rows import ResultRows
from storage.reviews import Reviews, StoredEdit
from storage.topic import Topic

if TYPE_CHECKING:
    from storage.connection import Connection

MARK_BYTES: Final = 4
"""Bytes kept of each line, its CRC-32: enough to say which line differs where the digest of the whole does."""

_FEW: Final = 500
"""So many rows are asked for by number, more as a whole."""


class Seals(Topic):
    """The part of a case that seals results and documents, and compares them with their seals."""

    def __init__(self, connection: Connection, custody: Custody, results: ResultRows, reviews: Reviews) -> None:
        super().__init__(connection)
        self._custody = custody
        self._results = results
        self._reviews = reviews

    def seal_document(self, document_id: str) -> str:
        """Keep what names changed lines of a document; return the digest of its text, for the custody log."""
        with self._connection.transaction():
            digest, marks = self._document_digest(document_id)
            self._connection.execute(
                "INSERT OR REPLACE INTO document_seals (document, marks) VALUES (?, ?)",
                [self._document_key(document_id), marks],
            )
        return digest

    def is_document_sealed(self, document_id: str) -> bool:
        """Say whether a document was sealed when it was read."""
        key = self._document_key(document_id)
        return self._connection.first("SELECT 1 FROM document_seals WHERE document = ?", [key]) is not None

    def _document_digest(self, document_id: str) -> tuple[str, bytes]:
        """Return the digest of name, kind, body and lines of a document, and the marks of its lines."""
        key = self._document_key(document_id)
        row = self._connection.first("SELECT filename, kind, page_count, body FROM documents WHERE key = ?", [key])
        if row is None:
            raise NotInCase(f"the case {self._path} has no document {document_id}")
        filename, kind, pages, body = row
        head = [document_id, text_of(filename), kind, pages, hashlib.sha256(body).hexdigest()]
        parts, marks = [canonical(head).encode()], []
        for page, text in self._connection.query(
            "SELECT page, text FROM lines WHERE id BETWEEN ? AND ? ORDER BY id",
            [key * LINES_PER_DOCUMENT, (key + 1) * LINES_PER_DOCUMENT - 1],
        ):
            line = text if isinstance(text, bytes) else text.encode()
            parts.append(b"\n%d %d " % (page, len(line)) + line)
            marks.append(zlib.crc32(parts[-1]).to_bytes(MARK_BYTES, "big"))
        return hashlib.sha256(b"".join(parts)).hexdigest(), b"".join(marks)

    def seal_results(self, run_id: str) -> tuple[int, str]:
        """Keep the digest of each row of the results; return how many there are and the digest of all, for the log."""
        with self._connection.transaction():
            leaves = [(number, row_id, digest) for number, row_id, digest, _ in self._row_digests(run_id, None)]
            self._connection.execute("DELETE FROM row_seals WHERE run = ?", [run_id])
            self._connection.execute_many(
                "INSERT INTO row_seals (run, position, row, digest) VALUES (?, ?, ?, ?)",
                ((run_id, *leaf) for leaf in leaves),
            )
            return len(leaves), _root(self._results.columns(run_id), [digest for _, _, digest in leaves])

    def _row_digests(
        self, run_id: str, numbers: Sequence[int] | None
    ) -> Iterator[tuple[int, str, bytes, tuple[str, ...]]]:
        """Yield number, id, digest and documents of rows: all results, or those of `numbers`."""
        places: dict[str, list[Any]] = {}
        few = numbers if numbers is not None and len(numbers) <= _FEW else ()
        some = f" AND x.position IN ({', '.join('?' * len(few))})" if few else ""
        for row_id, *place in self._connection.query(
            'SELECT i.id, e."column", e.path, d.id, e.page, e.first_line, e.last_line, e.method, e.score'
            " FROM evidence e JOIN results x ON x.row = e.row JOIN row_ids i ON i.key = e.row"
            f" LEFT JOIN documents d ON d.key = e.document WHERE x.run = ?{some} ORDER BY e.key",
            [run_id, *few],
        ):
            places.setdefault(text_of(row_id), []).append([_plain(part) for part in place])
        for row in self._results.read(run_id, numbers=numbers):
            cited = places.get(row.id, [])
            text = canonical([row.id, row.values, sorted(row.documents), cited])
            documents = dict.fromkeys([*row.documents, *(place[2] for place in cited if place[2] is not None)])
            yield row.number, row.id, hashlib.sha256(text.encode()).digest(), tuple(documents)

    def changes(self, run_id: str, *, only: Collection[str] | None = None, reviews: bool = False) -> tuple[str, ...]:
        """Name what of the results of a run, and of the documents that they cite, differs from the custody log.

        Of a run that ended before the log began nothing can be said, so there is nothing. `only`: the ids of the rows
        to look at, all if None. `reviews`: compare what reviewers said too. Raises NotInCase.
        """
        with self._connection.at_one_moment():  # else a review that is made meanwhile would pass for a forged one
            return self._changes(run_id, only, reviews=reviews)

    def _changes(self, run_id: str, only: Collection[str] | None, *, reviews: bool) -> tuple[str, ...]:
        self._need_run(run_id)
        if not self._custody.has_begun():
            return ()
        try:
            entries = self._custody.entries()
        except CustodyBroken as error:
            return (str(error),)
        said = self._changed_reviews(entries) if reviews else []
        # The first entry counts: a run delivers once, and whoever changes a row could add another entry.
        sealed = next((e for e in entries if e.event == "results" and e.body.get("run") == run_id), None)
        if sealed is None:
            before = entries[0].event == BEGIN and int(run_id) <= int(entries[0].body.get("runs_before", 0))
            gone = [] if before else [f"the custody log has no entry for the results of run {run_id}"]
            return (*gone, *said)
        changed, documents = self._changed_rows(run_id, sealed, only)
        readings = _readings(entries)
        lines = [change for id in documents for change in self._changed_lines(id, readings.get(id, ()), sealed)]
        return (*changed, *lines, *said)

    def _changed_rows(
        self, run_id: str, sealed: CustodyEntry, only: Collection[str] | None
    ) -> tuple[list[str], list[str]]:
        """Name the rows that differ, and list the documents of all that were looked at."""
        kept = self._connection.query(
            "SELECT position, row, digest FROM row_seals WHERE run = ? ORDER BY position", [run_id]
        )
        changed = []
        if _root(self._results.columns(run_id), [digest for _, _, digest in kept]) != sealed.body.get("sha256"):
            changed.append(
                f"the columns of run {run_id}, or the digests of its rows, are not those of entry {sealed.number} of "
                "the custody log"
            )
        by_position = {position: (text_of(row), digest) for position, row, digest in kept}
        numbers = None if only is None else sorted(self._results.numbers(run_id, list(only)))
        documents: dict[str, None] = {}
        seen = set()
        for number, row_id, digest, cited in self._row_digests(run_id, numbers):
            seen.add(number)
            documents.update(dict.fromkeys(cited))
            if by_position.get(number) != (row_id, digest):
                changed.append(f"row {number + 1} (id {row_id})")
        gone = [] if only is not None else sorted(by_position.keys() - seen)
        changed += [f"row {number + 1} (id {by_position[number][0]}), which is gone" for number in gone]
        return changed, list(documents)

    def _changed_lines(self, document_id: str, readings: Sequence[CustodyEntry], sealed: CustodyEntry) -> list[str]:
        """Name the first line of a document that differs from what the run read; nothing for one the log has not."""
        if not readings:
            return []
        # What the run saw: the last reading before its results, or, of a document older than the log, the first.
        then = next((e for e in reversed(readings) if e.number < sealed.number), readings[0])
        digest, marks = self._document_digest(document_id)
        if digest == then.body["text_sha256"]:
            return []
        name = self._name_of(document_id)
        later = next((e for e in readings if e.number > then.number and e.body["text_sha256"] == digest), None)
        if later is not None:
            return [f"{name}, which was read again after the run, with another text (entry {later.number} of the log)"]
        kept = self._connection.first(
            "SELECT marks FROM document_seals WHERE document = ?", [self._document_key(document_id)]
        )
        before: bytes = kept[0] if kept else b""
        for number, start in enumerate(range(0, max(len(marks), len(before)), MARK_BYTES), 1):
            if marks[start : start + MARK_BYTES] != before[start : start + MARK_BYTES]:
                return [f"line {number} of {name}"]
        return [f"the stored pages, name or kind of {name}"]

    def _name_of(self, document_id: str) -> str:
        row = self._connection.first("SELECT filename FROM documents WHERE id = ?", [document_id])
        return text_of(row[0]) if row else document_id

    def review_facts(self, step: int) -> list[Any]:
        """Return all that a step of the reviews says, in one form, for the custody log to bind."""
        rows = self._connection.query(
            "SELECT run, row, row_digest, field, kind, original, body, who, made_at FROM review_edits"
            " WHERE step = ? ORDER BY key",
            [step],
        )
        return [
            [str(run), text_of(row), row_digest.hex(), text_of(name), kind, unpack(original), unpack(body)]
            + [text_of(who), made_at]
            for run, row, row_digest, name, kind, original, body, who, made_at in rows
        ]

    def _changed_reviews(self, entries: Sequence[CustodyEntry]) -> list[str]:
        """Name the steps of the reviews that hold and are not as the log binds them, or that are gone."""
        logged: dict[int, CustodyEntry] = {}
        holding: dict[int, CustodyEntry] = {}
        for entry in entries:
            if entry.event == "review":
                logged[entry.body["step"]] = holding[entry.body["step"]] = entry
            elif entry.event == "review_undone":
                holding.pop(entry.body["step"], None)
            elif entry.event == "review_redone" and entry.body["step"] in logged:
                holding[entry.body["step"]] = logged[entry.body["step"]]
        before = int(entries[0].body.get("reviews_before", 0)) if entries[0].event == BEGIN else 0
        edits: dict[int, list[StoredEdit]] = {}
        for stored in self._reviews.edits():
            edits.setdefault(stored.step, []).append(stored)
        changed = []
        for step, made in edits.items():
            bound = holding.get(step)
            if bound is None and step not in logged and all(edit.number <= before for edit in made):
                continue
            if bound is None or commitment(bound.secret, self.review_facts(step)) != bound.body["commitment"]:
                changed.append(f"step {step} of the reviews, by {made[0].who}")
        gone = sorted(holding.keys() - edits.keys())
        return changed + [f"step {step} of the reviews, which is gone" for step in gone]


def _readings(entries: Sequence[CustodyEntry]) -> dict[str, list[CustodyEntry]]:
    """Return the entries that tell what each document was read as, in order, by its id."""
    readings: dict[str, list[CustodyEntry]] = {}
    for entry in entries:
        if "text_sha256" in entry.body:
            readings.setdefault(str(entry.body.get("sha256")), []).append(entry)
    return readings


def _root(columns: Sequence[str], leaves: Sequence[bytes]) -> str:
    """Return the digest of a table: SHA-256 over its columns and the digests of its rows in order."""
    head = canonical({"columns": list(columns), "rows": len(leaves)}).encode()
    return hashlib.sha256(head + b"".join(leaves)).hexdigest()


def _plain(value: Any) -> Any:
    return text_of(value) if isinstance(value, bytes) else value
