"""Words in the records of a case."""

from __future__ import annotations

from dataclasses import dataclass

from engine.results.shown import CountedDocument, SavedSearch, TermCounts, TermSum
from engine.worker.contract.query import Query

__all__ = ["CountedDocument", "SavedSearch", "TermCounts", "TermSum"]


@dataclass(frozen=True, slots=True)
class FoundLine:
    """A line that matches: where it stands, and part of it as (text, is a hit) pieces."""

    document: str
    name: str
    page: int
    line: int
    pieces: tuple[tuple[str, bool], ...]


@dataclass(frozen=True, slots=True)
class FoundLines:
    """Some lines, best first; `has_more`: there are more behind them.

    `is_fuzzy`: no line has the words as they are written; these have words that differ by a slip, as OCR makes them.
    """

    has_more: bool
    rows: tuple[FoundLine, ...]
    is_fuzzy: bool = False


FORGET = Query[str]("search.forget")
LINES = Query[FoundLines]("search.lines")
SAVE = Query[SavedSearch]("search.save")
SAVED = Query[tuple[SavedSearch, ...]]("search.saved")
SAVE_TERMS = Query[int]("search.save_terms")
TERMS = Query[TermCounts]("search.terms")
WITHIN = Query[list[tuple[int, int]]]("search.within")
