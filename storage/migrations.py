"""The schema of a case file, as numbered migrations. A released migration is never edited; add another one.

Ids that repeat often are kept once: `documents.key` for a document, `row_ids.key` for a row of a run,
`operators.key` for an operator of a run. A line's id is `document key * LINES_PER_DOCUMENT + number`,
so that lines need no index besides their primary key. The search index is kept by storage.documents, not by
triggers: SQLite forbids a trigger to write it while the schema of a case is not trusted.
"""

from __future__ import annotations

import functools
import sqlite3
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Final

from storage.checksums import BY_TABLE, add_columns
from storage.documents import LINES_PER_DOCUMENT
from storage.sqlite_library import Database, Migrations

APPLICATION_ID: Final = 0x52445745
"""`RDWE` in the SQLite header: says that a database is a Redwell case."""

case_migrations = Migrations("redwell")


def _migration(name: str, *scripts: str, triggers: Collection[str] = (), checksums: Collection[str] = ()) -> None:
    """Add a migration that runs scripts, makes triggers and gives some tables checksums.

    The statements of a script end at its semicolons, and none but a trigger has one inside.
    """

    @case_migrations(name=name)
    def migrate(database: Database) -> None:
        statements = (statement.strip() for statement in ";".join(scripts).split(";"))
        for statement in (*filter(None, statements), *triggers):
            database.execute(statement)
        add_columns(database.conn, *checksums)


_DOCUMENTS = f"""
CREATE TABLE documents (
    key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, filename TEXT NOT NULL, kind TEXT NOT NULL,
    size_bytes INTEGER NOT NULL, page_count INTEGER NOT NULL, line_count INTEGER NOT NULL,
    body BLOB NOT NULL, saved_at TEXT NOT NULL);
CREATE TABLE paths (
    key INTEGER PRIMARY KEY, document INTEGER NOT NULL REFERENCES documents(key),
    path TEXT NOT NULL, parent INTEGER REFERENCES documents(key), UNIQUE (document, path));
CREATE TABLE failures (
    path TEXT PRIMARY KEY, sha256 TEXT, reason TEXT NOT NULL, message TEXT NOT NULL, advice TEXT NOT NULL,
    failed_at TEXT NOT NULL);
CREATE TABLE lines (id INTEGER PRIMARY KEY, page INTEGER NOT NULL, text TEXT NOT NULL);
CREATE VIRTUAL TABLE lines_search USING fts5 (
    text, content = 'lines', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2');
CREATE VIEW numbered_lines AS
    SELECT id / {LINES_PER_DOCUMENT} AS document, id % {LINES_PER_DOCUMENT} AS number, page, text FROM lines;
"""

_RUNS = """
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, pipeline_yaml TEXT NOT NULL, pipeline_digest TEXT NOT NULL,
    model_name TEXT NOT NULL, model_digest TEXT NOT NULL, settings BLOB NOT NULL, status TEXT NOT NULL,
    columns BLOB, started_at TEXT NOT NULL, finished_at TEXT);
CREATE TABLE run_documents (
    run INTEGER NOT NULL REFERENCES runs(id), path TEXT NOT NULL, fate TEXT NOT NULL, document_id TEXT,
    reason TEXT NOT NULL, message TEXT NOT NULL, advice TEXT NOT NULL, PRIMARY KEY (run, path));
CREATE TABLE replies (
    key BLOB PRIMARY KEY, body BLOB NOT NULL, operator TEXT NOT NULL, run INTEGER REFERENCES runs(id),
    saved_at TEXT NOT NULL);
CREATE INDEX replies_of_run ON replies (run, operator);
CREATE TABLE cache (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, key TEXT NOT NULL, body BLOB NOT NULL, UNIQUE (kind, key));
CREATE TABLE events (
    run INTEGER NOT NULL REFERENCES runs(id), number INTEGER NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (run, number)) WITHOUT ROWID;
"""
"""Nothing is written to `events` and `model_digest` any more; they stay, for new and old cases to have one schema."""

