"""Find the evidence of every cell of an output row in the documents that the row came from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from engine.evidence.items import Item, Leaf, identity, items, leaves
from engine.evidence.locate import locate, locate_verbatim
from engine.evidence.text_index import Located, TextIndex
from engine.rows import DocumentId, Row, Span
from engine.text.blocks import collapse

QUOTE_WORDS = 4
"""A string of at least so many words that stands verbatim in the document counts as a quote."""

LONGEST_QUOTE_LINES = 12
QUOTE_SCORE = 0.5
MOST_QUOTES = 3
"""Quotes cited per document for a value that does not itself stand in the text."""

IndexOf = Callable[[DocumentId], TextIndex]


@dataclass(frozen=True, slots=True)
class CellEvidence:
    """Where one leaf of a cell stands: one place per document, in lineage order; none means not located.

    A value that an operator copied has all the places it was copied from.

    `path` addresses the leaf from its column on ('acts[0].date'); it is the column for a plain value.
    """

    column: str
    path: str
    value: str | int | float | bool
    located: tuple[Located, ...]


def locate_row(
    row: Row,
    ancestors: Sequence[Row],
    index_of: IndexOf,
    columns: Iterable[str],
    shown: Iterable[tuple[DocumentId, Span | None]] = (),
) -> list[CellEvidence]:
    """Locate every leaf of the given columns; cells without content give no evidence.

    `ancestors` are all rows that `row` was made from, at any distance. Each document among them is searched, but a
    value that some of them hold is looked for in the documents of those only, near the quotes they hold with it. What
    is nowhere in them is looked for in the passages `shown` to the model beside them (None: the whole document).
    Raises what `index_of` raises for a document it does not know.
    """
    lineage = _Lineage(row, ancestors, index_of, list(shown))
    return [
        CellEvidence(column, leaf.path, leaf.value, tuple(lineage.evidence(column, leaf)))
        for column in columns
        for leaf in leaves(column, row.values.get(column), row.values)
    ]


class _Lineage:
    """The rows behind one output row, ready to be asked for the evidence of its leaves."""

    def __init__(
        self, row: Row, ancestors: Sequence[Row], index_of: IndexOf, shown: Sequence[tuple[DocumentId, Span | None]]
    ) -> None:
        self._row = row
        self._shown = [(index_of(document), span) for document, span in shown]
        rows = {r.id: r for r in (row, *ancestors) if r.document_id is not None}
        self._indexes: dict[DocumentId | None, TextIndex] = {  # none is None; rows say that they may have no document
            r.document_id: index_of(r.document_id) for r in rows.values() if r.document_id is not None
        }
        self._items = [item for r in rows.values() for item in items(r)]
        self._holders: dict[tuple[str, object], list[Item]] = {}
        for item in self._items:
            for value in item.values:
                self._holders.setdefault(value, []).append(item)
        self._quotes: dict[int, tuple[Located, ...]] = {}
        self._copies = _Copies([(row, row.copied) for row in rows.values()])
        self._citations = _Copies([(row, row.cited) for row in rows.values()])

    def evidence(self, column: str, leaf: Leaf) -> Iterator[Located]:
        """Yield the lines a leaf was copied from; else its best place in each document that may hold it.

        Failing all, the quotes it came with.
        """
        copied = [place for row, span in self._copies.of(leaf) if (place := self._copied(row, span, leaf))]
        copied = copied or [place for row, span in self._citations.of(leaf) if (place := self._cited(row, span, leaf))]
        if copied:
            yield from copied
            return
        by_document = self._holders_by_document(leaf)
        documents = by_document or {document: [] for document in self._indexes}
        places = [self._in_document(column, leaf, document, held) for document, held in documents.items()]
        if any(places):
            yield from (place for place in places if place is not None)
            return
        cited = [quote for held in by_document.values() for quote in self._cited_quotes(leaf, held)]
        yield from cited or self._in_passages(leaf)

    def _in_passages(self, leaf: Leaf) -> Iterator[Located]:
        """Yield the place of a leaf in the first passage of each document that was shown and holds it."""
        documents: set[DocumentId] = set()
        for index, span in self._shown:
            place = locate(index, leaf.value, near=[span] if span else ())
            if place and index.document_id not in documents and (span is None or place.span.overlaps(span)):
                documents.add(index.document_id)
                yield place

    def _copied(self, row: Row, span: Span, leaf: Leaf) -> Located | None:
        """Cite the lines an operator says it copied a value from; None where they do not hold any of it."""
        index = self._indexes[row.document_id]
        lines = [line for line in index.lines if span.first <= line.number <= span.last]
        text, wanted = collapse(" ".join(line.text for line in lines)), collapse(str(leaf.value))
        if not text or not (text in wanted or wanted in text or _is_part(leaf.value, text)):
            return None
        return Located(index.document_id, lines[0].page, span.first, span.last, "exact", 1.0)

    def _cited(self, row: Row, span: Span, leaf: Leaf) -> Located | None:
        """Cite lines that an operator has checked a value against: the place in them that says it, else all of them."""
        index = self._indexes[row.document_id]
        lines = [line for line in index.lines if span.first <= line.number <= span.last]
        if not lines:
            return None
        place = locate(index, leaf.value, near=[span])
        if place is not None and span.first <= place.first_line and place.last_line <= span.last:
            return place
        return Located(index.document_id, lines[0].page, span.first, span.last, "quote", QUOTE_SCORE)

    def _holders_by_document(self, leaf: Leaf) -> dict[DocumentId | None, list[Item]]:
        """Group the items that hold the leaf's value by document.

        Under the same key if there are any such; booleans and numbers never under another key. A leaf of an inner
        dictionary belongs to the items that share the most values with that dictionary.
        """
        holders = self._holders.get(identity(leaf.value), [])
        same_key = [item for item in holders if _holds_under(item, leaf)]
        holders = same_key or (holders if isinstance(leaf.value, str) else [])
        if leaf.item is not self._row.values and holders:
            mine = {identity(other.value) for other in _direct_leaves(leaf.item)}
            most = max(len(mine & item.values) for item in holders)
            holders = [item for item in holders if len(mine & item.values) == most]
        grouped: dict[DocumentId | None, list[Item]] = {}
        for item in holders:
            grouped.setdefault(item.row.document_id, []).append(item)
        return grouped

    def _in_document(
        self, column: str, leaf: Leaf, document: DocumentId | None, holders: Sequence[Item]
    ) -> Located | None:
        index = self._indexes[document]
        if isinstance(leaf.value, str) and _is_name_of(leaf.value, index):
            return _whole_document(index)
        near = self._near(leaf, holders)
        original = locate(index, leaf.value, near=near)
        if original is not None and (_is_inside(original, near) or not near):
            return original
        variants = [variant for form in self._variants(column, leaf, document) if (variant := _via(index, form, near))]
        inside = next((variant for variant in variants if _is_inside(variant, near)), None)
        return inside or original or next(iter(variants), None)

    def _variants(self, column: str, leaf: Leaf, document: DocumentId | None) -> list[str]:
        """List what the rows of a document said in the same column before it was replaced (by resolve)."""
        if leaf.path != column or not isinstance(leaf.value, str):
            return []
        earlier = (
            other.value
            for item in self._items
            if item.row.document_id == document
            for other in item.leaves
            if other.path == column and isinstance(other.value, str)
        )
        mine = identity(leaf.value)
        return list(dict.fromkeys(value for value in earlier if identity(value) != mine))

    def _near(self, leaf: Leaf, holders: Sequence[Item]) -> list[Span]:
        """Say where a leaf most likely stands: at its item's quotes, else in its rows' quotes, else in their chunks."""
        at_items = [quote.span for item in holders for quote in self._quotes_of(item) if quote.via != leaf.value]
        if at_items:
            return at_items
        rows = {item.row.id for item in holders}
        siblings = (item for item in self._items if item.row.id in rows)
        at_rows = [quote.span for item in siblings for quote in self._quotes_of(item) if quote.via != leaf.value]
        return at_rows or [item.row.span for item in holders if item.row.span is not None]

    def _cited_quotes(self, leaf: Leaf, holders: Sequence[Item]) -> list[Located]:
        """Cite the quotes in the items that hold a value which does not itself stand in the text."""
        quotes = {(quote.first_line, quote.last_line): quote for item in holders for quote in self._quotes_of(item)}
        return [replace(quote, method="quote", score=QUOTE_SCORE) for quote in list(quotes.values())[:MOST_QUOTES]]

    def _quotes_of(self, item: Item) -> tuple[Located, ...]:
        """Locate the strings of an item that stand verbatim in its document, but not its whole text."""
        known = self._quotes.get(id(item))
        if known is None:
            known = self._quotes[id(item)] = tuple(self._find_quotes(item))
        return known

    def _find_quotes(self, item: Item) -> Iterator[Located]:
        chunk, index = item.row.span, self._indexes[item.row.document_id]
        whole = chunk.last - chunk.first + 1 if chunk else len(index.lines)
        for leaf in item.leaves:
            if not isinstance(leaf.value, str) or len(leaf.value.split()) < QUOTE_WORDS:
                continue
            place = locate_verbatim(index, leaf.value, near=[chunk] if chunk else ())
            if place is None:
                continue
            lines = place.last_line - place.first_line + 1
            if lines <= min(LONGEST_QUOTE_LINES, max(3, whole // 2)):
                yield replace(place, via=leaf.value)


_Copy = tuple[Leaf, Row, tuple[Span, ...]]
"""A value that was copied, the row that says so, and the lines."""


class _Copies:
    """The values that operators copied from lines they named, or cite lines for."""

    def __init__(self, rows: Sequence[tuple[Row, Mapping[str, tuple[Span, ...]]]]) -> None:
        """`rows` come with the lines of their values, by path."""
        self._copies: dict[tuple[str, object], list[_Copy]] = {}
        for row, places in rows:
            for column in row.values if places else ():
                for leaf in leaves(column, row.values[column], row.values):
                    if leaf.path in places:
                        self._copies.setdefault(identity(leaf.value), []).append((leaf, row, places[leaf.path]))

    def of(self, leaf: Leaf) -> Iterator[tuple[Row, Span]]:
        """Yield row and lines of each copy of a leaf's value under its own key; under its own path if there is one.

        Of a text that is not under its own key but under one other: that has been given another name.
        """
        equal = self._copies.get(identity(leaf.value), [])
        same = [copy for copy in equal if copy[0].key == leaf.key] or (equal if _is_renamed(leaf, equal) else [])
        for _, row, spans in [copy for copy in same if copy[0].path == leaf.path] or same:
            yield from ((row, span) for span in spans)


def _is_renamed(leaf: Leaf, copies: Sequence[_Copy]) -> bool:
    """Say whether a text is long enough to be no other than its copies, which are all under one key."""
    is_long = isinstance(leaf.value, str) and len(leaf.value.split()) >= QUOTE_WORDS
    return is_long and len({copied.key for copied, _, _ in copies}) == 1


def _is_part(value: object, text: str) -> bool:
    """Say whether one of a value's paragraphs stands in a text."""
    return isinstance(value, str) and any((part := collapse(p)) and part in text for p in value.split("\n\n"))


def _via(index: TextIndex, form: str, near: Sequence[Span]) -> Located | None:
    place = locate(index, form, near=near)
    return replace(place, via=form) if place else None


def _is_inside(place: Located, near: Sequence[Span]) -> bool:
    return any(place.span.overlaps(span) for span in near)


def _holds_under(item: Item, leaf: Leaf) -> bool:
    mine = identity(leaf.value)
    return any(other.key == leaf.key and identity(other.value) == mine for other in item.leaves)


def _direct_leaves(item: Mapping[str, Any]) -> Iterator[Leaf]:
    for key, value in item.items():
        if not isinstance(value, Mapping):
            yield from (leaf for leaf in leaves(key, value, item) if leaf.item is item)


def _is_name_of(value: str, index: TextIndex) -> bool:
    return value.strip().casefold() in {name.casefold() for name in index.names}


def _whole_document(index: TextIndex) -> Located:
    """Cite the first line of page 1 for a value that names the document itself."""
    line = index.lines[0].number if index.lines else 1
    return Located(index.document_id, 1, line, line, "document", 1.0)
