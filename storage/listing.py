"""Documents as a table shows them: a page of rows at a time, sorted and filtered, and counts for its facets."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal

from storage.codec import storable, text_of
from storage.documents import LINES_PER_DOCUMENT
from storage.folding import folded, folding
from storage.search_words import cuts_of, ending, lone_phrase, match_expression
from storage.topic import Topic

SortColumn = Literal["name", "type", "pages", "text", "language", "size", "hash", "copies", "tags", "star", "year"]

_COPIES = "(SELECT count(*) FROM paths p WHERE p.document = d.key)"
_TAGS = (
    "(SELECT group_concat(name, char(10)) FROM (SELECT t.name FROM document_tags m JOIN tags t ON t.key = m.tag"
    " WHERE m.document = d.key ORDER BY t.name))"
)
_STAR = "EXISTS (SELECT 1 FROM stars s WHERE s.document = d.key)"
_LISTED = (
    "d.id, d.filename, d.kind, d.page_count, d.line_count, d.size_bytes, f.ocr_pages, f.language, f.year,"
    f" {_COPIES}, {_TAGS}, {_STAR}, (SELECT p.path FROM paths p WHERE p.document = d.key ORDER BY p.key LIMIT 1),"
    " (SELECT group_concat(text, char(10)) FROM"
    " (SELECT w.text FROM document_warnings w WHERE w.document = d.key ORDER BY w.position))"
)
_QUOTED = re.compile(r'"(.+)"', re.DOTALL)
REMOVED = "SELECT r.document FROM removed_documents r"
_WARNED = "EXISTS (SELECT 1 FROM document_warnings w WHERE w.document = d.key)"
_SORT_BY: Mapping[str, str] = MappingProxyType(
    {
        "name": folding("d.filename"),
        "type": "d.kind",
        "pages": "d.page_count",
        "text": "1.0 * coalesce(f.ocr_pages, 0) / max(d.page_count, 1)",
        "language": "f.language",
        "size": "d.size_bytes",
        "hash": "d.id",
        "copies": _COPIES,
        "tags": _TAGS,
        "star": _STAR,
        "year": "f.year",
    }
)


@dataclass(frozen=True, slots=True)
class DocumentFilter:
    """Which documents: all that fit every part that is given.

    `text` is part of the name or the path; in double quotes it is the whole of one, as it is written. Of `kinds`,
    `tags`, `years` and `hidden` one must fit; a year of 0 is an unknown one, `hidden` are ways in which a line is
    hidden. `warned`: something of it was not read or is doubtful. `words`: one of its lines has them (storage.search
    says how they are written). Documents that were removed from the case fit only where `removed` is set, and then they
    alone. `asked_in` are the runs of a question: a document is `new` to it that came after the first of them began, and
    that none of them read.
    """

    text: str = ""
    kinds: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    years: tuple[int, ...] = ()
    hidden: tuple[str, ...] = ()
    starred: bool = False
    warned: bool = False
    words: str = ""
    removed: bool = False
    asked_in: tuple[str, ...] = ()
    new: bool = False


ALL_DOCUMENTS = DocumentFilter()


@dataclass(frozen=True, slots=True)
class ListedDocument:
    """One row of the table. `copies` counts the paths it was found at; `ocr_pages` is None while not yet known.

    `warnings` say what of it was not read, or is doubtful; `is_new` as in DocumentFilter.
    """

    id: str
    name: str
    kind: str
    pages: int
    lines: int
    size_bytes: int
    ocr_pages: int | None
    language: str
    year: int | None
    copies: int
    tags: tuple[str, ...]
    starred: bool
    path: str
    warnings: tuple[str, ...] = ()
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class Facets:
    """How many documents have each kind, tag and year; each counted with the other filters, not with its own.

    `hidden` counts pages with lines that are hidden in a way, `warned` documents of which not all was read, `removed`
    those that were taken out of the case, `new` those that are new to the question that was `asked_in` some runs.
    """

    kinds: tuple[tuple[str, int], ...]
    tags: tuple[tuple[str, int], ...]
    years: tuple[tuple[int, int], ...]
    starred: int
    hidden: tuple[tuple[str, int], ...] = ()
    warned: int = 0
    removed: int = 0
    new: int = 0


def condition(wanted: DocumentFilter) -> tuple[str, list[Any]]:
    """Write a filter as an SQL condition on `documents d`, with its parameters."""
    parts: list[str] = [f"d.key {'' if wanted.removed else 'NOT '}IN ({REMOVED})"]
    values: list[Any] = []
    if wanted.text.strip():
        named, texts = _named(wanted.text.strip())
        parts.append(f"({named})")
        values += texts
    if wanted.kinds:
        parts.append(f"d.kind IN ({_marks(wanted.kinds)})")
        values += wanted.kinds
    if wanted.tags:
        tags = f"SELECT t.key FROM tags t WHERE {folding('t.name')} IN ({_marks(wanted.tags)})"
        parts.append(f"d.key IN (SELECT m.document FROM document_tags m WHERE m.tag IN ({tags}))")
        values += map(folded, wanted.tags)
    if wanted.years:
        years = "SELECT y.year FROM document_facts y WHERE y.document = d.key"
        parts.append(f"coalesce(({years}), 0) IN ({_marks(wanted.years)})")
        values += wanted.years
    if wanted.hidden:
        hidden = f"SELECT h.id / {LINES_PER_DOCUMENT} FROM lines h WHERE h.hidden"
        parts.append(f"d.key IN ({hidden} IN ({_marks(wanted.hidden)}))")
        values += wanted.hidden
    if wanted.starred:
        parts.append(_STAR)
    if wanted.warned:
        parts.append(_WARNED)
    if wanted.new:
        parts.append(_is_new(wanted.asked_in))
    if wanted.words.strip():
        matching, words = _matching(wanted.words)
        parts.append(f"d.key IN ({matching})" if matching else "0")
        values += words
    return " AND ".join(parts), values


def _named(text: str) -> tuple[str, list[Any]]:
    """Write as an SQL condition whether a name or path holds a text, or is what stands in its quotes."""
    of_path = "EXISTS (SELECT 1 FROM paths p WHERE p.document = d.key AND"
    part = f"instr({folding('d.filename')}, ?) OR {of_path} instr({folding('p.path')}, ?))"
    quoted = _QUOTED.fullmatch(text)
    if quoted is None:
        return part, [folded(text)] * 2
    return f"{part} OR d.filename = ? OR {of_path} p.path = ?)", [*[folded(text)] * 2, *[storable(quoted[1])] * 2]


def _matching(query: str) -> tuple[str, list[Any]]:
    """Select the documents in which a search finds a line, be it of a phrase that goes on in the next; "" for none."""
    expression = match_expression(query)
    if not expression:
        return "", []
    selects = [f"SELECT s.rowid / {LINES_PER_DOCUMENT} FROM lines_search s WHERE s.lines_search MATCH ?"]
    values = [expression]
    for head, tail in cuts_of(lone_phrase(query)):
        selects.append(
            f"SELECT l.id / {LINES_PER_DOCUMENT} FROM lines_search a JOIN lines l ON l.id = a.rowid"
            " JOIN lines_search b ON b.rowid = a.rowid + 1"
            f" WHERE a.lines_search MATCH ? AND b.lines_search MATCH ? AND {ending('l.text')}"
        )
        values += [f'"{head}"', f'^ "{tail}"', head]
    return " UNION ".join(selects), values


class Listing(Topic):
    """The part of a case that lists documents."""

    def list_documents(
        self,
        *,
        offset: int,
        limit: int,
        sort: SortColumn = "name",
        descending: bool = False,
        wanted: DocumentFilter | None = None,
    ) -> list[ListedDocument]:
        """Return rows `offset` to `offset + limit` (exclusive) of the table, equal ones in the order of reading."""
        where, values = _where(wanted)
        direction = "DESC" if descending else "ASC"
        is_new = _is_new(wanted.asked_in if wanted else ())
        rows = self._connection.query(
            f"SELECT {_LISTED}, {is_new} FROM"
            " (SELECT d.key AS place FROM documents d LEFT JOIN document_facts f ON f.document = d.key"
            f"{where} ORDER BY {_SORT_BY[sort]} {direction}, d.key LIMIT ? OFFSET ?) chosen"
            " JOIN documents d ON d.key = chosen.place LEFT JOIN document_facts f ON f.document = d.key"
            f" ORDER BY {_SORT_BY[sort]} {direction}, d.key",
            [*values, limit, offset],
        )
        return [_listed(row) for row in rows]

    def list_ids(self, *, sort: SortColumn, descending: bool, wanted: DocumentFilter) -> list[str]:
        """Return the ids of all rows of the table, in its order."""
        where, values = _where(wanted)
        direction = "DESC" if descending else "ASC"
        rows = self._connection.query(
            f"SELECT d.id FROM documents d LEFT JOIN document_facts f ON f.document = d.key{where}"
            f" ORDER BY {_SORT_BY[sort]} {direction}, d.key",
            values,
        )
        return [id for (id,) in rows]

    def listed_document(self, document_id: str) -> ListedDocument:
        """Return the row of one document; raises NotInCase."""
        key = self._document_key(document_id)
        rows = self._connection.query(
            f"SELECT {_LISTED}, 0 FROM documents d LEFT JOIN document_facts f ON f.document = d.key WHERE d.key = ?",
            [key],
        )
        return _listed(rows[0])

    def count_documents(self, wanted: DocumentFilter | None = None) -> int:
        """Count the documents that fit."""
        where, values = _where(wanted)
        return self._connection.count(f"SELECT count(*) FROM documents d{where}", values)

    def documents_that_fit(self, wanted: DocumentFilter) -> set[str]:
        """Return the ids of all documents that fit a filter."""
        where, values = _where(wanted)
        return {document for (document,) in self._connection.query(f"SELECT d.id FROM documents d{where}", values)}

    def count_pages(self) -> int:
        """Count the pages of all documents that are not removed."""
        where, values = _where(None)
        return self._connection.count(f"SELECT sum(d.page_count) FROM documents d{where}", values)

    def count_failures(self) -> int:
        """Count the files that could not be read."""
        return self._connection.count("SELECT count(*) FROM failures")

    def facets(self, wanted: DocumentFilter | None = None) -> Facets:
        """Count documents by kind, tag and year, most frequent kinds and tags first, latest years first."""
        asked = wanted or ALL_DOCUMENTS
        kinds = self._counts("d.kind", "", replace(asked, kinds=()), "2 DESC, 1")
        tags = self._counts(
            "t.name",
            " JOIN document_tags m ON m.document = d.key JOIN tags t ON t.key = m.tag",
            replace(asked, tags=()),
            "2 DESC, 1",
        )
        years = self._counts(
            "coalesce(f.year, 0)",
            " LEFT JOIN document_facts f ON f.document = d.key",
            replace(asked, years=()),
            "1 DESC",
        )
        starred = self.count_documents(replace(asked, starred=True))
        hidden = self.count_hidden_pages(replace(asked, hidden=()))
        warned = self.count_documents(replace(asked, warned=True))
        removed = self.count_documents(replace(asked, removed=True))
        new = self.count_documents(replace(asked, new=True))
        return Facets(tuple(kinds), tuple(tags), tuple(years), starred, tuple(hidden), warned, removed, new)

    def count_hidden_pages(self, wanted: DocumentFilter | None = None) -> list[tuple[str, int]]:
        """Count the pages with lines that no reader sees, by how they are hidden, most frequent first."""
        where, values = _where(wanted)
        only = f" AND h.id / {LINES_PER_DOCUMENT} IN (SELECT d.key FROM documents d{where})"
        pages = f"SELECT DISTINCT h.hidden, h.id / {LINES_PER_DOCUMENT}, h.page FROM lines h WHERE h.hidden IS NOT NULL"
        sql = f"SELECT hidden, count(*) FROM ({pages}{only}) GROUP BY 1 ORDER BY 2 DESC, 1"
        return [(kind, count) for kind, count in self._connection.query(sql, values)]

    def _counts(self, what: str, joins: str, wanted: DocumentFilter, order: str) -> list[tuple[Any, int]]:
        where, values = _where(wanted)
        sql = f"SELECT {what}, count(*) FROM documents d{joins}{where} GROUP BY 1 ORDER BY {order}"
        return [(value, count) for value, count in self._connection.query(sql, values)]

    def reading_rates(self) -> list[tuple[str, int, int, int, float]]:
        """Sum up by kind what was read and timed: kind, documents, pages, bytes, seconds."""
        return [
            (kind, documents, pages, size, seconds)
            for kind, documents, pages, size, seconds in self._connection.query(
                "SELECT d.kind, count(*), sum(d.page_count), sum(d.size_bytes), sum(f.read_seconds)"
                " FROM documents d JOIN document_facts f ON f.document = d.key"
                " WHERE f.read_seconds IS NOT NULL GROUP BY d.kind"
            )
        ]


def _where(wanted: DocumentFilter | None) -> tuple[str, list[Any]]:
    text, values = condition(wanted or ALL_DOCUMENTS)
    return f" WHERE {text}", values


def _is_new(asked_in: Sequence[str]) -> str:
    """Write as an SQL condition on `documents d` whether one came after the first of some runs, and none read it."""
    if not asked_in:
        return "0"
    runs = ", ".join(str(int(run)) for run in asked_in)
    read = f"SELECT a.document_id FROM run_documents a WHERE a.run IN ({runs}) AND a.document_id IS NOT NULL"
    began = f"SELECT min(r.started_at) FROM runs r WHERE r.id IN ({runs})"
    return f"(d.saved_at > ({began}) AND d.id NOT IN ({read}))"


def _marks(values: tuple[Any, ...]) -> str:
    return ", ".join("?" * len(values))


def _listed(row: tuple[Any, ...]) -> ListedDocument:
    document, name, kind, pages, lines, size, ocr_pages, language, year, copies, tags, starred, *more = row
    path, warnings, is_new = more
    return ListedDocument(
        id=document,
        name=text_of(name),
        kind=kind,
        pages=pages,
        lines=lines,
        size_bytes=size,
        ocr_pages=ocr_pages,
        language=language or "",
        year=year,
        copies=copies,
        tags=tuple(tags.split("\n")) if tags else (),
        starred=bool(starred),
        path=text_of(path) if path is not None else "",
        warnings=tuple(text_of(warnings).split("\n")) if warnings else (),
        is_new=bool(is_new),
    )
