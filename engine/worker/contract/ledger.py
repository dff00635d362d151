"""The ledger of a run: its sums, and what failed or was left out, a page at a time."""

from __future__ import annotations

from dataclasses import dataclass

from engine.results.shown import LedgerEntry, Note
from engine.worker.contract.query import Query
from storage.ledger import DocumentSums, OperatorSums

__all__ = ["LedgerEntry", "OperatorSums"]


@dataclass(frozen=True, slots=True)
class LedgerSums:
    """What became of all files and rows; `failed` and `rejected` count what `ledger.page` lists."""

    files: DocumentSums
    operators: tuple[OperatorSums, ...]
    adds_up: bool
    failed: int
    rejected: int
    notes: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class LedgerPage:
    """Some entries; `total` counts all."""

    total: int
    rows: tuple[LedgerEntry, ...]


PAGE = Query[LedgerPage]("ledger.page")
SUMS = Query[LedgerSums]("ledger.sums")
