"""What is told of results, as data: answers, names, the ledger, searches, counts of terms, charts and networks.

The modules of this package make it. It is apart from them so that the window, which reads it (engine.worker.contract),
need not load what makes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from storage.ledger import DecisionRecord
from storage.listing import DocumentFilter

LONGEST_SAID = 500
"""Characters of what a person says that a question means."""

PairKind = Literal["same_as", "keep_apart"]
NamePair = tuple[str, str]

Unit = Literal["documents", "rows"]
Period = Literal["year", "month"]

ValueKind = Literal["person", "organization", "thing"]
NodeKind = Literal[ValueKind, "document"]


@dataclass(frozen=True, slots=True)
class ShownHeading:
    """The line above a group: the value, empty for rows whose cell is; `count` rows have it, shown unless folded."""

    heading: str
    count: int
    is_folded: bool


@dataclass(frozen=True, slots=True)
class ShownItem:
    """One value of an answer: `value` as it was read, `original` as the lines have it.

    `first_line` and `last_line` are lines of the document, inclusive, those that are to be shown; `lines` are all that
    it cites. `document` is "" and `page` 0 where it belongs to no page. `problem` says what could not be read.
    """

    value: str
    original: str
    method: str
    problem: str
    snippet: str
    lines: tuple[tuple[int, int], ...]
    document: str
    page: int
    first_line: int
    last_line: int


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    """The answer to one question: the value that holds (after corrections), its status, note and items.

    `items` are the first MOST_ITEMS of `count`. `question_back` is what the user is asked, "" for nothing; `clarified`
    is what a person has said that the question means; `document_name` that of the one document of the row, "" for none.
    """

    operator: str
    name: str
    question: str
    clarified: str
    value: str
    status: str
    note: str
    question_back: str
    items: tuple[ShownItem, ...]
    count: int
    document_name: str


@dataclass(frozen=True, slots=True)
class NamePlace:
    """A line in which a form of a name stands."""

    document: str
    name: str
    page: int
    first_line: int
    last_line: int
    quote: str


@dataclass(frozen=True, slots=True)
class NameForm:
    """One form as records have it, the name it was given in the table, and how many rows had it."""

    text: str
    name: str
    rows: int
    places: tuple[NamePlace, ...]


@dataclass(frozen=True, slots=True)
class NameHistory:
    """All about one name of the table: its forms, those it was compared with, and every verdict."""

    name: str
    operator: str
    column: str
    forms: tuple[NameForm, ...]
    others: tuple[NameForm, ...]
    decisions: tuple[DecisionRecord, ...]


@dataclass(frozen=True, slots=True)
class NamesChanged:
    """What a decision did: the pipeline that keeps it, rows that show another name now.

    `mixed` rows were made from several forms of the name: they change only when the pipeline runs again.
    """

    pipeline: str
    rows: int
    mixed: int


@dataclass(frozen=True, slots=True)
class Note:
    """What befell `count` rows of an operator that went on, `verdict` in words: cut to fit, read in parts, ..."""

    operator: str
    verdict: str
    by: str
    count: int
    first: str


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """A file (`operator` empty) or a row that failed or was left out.

    `name` says which, in words; `document` with `page` and `line` is where it can be looked at: empty and 0 where that
    is not known. `reply` is what the model said, where it said something.
    """

    name: str
    operator: str
    reason: str
    advice: str
    reply: str
    document: str
    page: int
    line: int


@dataclass(frozen=True, slots=True)
class SavedSearch:
    """Words as a search (storage.search_words), and which documents; the runs that are `asked_in` are not kept."""

    name: str
    words: str = ""
    only: DocumentFilter = DocumentFilter()


@dataclass(frozen=True, slots=True)
class TermSum:
    """A term, what it is as a search, and how many lines of how many documents hold it."""

    term: str
    query: str
    lines: int
    documents: int


@dataclass(frozen=True, slots=True)
class CountedDocument:
    """A document with the number of its lines for each term, in the order of the terms."""

    document: str
    name: str
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TermCounts:
    """The terms in the order of the list, and the documents that hold any of them, most lines first."""

    terms: tuple[TermSum, ...]
    rows: tuple[CountedDocument, ...]


@dataclass(frozen=True, slots=True)
class Bar:
    """One value and how many documents or rows have it."""

    label: str
    count: int


@dataclass(frozen=True, slots=True)
class Bars:
    """Counts by value, most first; `others` values are left out."""

    column: str
    unit: Unit
    bars: tuple[Bar, ...]
    others: int


@dataclass(frozen=True, slots=True)
class OverTime:
    """Counts by period, first to last without gaps.

    `undated` rows name no such period: no date, or no month. `earlier` rows name only years that would make the axis
    too long.
    """

    column: str
    period: Period
    bars: tuple[Bar, ...]
    undated: int
    earlier: int = 0


@dataclass(frozen=True, slots=True)
class Matrix:
    """How many rows name each value in each document: `counts[document][value]`.

    Left out are `other_values` and `other_documents`, those with the fewest.
    """

    column: str
    documents: tuple[str, ...]
    values: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    other_values: int
    other_documents: int
