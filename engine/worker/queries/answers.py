"""Answers of a run, a row at a time: items, where they stand, conflicts, and what is asked back."""

from __future__ import annotations

from engine.results.answers import QuestionColumn, ShownAnswer, answers_of, question_columns
from engine.worker.queries.desk import Desk
from engine.worker.queries.registry import query


@query("answers.questions")
def questions(desk: Desk, *, case: str, run: str) -> tuple[QuestionColumn, ...]:
    """List the questions that a run asked by the operator `answer`."""
    return question_columns(desk.reading(case), run)


@query("answers.row")
def row(desk: Desk, *, case: str, run: str, row: str) -> tuple[ShownAnswer, ...]:
    """Return the answers of one row, in the order of the questions."""
    return answers_of(desk.reading(case), run, row)
