"""Answers of a run, a row at a time: items, where they stand, conflicts, and what is asked back."""

from __future__ import annotations

from engine.results.answers import ShownAnswer, answers_of
from engine.worker.queries.desk import Desk
from engine.worker.queries.registry import query


@query("answers.row")
def row(desk: Desk, *, case: str, run: str, row: str) -> tuple[ShownAnswer, ...]:
    """Return the answers of one row, in the order of the questions."""
    return answers_of(desk.reading(case), run, row)
