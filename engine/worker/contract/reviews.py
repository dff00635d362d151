"""What a person says of results, and how far she is."""

from __future__ import annotations

from dataclasses import dataclass

from engine.worker.contract.query import Query
from storage.reviews import ReviewStep

__all__ = ["ReviewStep"]


@dataclass(frozen=True, slots=True)
class ReviewProgress:
    """How many rows were judged, by verdict; `unplaced` rows of earlier runs were judged and are not in this one."""

    rows: int
    reviewed: int
    accepted: int
    corrected: int
    rejected: int
    unplaced: int


CORRECT = Query[str]("reviews.correct")
GOLD = Query[int]("reviews.gold")
JUDGE = Query[int]("reviews.judge")
NOTE = Query[str]("reviews.note")
PROGRESS = Query[ReviewProgress]("reviews.progress")
REDO = Query[ReviewStep | None]("reviews.redo")
UNDO = Query[ReviewStep | None]("reviews.undo")