_ROWS = """
CREATE TABLE operators (
    key INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES runs(id), name TEXT NOT NULL, rows_in INTEGER,
    UNIQUE (run, name));
CREATE TABLE row_ids (
    key INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES runs(id), id TEXT NOT NULL, UNIQUE (run, id));
CREATE TABLE fields (key INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, body BLOB NOT NULL);
CREATE TABLE rows (
    key INTEGER PRIMARY KEY, operator INTEGER NOT NULL REFERENCES operators(key),
    row INTEGER NOT NULL REFERENCES row_ids(key), position INTEGER NOT NULL, body BLOB NOT NULL, large BLOB,
    document INTEGER REFERENCES documents(key), first_line INTEGER, last_line INTEGER, UNIQUE (operator, row));
CREATE INDEX rows_by_row ON rows (row);
CREATE TABLE lineage (
    child INTEGER NOT NULL REFERENCES row_ids(key), position INTEGER NOT NULL,
    parent INTEGER NOT NULL REFERENCES row_ids(key), PRIMARY KEY (child, position)) WITHOUT ROWID;
CREATE INDEX lineage_by_parent ON lineage (parent);
CREATE TABLE results (
    run INTEGER NOT NULL REFERENCES runs(id), position INTEGER NOT NULL,
    row INTEGER NOT NULL REFERENCES row_ids(key), PRIMARY KEY (run, position)) WITHOUT ROWID;
"""

_LEDGER = """
CREATE TABLE fates (
    operator INTEGER NOT NULL REFERENCES operators(key), row INTEGER NOT NULL REFERENCES row_ids(key),
    fate TEXT NOT NULL, reason TEXT NOT NULL, error TEXT NOT NULL, advice TEXT NOT NULL, raw_reply TEXT,
    PRIMARY KEY (operator, row)) WITHOUT ROWID;
CREATE TABLE decisions (
    key INTEGER PRIMARY KEY, operator INTEGER NOT NULL REFERENCES operators(key),
    subject TEXT NOT NULL, "left" TEXT NOT NULL, "right" TEXT NOT NULL, verdict TEXT NOT NULL,
    by TEXT NOT NULL, detail TEXT NOT NULL, UNIQUE (operator, subject, "left", "right", by));
CREATE TABLE evidence (
    key INTEGER PRIMARY KEY, row INTEGER NOT NULL REFERENCES row_ids(key), "column" TEXT NOT NULL,
    path TEXT NOT NULL, document INTEGER REFERENCES documents(key), page INTEGER, first_line INTEGER,
    last_line INTEGER, method TEXT NOT NULL, score REAL);
CREATE INDEX evidence_of_cell ON evidence (row, "column");
"""
_migration("0001_first_schema", f"PRAGMA application_id = {APPLICATION_ID}", _DOCUMENTS, _RUNS, _ROWS, _LEDGER)

_TEXT_INDEXES = """
CREATE TABLE text_indexes (
    key INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, digest TEXT NOT NULL, texts INTEGER NOT NULL);
"""
"""The texts of index n are in the virtual table text_index_n (storage.indexes)."""
_migration("0002_text_indexes", _TEXT_INDEXES)

_VECTORS = """
CREATE TABLE vector_models (key INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE);
CREATE TABLE vectors (
    key INTEGER PRIMARY KEY, model INTEGER NOT NULL REFERENCES vector_models(key), text BLOB NOT NULL,
    body BLOB NOT NULL, UNIQUE (model, text));
DELETE FROM cache WHERE kind = 'embedding';
"""
"""`text` is a SHA-256 digest. Vectors were among the cached values before, without a check: they are computed again."""
_migration("0003_vectors", _VECTORS)

_LABELS = """
CREATE TABLE document_facts (
    document INTEGER PRIMARY KEY REFERENCES documents(key), ocr_pages INTEGER NOT NULL, language TEXT NOT NULL,
    year INTEGER, read_seconds REAL);
CREATE TABLE stars (document INTEGER PRIMARY KEY REFERENCES documents(key), starred_at TEXT NOT NULL);
CREATE TABLE tags (key INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE COLLATE NOCASE);
CREATE TABLE document_tags (
    document INTEGER NOT NULL REFERENCES documents(key), tag INTEGER NOT NULL REFERENCES tags(key),
    PRIMARY KEY (document, tag)) WITHOUT ROWID;
CREATE INDEX documents_of_tag ON document_tags (tag, document);
"""
_migration("0004_labels", _LABELS)

_REVIEWS = """
CREATE TABLE review_edits (
    key INTEGER PRIMARY KEY, step INTEGER NOT NULL, run INTEGER NOT NULL REFERENCES runs(id), row TEXT NOT NULL,
    row_digest BLOB NOT NULL, field TEXT NOT NULL, value_digest BLOB NOT NULL, kind TEXT NOT NULL,
    original BLOB NOT NULL, body BLOB NOT NULL, who TEXT NOT NULL, made_at TEXT NOT NULL,
    is_undone INTEGER NOT NULL DEFAULT 0);
CREATE INDEX review_edits_of_row ON review_edits (row);
CREATE INDEX review_edits_of_digest ON review_edits (row_digest);
CREATE INDEX review_edits_of_step ON review_edits (step);
"""
"""A journal (storage.reviews): what holds for a cell is the last edit that is not undone."""
_migration("0005_reviews", _REVIEWS)

