"""The run that goes on, and what became of rows."""

from __future__ import annotations

from engine.worker.contract import run as contract
from engine.worker.contract.run import LiveRows
from engine.worker.queries.desk import Desk
from engine.worker.queries.documents import check_page
from engine.worker.queries.registry import query


@query(contract.ROWS)
def rows(desk: Desk, *, operator: str = "", offset: int = 0, limit: int = 100) -> LiveRows:
    """Return the latest rows of an operator of the run that goes on, or was the last; "" for the last operator."""
    check_page(offset, limit)
    live = desk.live()
    return LiveRows(operator, 0, ()) if live is None else live.rows(operator, offset, limit)
