"""What every export is made from: columns, rows of JSON values, citations per cell, the ledger."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from storage.errors import ExportError
from storage.ledger import Ledger


@dataclass(frozen=True, slots=True)
class Citation:
    """Where one value was found. Lines are inclusive; `file` is None when it was not located.

    `page` is None for formats without pages. `path` leads from the column inside a cell that holds a list or
    object (`acts[0].date`).
    """

    file: str | None
    page: int | None = None
    first_line: int | None = None
    last_line: int | None = None
    quote: str = ""
    method: str = ""
    path: str = ""
    score: float | None = None


@dataclass(frozen=True)
class ResultRow:
    """One result: JSON values and citations by column. A column that is absent is null, or was not looked for."""

    id: str
    values: Mapping[str, Any]
    citations: Mapping[str, tuple[Citation, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class ResultTable:
    """The whole export. `ledger` is None when no run stands behind the table.

    `plain` are columns that come from no record, such as what a reviewer said: nothing is cited for them. `about` says
    what made the table, as pairs of a name and a text: run, model, when, how many documents, the question.
    """

    columns: tuple[str, ...]
    rows: tuple[ResultRow, ...]
    ledger: Ledger | None = None
    notes: tuple[str, ...] = ()
    plain: frozenset[str] = frozenset()
    about: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if not self.columns:
            advice = "No row was read, or the last operator writes no fields."
            raise ExportError("the results table has no columns", advice=advice)
        if len(set(self.columns)) < len(self.columns):
            raise ExportError(f"the results table names a column twice: {', '.join(self.columns)}")

    @property
    def cited(self) -> tuple[str, ...]:
        """Return the columns that have citations, in order."""
        return tuple(column for column in self.columns if column not in self.plain)

    @property
    def source_columns(self) -> tuple[str, ...]:
        """Name the citation column of each cited column: `NAME_source`, with more underscores where that is taken."""
        names: list[str] = []
        for column in self.cited:
            names.append(free_name(f"{column}_source", {*self.columns, *names}))
        return tuple(names)


NOT_LOCATED = "not located"

_STEP = re.compile(r"\[(\d+)\]|\.?([^.\[\]]+)")


def inner_value(value: Any, column: str, path: str) -> Any:
    """Follow a citation's path inside a cell; the whole cell when the path leads nowhere.

    >>> inner_value([{"date": "2024-05-01"}], "acts", "acts[0].date")
    '2024-05-01'
    """
    inner = value
    for match in _STEP.finditer(path.removeprefix(column)):
        index, key = match.groups()
        if isinstance(inner, dict) and key is not None and key in inner:
            inner = inner[key]
        elif isinstance(inner, list | tuple) and index is not None and int(index) < len(inner):
            inner = inner[int(index)]
        else:
            return value
    return inner


def citation_text(citations: Iterable[Citation]) -> str:
    """Write citations compactly: `file p.3 l.12-14`, several joined by `; `, equal ones once; empty when none."""
    return "; ".join(dict.fromkeys(_one(citation) for citation in citations))


def _one(citation: Citation) -> str:
    if citation.file is None:
        return NOT_LOCATED
    parts = [citation.file]
    if citation.page is not None:
        parts.append(f"p.{citation.page}")
    if citation.first_line is not None:
        parts.append(f"l.{lines_text(citation)}")
    return " ".join(parts)


def lines_text(citation: Citation) -> str:
    """Write the lines of a citation: `12-14`, `12` for one line, empty for none."""
    if citation.first_line is None:
        return ""
    if citation.last_line in (None, citation.first_line):
        return str(citation.first_line)
    return f"{citation.first_line}-{citation.last_line}"


def free_name(name: str, taken: Collection[str]) -> str:
    """Return the name, with as many underscores behind it as it takes to be another than those taken."""
    while name in taken:
        name += "_"
    return name
