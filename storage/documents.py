"""Documents of a case: parsed bodies, numbered lines, the paths they were found at, and files that failed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

from storage.checksums import BODY_IS_WHOLE, checksum, is_whole
from storage.codec import optional_text, pack, storable, text_of, unpack_object
from storage.errors import BadRecord
from storage.topic import Topic, now

LINES_PER_DOCUMENT = 1 << 28
"""The schema's multiplier: a line's id is `document key * LINES_PER_DOCUMENT + number`."""


@dataclass(frozen=True, slots=True)
class LineRecord:
    """One line: `number` counts from 1 over the whole document, `page` from 1.

    `hidden` says why no reader of the page sees it; None for an ordinary line.
    """

    number: int
    page: int
    text: str
    hidden: str | None = None

    @property
    def seen(self) -> str:
        """Return the text that a reader of the page sees: none of a hidden line."""
        return "" if self.hidden else self.text


@dataclass(frozen=True, slots=True)
class DocumentEntry:
    """A document without its body. `id` is the SHA-256 of the file's bytes, hexadecimal."""

    id: str
    filename: str
    kind: str
    size_bytes: int
    page_count: int
    line_count: int


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document and its body: what the caller gave as JSON, unchanged."""

    entry: DocumentEntry
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class DocumentPath:
    """A place where a document was found. `parent_id` is the mail or archive that holds it, None for a plain file."""

    path: str
    parent_id: str | None


@dataclass(frozen=True, slots=True)
class DocumentWarning:
    """What of a document was not read, or is doubtful."""

    document_id: str
    filename: str
    text: str


@dataclass(frozen=True, slots=True)
class FailedFile:
    """A file that could not be parsed. `sha256` is None when not even its bytes could be read."""

    path: str
    sha256: str | None
    reason: str
    message: str
    advice: str


class Documents(Topic):
    """The part of a case that holds documents."""

    def save(
        self,
        document_id: str,
        *,
        filename: str,
        kind: str,
        size_bytes: int,
        page_count: int,
        body: Mapping[str, Any],
        lines: Iterable[LineRecord],
        warnings: Sequence[str] = (),
    ) -> None:
        """Save a parsed document and its lines; one that is there already is replaced, and keeps its file name.

        A copy of the file may have another name, and results were delivered, and sealed, under the first.

        Lines must be numbered 1..n in order; raises BadRecord otherwise. `warnings` say what of the file was not read.
        """
        records = _checked(document_id, lines)
        with self._connection.transaction(relaxed=True):
            row = self._connection.first("SELECT key, filename FROM documents WHERE id = ?", [document_id])
            name = filename if row is None else text_of(row[1])
            kept = {"filename": name} if "filename" in body else {}
            fields = [name, kind, size_bytes, page_count, len(records), pack({**body, **kept}), now()]
            if row is None:
                key = self._insert(document_id, fields)
            else:
                key = int(row[0])
                self._replace(key, fields)
            self._add_lines(key, records)
            self._connection.execute("DELETE FROM document_warnings WHERE document = ?", [key])
            self._connection.execute_many(
                "INSERT INTO document_warnings (document, position, text) VALUES (?, ?, ?)",
                ((key, position, text) for position, text in enumerate(warnings)),
            )

    def _insert(self, document_id: str, fields: list[Any]) -> int:
        return self._connection.insert(
            "INSERT INTO documents (id, filename, kind, size_bytes, page_count, line_count, body, saved_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [document_id, *fields],
        )

    def _replace(self, key: int, fields: list[Any]) -> None:
        span = [key * LINES_PER_DOCUMENT, (key + 1) * LINES_PER_DOCUMENT - 1]
        self._connection.execute(
            "INSERT INTO lines_search (lines_search, rowid, text)"
            " SELECT 'delete', id, text FROM lines WHERE id BETWEEN ? AND ?",
            span,
        )
        self._connection.execute("DELETE FROM lines WHERE id BETWEEN ? AND ?", span)
        self._connection.execute(
            "UPDATE documents SET filename = ?, kind = ?, size_bytes = ?, page_count = ?, line_count = ?, body = ?,"
            " saved_at = ? WHERE key = ?",
            [*fields, key],
        )

    def _add_lines(self, key: int, lines: list[LineRecord]) -> None:
        start = key * LINES_PER_DOCUMENT
        rows = ((start + line.number, line.page, storable(line.text), line.hidden) for line in lines)
        self._connection.execute_many(
            "INSERT INTO lines (id, page, text, hidden, checksum) VALUES (?, ?, ?, ?, ?)",
            ((*values, checksum(*values)) for values in rows),
        )
        self._connection.execute(
            "INSERT INTO lines_search (rowid, text) SELECT id, text FROM lines WHERE id BETWEEN ? AND ?",
            [start, start + LINES_PER_DOCUMENT - 1],
        )

    def has(self, document_id: str) -> bool:
        """Say whether the document was parsed and saved."""
        return self._connection.first("SELECT 1 FROM documents WHERE id = ?", [document_id]) is not None

    def get(self, document_id: str) -> StoredDocument:
        """Return a document with its body; raises NotInCase."""
        key = self._document_key(document_id)
        rows = self._connection.query(f"SELECT {_ENTRY}, body, {_WHOLE_DOCUMENT} FROM documents d WHERE key = ?", [key])
        *row, body = self._whole(f"document {document_id}", rows)[0]
        return StoredDocument(_entry(tuple(row)), unpack_object(body))

    def entries(self) -> list[DocumentEntry]:
        """List all documents without their bodies, in the order they were first saved."""
        rows = self._connection.query(f"SELECT {_ENTRY}, {is_whole(d='documents')} FROM documents d ORDER BY key")
        return [_entry(row) for row in self._whole("a document", rows)]

    def lines(self, document_id: str, first: int = 1, last: int | None = None) -> list[LineRecord]:
        """Return lines `first` to `last`, both inclusive; None means to the end. Numbers beyond the end give none."""
        start = self._document_key(document_id) * LINES_PER_DOCUMENT
        stop = LINES_PER_DOCUMENT - 1 if last is None else min(last, LINES_PER_DOCUMENT - 1)
        rows = self._connection.query(
            f"SELECT id, page, text, hidden, {is_whole(l='lines')} FROM lines l WHERE id BETWEEN ? AND ? ORDER BY id",
            [start + max(first, 1), start + stop],
        )
        lines = self._whole(f"lines of document {document_id}", rows)
        return [LineRecord(line_id - start, page, text_of(text), hidden) for line_id, page, text, hidden in lines]

    def text_lengths(self, *, hidden: bool = False) -> dict[str, int]:
        """Count the characters of each document's text, lines joined by line breaks, in the order of reading.

        Hidden lines count as empty unless they are asked for. Whether lines are as they were written is not checked.
        """
        length = "length(CAST(l.text AS TEXT))"
        counted = length if hidden else f"CASE WHEN l.hidden IS NULL THEN {length} ELSE 0 END"
        rows = self._connection.query(
            f"SELECT d.id, coalesce(sum({counted} + 1) - 1, 0) FROM documents d"
            " LEFT JOIN lines l ON l.id BETWEEN d.key * ? AND d.key * ? + ? GROUP BY d.key ORDER BY d.key",
            [LINES_PER_DOCUMENT, LINES_PER_DOCUMENT, LINES_PER_DOCUMENT - 1],
        )
        return {document: int(characters) for document, characters in rows}

    def warnings(self) -> list[DocumentWarning]:
        """List what of each document was not read or is doubtful, in the order of reading."""
        rows = self._connection.query(
            f"SELECT d.id, d.filename, w.text, {is_whole(w='document_warnings')} FROM document_warnings w"
            " JOIN documents d ON d.key = w.document ORDER BY w.document, w.position"
        )
        warnings = self._whole("a warning about a document", rows)
        return [DocumentWarning(document, text_of(name), text_of(text)) for document, name, text in warnings]

    def add_path(self, document_id: str, path: str, parent_id: str | None = None) -> None:
        """Record that the document was found at `path`, which also clears an earlier failure of that path."""
        with self._connection.transaction(relaxed=True):
            key = self._document_key(document_id)
            parent = None if parent_id is None else self._document_key(parent_id)
            self._connection.execute(
                "INSERT INTO paths (document, path, parent) VALUES (?, ?, ?)"
                " ON CONFLICT (document, path) DO UPDATE SET parent = excluded.parent",
                [key, path, parent],
            )
            self._connection.execute("DELETE FROM failures WHERE path = ?", [path])

    def move_paths(self, old_folder: str, new_folder: str) -> int:
        """Record that the files below one folder now lie at the same places below another; return how many."""
        with self._connection.transaction(relaxed=True):
            return self._connection.execute(
                "UPDATE paths SET path = ? || substr(path, ?) WHERE substr(path, 1, ?) = ?",
                [new_folder, len(old_folder) + 1, len(old_folder) + 1, f"{old_folder}/"],
            )

    def paths(self, document_id: str) -> list[DocumentPath]:
        """Return where the document was found, first found first; more than one path is a duplicate file."""
        rows = self._connection.query(
            f"SELECT p.path, d.id, {is_whole(p='paths')} FROM paths p LEFT JOIN documents d ON d.key = p.parent"
            " WHERE p.document = ? ORDER BY p.key",
            [self._document_key(document_id)],
        )
        return [DocumentPath(text_of(path), parent) for path, parent in self._whole("the path of a document", rows)]

    def files_below(self, folder: str) -> list[tuple[str, int, str]]:
        """List the files below a folder, or the file, that were read into the case or failed: path, bytes, and when.

        Files in an archive lie below its path. The bytes are those that were read; -1 for a file that could not be.
        """
        rows = self._connection.query(
            "SELECT p.path, d.size_bytes, d.saved_at FROM paths p JOIN documents d ON d.key = p.document"
            " WHERE p.parent IS NULL UNION ALL SELECT path, -1, failed_at FROM failures"
        )
        below = f"{folder.rstrip('/')}/"
        files = ((text_of(path), size, at) for path, size, at in rows)
        return [file for file in files if file[0] == folder or file[0].startswith(below)]

    def paths_of_files(self) -> list[tuple[str, ...]]:
        """Return for each document that was not removed the paths of files at which it was found, not inside others."""
        rows = self._connection.query(
            "SELECT p.document, p.path FROM paths p WHERE p.parent IS NULL"
            " AND p.document NOT IN (SELECT r.document FROM removed_documents r) ORDER BY p.document, p.key"
        )
        return [tuple(text_of(path) for _, path in paths) for _, paths in groupby(rows, key=itemgetter(0))]

    def save_failure(self, path: str, sha256: str | None, reason: str, message: str, advice: str = "") -> None:
        """Record that the file at `path` could not be parsed; a later failure of the path replaces it."""
        with self._connection.transaction(relaxed=True):
            self._connection.execute(
                "INSERT OR REPLACE INTO failures (path, sha256, reason, message, advice, failed_at)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                [path, sha256, reason, message, advice, now()],
            )

    def forget_failures(self, path: str, before: str) -> None:
        """Forget that the archive at `path`, or a file in it, could not be read before a time (as `now` writes it)."""
        inside = (f"{path}/", f"{path}0")  # "0" is the character after "/"
        with self._connection.transaction(relaxed=True):
            self._connection.execute(
                "DELETE FROM failures WHERE (path = ? OR (path > ? AND path < ?)) AND failed_at < ?",
                [path, *inside, before],
            )

    def failures(self, *, offset: int = 0, limit: int | None = None) -> list[FailedFile]:
        """List the files that could not be parsed, by path: so many from `offset` on, all where `limit` is None."""
        rows = self._connection.query(
            "SELECT path, sha256, reason, message, advice FROM failures ORDER BY path LIMIT ? OFFSET ?",
            [-1 if limit is None else limit, offset],
        )
        return [
            FailedFile(text_of(path), optional_text(sha256), *(text_of(field) for field in rest))
            for path, sha256, *rest in rows
        ]


_ENTRY = "id, filename, kind, size_bytes, page_count, line_count"

_WHOLE_DOCUMENT = f"{is_whole(d='documents')} AND {BODY_IS_WHOLE}"


def _entry(row: tuple[Any, ...]) -> DocumentEntry:
    document_id, filename, *rest = row
    return DocumentEntry(document_id, text_of(filename), *rest)


def _checked(document_id: str, lines: Iterable[LineRecord]) -> list[LineRecord]:
    records = list(lines)
    for expected, line in enumerate(records, 1):
        if line.number != expected:
            raise BadRecord(
                f"document {document_id}: line {line.number} stands where line {expected} belongs",
                advice="Number the lines 1..n over the whole document.",
            )
    if len(records) >= LINES_PER_DOCUMENT:
        raise BadRecord(f"document {document_id} has {len(records)} lines; a case holds {LINES_PER_DOCUMENT - 1}")
    return records
