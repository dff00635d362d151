"""The ledger of a run: its sums, and what failed or was left out, a page at a time."""

from __future__ import annotations

from engine.results.ledger import TurnedDown, count_turned_down, notes_of, turned_down
from engine.worker.contract import ledger as contract
from engine.worker.contract.ledger import LedgerPage, LedgerSums
from engine.worker.queries.documents import check_page
from engine.worker.queries.registry import query
from storage.case import Case


@query(contract.SUMS)
def sums(case: Case, *, run: str) -> LedgerSums:
    """Sum up what became of the files and rows of a run."""
    totals = case.ledger.sums(run)
    return LedgerSums(
        files=totals.documents,
        operators=totals.operators,
        adds_up=totals.adds_up,
        failed=totals.failed,
        rejected=count_turned_down(case.ledger, run, "rejected"),
        notes=tuple(notes_of(case.ledger.decisions(run))),
    )


@query(contract.PAGE)
def page(case: Case, *, run: str, fate: TurnedDown = "failed", offset: int = 0, limit: int = 100) -> LedgerPage:
    """Return some of the files and rows that failed, or of the rows that were rejected."""
    check_page(offset, limit)
    entries = turned_down(case, run, fate, offset=offset, limit=limit)
    return LedgerPage(count_turned_down(case.ledger, run, fate), tuple(entries))
