"""Full-text search over the lines of all documents (SQLite FTS5)."""

from __future__ import annotations

from dataclasses import dataclass

from storage.codec import text_of
from storage.documents import LINES_PER_DOCUMENT
from storage.listing import DocumentFilter, condition
from storage.search_words import match_expression
from storage.topic import Topic

HIT_START, HIT_END = "\x02", "\x03"
"""Control characters around each hit in a snippet: no markup, so the text can be shown without escaping it twice."""

SNIPPET_WORDS = 24


@dataclass(frozen=True, slots=True)
class Hit:
    """A line that matches. `snippet` is part of the line with hits between HIT_START and HIT_END.

    `hidden` says why no reader of the page sees it; None for an ordinary line.
    """

    document_id: str
    line: int
    page: int
    text: str
    snippet: str
    hidden: str | None = None


class Search(Topic):
    """The part of a case that searches."""

    def search(
        self,
        query: str,
        limit: int = 50,
        *,
        prefix: bool = False,
        offset: int = 0,
        within: DocumentFilter | None = None,
    ) -> list[Hit]:
        """Find lines that hold every word of `query`, best first.

        Case and accents do not matter. `"two words"` in double quotes is a phrase, `offic*` a word's beginning;
        `prefix` treats the last word as a beginning (search as you type). Any other character separates
        words, so no input is an error. A query without a word finds nothing. `offset`: pass over so many of the
        best; `within`: look only at these documents.
        """
        expression = match_expression(query, prefix=prefix)
        if not expression or limit < 1:
            return []
        only, values = ("", []) if within is None else condition(within)
        if only:
            only = f" AND l.id / {LINES_PER_DOCUMENT} IN (SELECT d.key FROM documents d WHERE {only})"
        rows = self._connection.query(
            "SELECT d.id, s.id % ?, s.page, s.text, s.snippet, s.hidden FROM ("
            " SELECT l.id, l.page, l.text, l.hidden, snippet(lines_search, 0, ?, ?, '…', ?) AS snippet, rank AS score"
            " FROM lines_search JOIN lines l ON l.id = lines_search.rowid"
            f" WHERE lines_search MATCH ?{only} ORDER BY rank, lines_search.rowid LIMIT ? OFFSET ?) s"
            " JOIN documents d ON d.key = s.id / ? ORDER BY s.score, s.id",
            [
                *(LINES_PER_DOCUMENT, HIT_START, HIT_END, SNIPPET_WORDS),
                *(expression, *values, limit, offset, LINES_PER_DOCUMENT),
            ],
        )
        return [
            Hit(document, line, page, text_of(text), text_of(snippet), hidden)
            for document, line, page, text, snippet, hidden in rows
        ]

    def check_search_index(self) -> None:
        """Compare the index with the lines; raises CaseDamaged where they differ. The case must be open to write."""
        self._connection.execute("INSERT INTO lines_search (lines_search, rank) VALUES ('integrity-check', 1)")
