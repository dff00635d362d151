"""Full-text search over the lines of all documents (SQLite FTS5)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rapidfuzz.distance import OSA

from storage.codec import text_of
from storage.documents import LINES_PER_DOCUMENT
from storage.listing import REMOVED, DocumentFilter, condition
from storage.search_words import cuts_of, ends_with, lone_phrase, match_expression
from storage.topic import Topic

HIT_START, HIT_END = "\x02", "\x03"
"""Control characters around each hit in a snippet: no markup, so the text can be shown without escaping it twice."""

SNIPPET_WORDS = 24
SNIPPET_CHARACTERS = 120
SLIPS_FROM = (5, 9)
"""From so many letters on, words that differ by one slip are similar; by two slips."""
MOST_SIMILAR = 20
_LOOK_ALIKE = (("rn", "m"), ("vv", "w"), ("cl", "d"), ("0", "o"), ("1", "l"))
_WORD = re.compile(r"[^\W_]+")


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

    def find(  # noqa: PLR0913 - what a search is
        self,
        query: str,
        limit: int = 50,
        *,
        prefix: bool = False,
        offset: int = 0,
        within: DocumentFilter | None = None,
        fuzzy: bool = False,
    ) -> list[Hit]:
        """Find lines that hold every word of `query`, best first.

        Case and accents do not matter. `"two words"` in double quotes is a phrase, `offic*` a word's beginning;
        `prefix` treats the last word as a beginning (search as you type). Any other character separates
        words, so no input is an error. A query without a word finds nothing. `offset`: pass over so many of the
        best; `within`: look only at these documents (where not given: at all that are not removed); `fuzzy`: also words
        that differ by a slip (`similar_words`).

        A phrase by itself is found where it goes on in the next line, too: such lines come after the others, by their
        first line.
        """
        expression = match_expression(query, prefix=prefix, similar=self.similar_words if fuzzy else lambda word: ())
        if not expression or limit < 1:
            return []
        only, values = _only(within)
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
        hits = [
            Hit(document, line, page, text_of(text), text_of(snippet), hidden)
            for document, line, page, text, snippet, hidden in rows
        ]
        if len(hits) < limit and (words := lone_phrase(query)):
            whole = self._connection.count(
                "SELECT count(*) FROM lines_search JOIN lines l ON l.id = lines_search.rowid"
                f" WHERE lines_search MATCH ?{only}",
                [expression, *values],
            )
            broken = self._across_lines(words, only, values)
            first = max(offset - whole, 0)
            hits += broken[first : first + limit - len(hits)]
        return hits

    def count_lines(self, query: str, within: DocumentFilter | None = None) -> dict[str, int]:
        """Count the lines that `search` finds, by document; documents without one are left out."""
        expression = match_expression(query)
        if not expression:
            return {}
        only, values = _only(within)
        rows = self._connection.query(
            "SELECT d.id, count(*) FROM lines_search JOIN lines l ON l.id = lines_search.rowid"
            " JOIN documents d ON d.key = l.id / ?"
            f" WHERE lines_search MATCH ?{only} GROUP BY d.id",
            [LINES_PER_DOCUMENT, expression, *values],
        )
        counts = Counter[str](dict(rows))
        if words := lone_phrase(query):
            counts.update(hit.document_id for hit in self._across_lines(words, only, values))
        return dict(counts)

    def similar_words(self, word: str) -> list[str]:
        """Return words of the records that differ from a word by a slip of a reader or a pen, most frequent first.

        One letter too many, too few or another, or two that changed places; two such slips in a long word. Of short
        words too many would fit.
        """
        most = sum(len(word) >= length for length in SLIPS_FROM)
        if not most:
            return []
        self._connection.make_temporary(
            "CREATE VIRTUAL TABLE IF NOT EXISTS temp.search_terms USING fts5vocab('main', 'lines_search', 'row')"
        )
        rows = self._connection.query(
            "SELECT term, cnt FROM temp.search_terms WHERE length(term) BETWEEN ? AND ?",
            [len(word) - most - 1, len(word) + most + 1],
        )
        shape = _shape(word)
        near = [(text_of(term), count) for term, count in rows]
        fits = [(t, n) for t, n in near if t != word and OSA.distance(_shape(t), shape, score_cutoff=most) <= most]
        return [term for term, _ in sorted(fits, key=lambda pair: (-pair[1], pair[0]))[:MOST_SIMILAR]]

    def _across_lines(self, words: list[str], only: str, values: Sequence[Any]) -> list[Hit]:
        """Find the first lines of phrases that go on in the next line."""
        hits: dict[int, Hit] = {}
        for cut, (head, tail) in enumerate(cuts_of(words), start=1):
            rows = self._connection.query(
                "SELECT l.id, d.id, l.page, l.text, l.hidden FROM lines_search a JOIN lines l ON l.id = a.rowid"
                " JOIN lines_search b ON b.rowid = a.rowid + 1 JOIN documents d ON d.key = l.id / ?"
                f" WHERE a.lines_search MATCH ? AND b.lines_search MATCH ?{only} ORDER BY l.id",
                [LINES_PER_DOCUMENT, f'"{head}"', f'^ "{tail}"', *values],
            )
            for id, document, page, text, hidden in rows:
                line = text_of(text)
                if ends_with(line, head):
                    hit = Hit(document, id % LINES_PER_DOCUMENT, page, line, _marked_end(line, cut), hidden)
                    hits.setdefault(id, hit)
        return [hits[id] for id in sorted(hits)]

    def check_index(self) -> None:
        """Compare the index with the lines; raises CaseDamaged where they differ. The case must be open to write."""
        self._connection.execute("INSERT INTO lines_search (lines_search, rank) VALUES ('integrity-check', 1)")


def _only(within: DocumentFilter | None) -> tuple[str, list[Any]]:
    """Write the end of a condition on `lines l` for documents that fit, else for all that are not removed."""
    if within is None:
        return f" AND l.id / {LINES_PER_DOCUMENT} NOT IN ({REMOVED})", []
    fits, values = condition(within)
    return f" AND l.id / {LINES_PER_DOCUMENT} IN (SELECT d.key FROM documents d WHERE {fits})", values


def _shape(word: str) -> str:
    """Write letters that look like another one in print as that one: a scan of `modern` may be read as `modem`."""
    for written, read in _LOOK_ALIKE:
        word = word.replace(written, read)
    return word


def _marked_end(line: str, words: int) -> str:
    """Mark the last words of a line as a hit, and say that it goes on."""
    starts = [match.start() for match in _WORD.finditer(line)]
    start = starts[-words] if len(starts) >= words else 0
    before = line[:start]
    if len(before) > SNIPPET_CHARACTERS:
        before = f"…{before[-SNIPPET_CHARACTERS:]}"
    return f"{before}{HIT_START}{line[start:]}{HIT_END}…"