_HIDDEN_LINES = """
ALTER TABLE lines ADD COLUMN hidden TEXT;
CREATE INDEX hidden_lines ON lines (hidden, page) WHERE hidden IS NOT NULL;
CREATE TABLE document_warnings (
    document INTEGER NOT NULL REFERENCES documents(key), position INTEGER NOT NULL, text TEXT NOT NULL,
    PRIMARY KEY (document, position)) WITHOUT ROWID;
"""
"""`hidden` says why no reader of the page sees a line; null for an ordinary one, and for all that were read before."""
_migration("0006_hidden_lines", _HIDDEN_LINES)

_BEGUN_CALLS = """
CREATE TABLE begun_calls (
    key BLOB NOT NULL, run INTEGER NOT NULL REFERENCES runs(id), operator TEXT NOT NULL, begun_at TEXT NOT NULL,
    PRIMARY KEY (key, run)) WITHOUT ROWID;
"""
"""Calls of a model that have not ended; those that a kill cut short stay, and say what later runs had to repeat."""
_migration("0007_checksums", _BEGUN_CALLS, checksums=[table for table in BY_TABLE if table != "removed_documents"])

_CUSTODY = """
CREATE TABLE custody (
    number INTEGER PRIMARY KEY, entry TEXT NOT NULL, digest TEXT NOT NULL, secret BLOB NOT NULL);
CREATE TABLE row_seals (
    run INTEGER NOT NULL REFERENCES runs(id), position INTEGER NOT NULL, row TEXT NOT NULL, digest BLOB NOT NULL,
    PRIMARY KEY (run, position)) WITHOUT ROWID;
CREATE TABLE document_seals (document INTEGER PRIMARY KEY REFERENCES documents(key), marks BLOB NOT NULL);
"""
CUSTODY_TRIGGERS: Final = {
    f"custody_{change}s": (
        f"CREATE TRIGGER custody_{change}s BEFORE {change} ON custody BEGIN SELECT RAISE(ABORT, 'append only'); END"
    )
    for change in ("update", "delete")
}
"""A guard against mistakes of our own. Who means harm drops it; the chain is what shows that (storage.custody)."""
_migration("0008_custody", _CUSTODY, triggers=CUSTODY_TRIGGERS.values())

_REMOVED = """
CREATE TABLE removed_documents (
    document INTEGER PRIMARY KEY REFERENCES documents(key), removed_at TEXT NOT NULL);
"""
"""Documents that a person took out: no list shows them and no run reads them, and earlier results keep their pages."""
_migration("0009_removed_documents", _REMOVED, checksums=["removed_documents"])


SCHEMA_VERSION: Final = 9
"""How many migrations there are; kept in `PRAGMA user_version` of every case."""


def upgrade(database: Database) -> None:
    """Apply what is missing and record the version, all in one transaction: a case is never half upgraded."""
    with database.atomic():
        case_migrations.apply(database)
        database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


SCHEMA: Final = (
    "SELECT name, coalesce(sql, '') FROM sqlite_master WHERE tbl_name <> '_sqlite_migrations'"
    " AND name NOT LIKE 'lines\\_search\\_%' ESCAPE '\\'"
)
"""What a case is made of, by name. What FTS5 and sqlite-utils make for themselves is left out: versions differ."""


@functools.cache
def _new_case() -> bytes:
    """Return a new case as the bytes of its file, made once: copying it is faster than applying all migrations."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        upgrade(Database(connection, execute_plugins=False))
        return connection.serialize()
    finally:
        connection.close()


def fill_new(connection: sqlite3.Connection) -> None:
    """Make an empty plain database a new case, in one transaction."""
    source = sqlite3.connect(":memory:")
    try:
        source.deserialize(_new_case())
        source.backup(connection)
    finally:
        source.close()


@functools.cache
def new_schema() -> Mapping[str, str]:
    """Return what SCHEMA yields for a new case."""
    connection = sqlite3.connect(":memory:")
    try:
        fill_new(connection)
        return MappingProxyType(dict(connection.execute(SCHEMA).fetchall()))
    finally:
        connection.close()


def migration_names() -> tuple[str, ...]:
    """Return the names of all migrations, in their order."""
    connection = sqlite3.connect(":memory:")
    try:
        return tuple(migration.name for migration in case_migrations.pending(Database(connection)))
    finally:
        connection.close()
