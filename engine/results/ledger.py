"""What became of the files and rows of a run, for people: sums, notes, and what failed or was left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal

from engine.operators.base import NOTE
from engine.results.shown import LedgerEntry, Note
from storage.case import Case
from storage.documents import Documents
from storage.errors import NotInCase
from storage.export.assemble import file_names
from storage.ledger import FateRecord, LedgerBook, StoredDecision
from storage.rows import RowRecord

TurnedDown = Literal["failed", "rejected"]


_SAID = {
    "cut": "cut to fit",
    "split": "read in parts",
    "disagree": "with readings that disagree",
    "ship": "answered",
    "widen": "read further",
    "reread": "read again",
    "not_found": "without an answer",
    "clarify": "with a question back",
    "conflict": "with contradictory values",
}
"""What befell rows, in words that go on with "by" and the operator; verdicts that are not here are such words."""


def notes_of(decisions: Sequence[StoredDecision]) -> list[Note]:
    """Count the notes among decisions, the most frequent first, in words, each with the detail of its first row."""
    notes = [decision for decision in decisions if decision.record.subject == NOTE]
    counts = Counter((note.operator, note.record.verdict, note.record.by) for note in notes)
    first = {(note.operator, note.record.verdict, note.record.by): note.record.detail for note in reversed(notes)}
    return [
        Note(operator, _SAID.get(verdict, verdict), by, count, first[operator, verdict, by])
        for (operator, verdict, by), count in counts.most_common()
    ]


class RowNames:
    """Names the rows of a run for people."""

    def __init__(self, case: Case, run_id: str) -> None:
        self._case = case
        self._run_id = run_id

    def __call__(self, row_id: str) -> str:
        """Name a row: its file and lines where it has them, and its id."""
        row = self.row(row_id)
        if row is None or row.document_id is None:
            return f"row {row_id}"
        return f"{self.place(row)} (row {row_id})"

    def row(self, row_id: str) -> RowRecord | None:
        """Return a row without its values, None where it is not kept."""
        try:
            return self._case.rows.get(self._run_id, row_id, only=())
        except NotInCase:
            return None

    def place(self, row: RowRecord) -> str:
        """Name the file of a row, and its lines where it is a part of the file."""
        lines = f" l.{row.first_line}-{row.last_line}" if row.first_line is not None else ""
        return f"{self._files[row.document_id or '']}{lines}"

    @cached_property
    def _files(self) -> dict[str, str]:
        return file_names(self._case.documents)


def count_turned_down(ledger: LedgerBook, run_id: str, fate: TurnedDown) -> int:
    """Count what `turned_down` lists."""
    sums = ledger.sums(run_id)
    files = sums.documents.failed if fate == "failed" else 0
    return files + sum(each.failed if fate == "failed" else each.rejected for each in sums.operators)


def turned_down(case: Case, run_id: str, fate: TurnedDown, *, offset: int, limit: int) -> list[LedgerEntry]:
    """List files and then rows `offset` to `offset + limit` (exclusive) that failed, or rows that were rejected."""
    files: Sequence[LedgerEntry] = _files(case.ledger, run_id) if fate == "failed" else ()
    entries = list(files[offset : offset + limit])
    if len(entries) < limit:
        names = RowNames(case, run_id)
        more = case.ledger.fates(run_id, fate=fate, offset=max(offset - len(files), 0), limit=limit - len(entries))
        entries += [_row_entry(case.documents, names, stored.operator, stored.record) for stored in more]
    return entries


def _files(ledger: LedgerBook, run_id: str) -> list[LedgerEntry]:
    records = ledger.run_documents(run_id, "failed")
    return [LedgerEntry(Path(each.path).name, "", each.message, each.advice, "", "", 0, 0) for each in records]


def _row_entry(documents: Documents, names: RowNames, operator: str, record: FateRecord) -> LedgerEntry:
    row = names.row(record.row_id)
    document = (row.document_id if row is not None else None) or ""
    line = (row.first_line if row is not None else None) or 0
    lines = documents.lines(document, line, line) if document and line else []
    return LedgerEntry(
        name=names.place(row) if row is not None and document else f"row {record.row_id}",
        operator=operator,
        reason=record.error or record.reason,
        advice=record.advice,
        reply=record.raw_reply or "",
        document=document,
        page=lines[0].page if lines else int(bool(document)),
        line=line,
    )
