"""Answers of a run, a row at a time."""

from __future__ import annotations

from engine.results.shown import LONGEST_SAID, ShownAnswer, ShownItem
from engine.worker.contract.query import Query

__all__ = ["LONGEST_SAID", "ShownAnswer", "ShownItem"]

ROW = Query[tuple[ShownAnswer, ...]]("answers.row")
