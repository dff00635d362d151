"""Rows, fates, decisions and evidence as the case keeps them."""

from __future__ import annotations

from collections.abc import Iterable

from engine.evidence.cells import CellEvidence
from engine.executor.accounts import Account
from engine.rows import Row, RowId
from storage.evidence import EvidenceRecord
from storage.ledger import DecisionRecord, FateRecord
from storage.rows import RowRecord


def row_records(rows: Iterable[Row]) -> list[RowRecord]:
    """Return one record per row, same order."""
    return [
        RowRecord(
            id=row.id,
            values=row.values,
            parents=row.parents,
            document_id=row.document_id,
            first_line=row.span.first if row.span else None,
            last_line=row.span.last if row.span else None,
        )
        for row in rows
    ]


def fate_records(account: Account) -> list[FateRecord]:
    """Return one fate per input row, in the order in which rows reached the operator; a failure outranks the rest."""
    rejected = {item.row.id: FateRecord(item.row.id, "rejected", item.reason) for item in account.rejected}
    failed = {
        item.row.id: FateRecord(item.row.id, "failed", error=item.error, advice=item.advice, raw_reply=item.raw_reply)
        for item in account.failed
    }
    ids = dict.fromkeys(row.id for row in account.rows_in)
    return [failed.get(id) or rejected.get(id) or FateRecord(id, "output") for id in ids]


def decision_records(account: Account) -> list[DecisionRecord]:
    """Return the operator's verdicts in order."""
    return [DecisionRecord(d.subject, d.left, d.right, d.verdict, d.by, d.detail) for d in account.decisions]


def evidence_records(row_id: RowId, cell: CellEvidence) -> list[EvidenceRecord]:
    """Return a record per place of a cell's value, or the statement that it was not located."""
    if not cell.located:
        return [EvidenceRecord.not_located(row_id, cell.column, cell.path)]
    return [
        EvidenceRecord(
            row_id=row_id,
            column=cell.column,
            path=cell.path,
            document_id=place.document_id,
            page=place.page,
            first_line=place.first_line,
            last_line=place.last_line,
            method=place.method,
            score=place.score,
        )
        for place in cell.located
    ]
