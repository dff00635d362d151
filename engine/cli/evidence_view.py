"""A row and the lines it comes from, collected from a case for `redwell trace`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from engine.errors import UsageError
from storage.case import Case
from storage.evidence import EvidenceRecord
from storage.export.assemble import citation_of, file_names
from storage.export.table import Citation, citation_text, inner_value
from storage.ledger import StoredDecision
from storage.rows import RowRecord

LONGEST_NAME = 300
"""Texts that decisions are about are names; longer values of a row are not looked up among them."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """One value of a cell (the whole cell, or one inside a list or object), and the places it was found at."""

    path: str
    value: Any
    places: tuple[EvidenceRecord, ...]


@dataclass(frozen=True, slots=True)
class QuotedLine:
    """One line of a record; those around the evidence are only context."""

    number: int
    text: str
    is_context: bool
    hidden: str | None = None


@dataclass(frozen=True, slots=True)
class Generation:
    """Rows that one operator made on the way to the row. `files` are those of its documents, where it has any."""

    operator: str
    rows: int
    files: tuple[str, ...]


class TracedRow:
    """One result row of a run. `number` counts from 1 as in the table."""

    def __init__(self, case: Case, run_id: str, number: int, row_id: str, columns: Sequence[str]) -> None:
        self.case = case
        self.run_id = run_id
        self.number = number
        self.row: RowRecord = case.row(run_id, row_id)
        self.columns = tuple(columns)
        self.files = file_names(case)

    def leaves(self, column: str) -> list[Leaf]:
        """List the values of a cell that were looked for, in order; empty when it holds nothing to look for."""
        by_path: dict[str, list[EvidenceRecord]] = {}
        for record in self.case.evidence(self.run_id, self.row.id, column):
            by_path.setdefault(record.path or column, []).append(record)
        value = self.row.values.get(column)
        return [Leaf(path, inner_value(value, column, path), tuple(found)) for path, found in by_path.items()]

    def citation(self, place: EvidenceRecord) -> str:
        """Write a place compactly: `file p.3 l.12-14`."""
        found: Citation = citation_of(self.case, place, self.files)
        return citation_text([found])

    def lines(self, place: EvidenceRecord, context: int = 1) -> list[QuotedLine]:
        """Return the lines of a place with so many lines before and after it; empty when it was not located."""
        if place.document_id is None or place.first_line is None or place.last_line is None:
            return []
        first, last = place.first_line, place.last_line
        lines = self.case.lines(place.document_id, max(1, first - context), last + context)
        return [QuotedLine(n.number, n.text, not first <= n.number <= last, n.hidden) for n in lines]

    def generations(self) -> list[Generation]:
        """Say which operators made the rows that this one comes from, the records first."""
        made: dict[str, list[str | None]] = {}
        for relative in reversed(self.case.ancestors(self.run_id, self.row.id)):
            made.setdefault(relative.operator or "(not kept)", []).append(relative.document_id)
        return [
            Generation(name, len(ids), tuple(sorted({self.files[id] for id in ids if id is not None})))
            for name, ids in made.items()
        ]

    def decisions(self) -> Iterator[StoredDecision]:
        """Give the verdicts about names that occur in this row or in the rows it comes from."""
        ancestors = self.case.ancestors(self.run_id, self.row.id)
        rows = [self.row, *(self.case.row(self.run_id, relative.id) for relative in ancestors if relative.operator)]
        names = {name for row in rows for name in _names_in(row.values)}
        for decision in self.case.decisions(self.run_id):
            if decision.record.left in names or decision.record.right in names:
                yield decision


def find_row(case: Case, run_id: str, wanted: str) -> TracedRow:
    """Find a row by its number in the table (from 1), its id, or the beginning of its id.

    Raises UsageError when there is none, or more than one.
    """
    results = case.results(run_id)
    if results is None:
        raise UsageError(f"run {run_id} has delivered no results yet", advice="Repeat the run; it resumes.")
    ids = results.row_ids
    if wanted.isdecimal() and 1 <= int(wanted) <= len(ids):
        return TracedRow(case, run_id, int(wanted), ids[int(wanted) - 1], results.columns)
    found = [row_id for row_id in ids if row_id.startswith(wanted)]
    if len(found) == 1:
        return TracedRow(case, run_id, ids.index(found[0]) + 1, found[0], results.columns)
    if found:
        raise UsageError(f"{len(found)} rows have an id that begins with {wanted!r}", advice="Write more of the id.")
    numbers = f"1 to {len(ids)}" if ids else "none: the table is empty"
    raise UsageError(f"run {run_id} has no row {wanted!r}", advice=f"Rows: {numbers}; or give a row's id.")


def _names_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if len(value) <= LONGEST_NAME:
            yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _names_in(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _names_in(item)
