"""The rows of a run by date."""

from __future__ import annotations

from dataclasses import dataclass

from engine.worker.contract.query import Query


@dataclass(frozen=True, slots=True)
class ShownEntry:
    """A date of a row, or with an empty `date` a text that is no sure one, and `reason` why.

    `text` is the row's cell in the column that names the entries. `gap` says how long nothing is dated before it where
    that is long, and `gap_days` in days. `place` says where the date stands, and `path` where in the cell.
    """

    row: str
    number: int
    path: str
    date: str
    gap_days: int
    gap: str
    text: str
    reason: str
    place: str


@dataclass(frozen=True, slots=True)
class ShownTimeline:
    """A timeline: `columns` are those that hold dates, `column` is the one shown, empty where there is none.

    Left out are `other_entries` and `other_undated` beyond MOST_ENTRIES.
    """

    column: str
    columns: tuple[str, ...]
    entries: tuple[ShownEntry, ...]
    undated: tuple[ShownEntry, ...]
    other_entries: int
    other_undated: int


SAVE = Query[int]("timeline.save")
SHOW = Query[ShownTimeline]("timeline.show")
