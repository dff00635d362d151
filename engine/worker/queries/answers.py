"""Answers of a run, a row at a time: items, where they stand, conflicts, and what is asked back."""

from __future__ import annotations

from engine.results.answers import answers_of
from engine.results.shown import ShownAnswer
from engine.worker.contract import answers as contract
from engine.worker.queries.registry import query
from storage.case import Case


@query(contract.ROW)
def row(case: Case, *, run: str, row: str) -> tuple[ShownAnswer, ...]:
    """Return the answers of one row, in the order of the questions."""
    return answers_of(case, run, row)
