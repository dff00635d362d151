"""Results of the runs of a case: tables a page at a time, groups, and the evidence of a cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from engine.results.shown import ShownHeading
from engine.worker.contract.query import Query

__all__ = ["ShownHeading"]

Kind = Literal["text", "number", "date", "list", "flag"]


@dataclass(frozen=True, slots=True)
class RunEntry:
    """One run. `rows` is None while it has delivered nothing; `name` is its question's, where the queue knows it."""

    id: str
    name: str
    started_at: str
    rows: int | None


@dataclass(frozen=True, slots=True)
class HiddenNote:
    """What is to be said before results of a run are exported; `text` is empty where there is nothing."""

    run: str
    text: str


@dataclass(frozen=True, slots=True)
class ColumnInfo:
    """A column; `resolved_by` is the operator that decided which of its values are one, empty when none did.

    `answer` names the question that it tells of: its answer, or the status, note or items beside that; empty for none.
    """

    name: str
    kind: Kind
    resolved_by: str
    answer: str = ""


@dataclass(frozen=True, slots=True)
class TableInfo:
    """What a table of results is made of. `new` rows were not there in the last run; None where there was none."""

    run: str
    columns: tuple[ColumnInfo, ...]
    rows: int
    new: int | None


@dataclass(frozen=True, slots=True)
class ShownRow:
    """One row: `number` from 1 in the order of the run, `cells` by column as text, after corrections.

    By place of the column: `missing` were not located, `corrected` hold another value than the model's, `cut` have more
    text than is given here. By its name, `doubts` say what speaks against a cell.
    """

    id: str
    number: int
    cells: tuple[str, ...]
    missing: tuple[int, ...]
    corrected: tuple[int, ...]
    cut: tuple[int, ...]
    verdict: str
    note: str
    doubts: dict[str, str]
    is_new: bool


@dataclass(frozen=True, slots=True)
class RowsPage:
    """Some rows of the table; `total` counts all lines, `selected` the rows without headings, each once."""

    total: int
    selected: int
    rows: tuple[ShownRow | ShownHeading, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Values that a column names and how many rows have each, most first; `others` values are left out."""

    column: str
    counts: tuple[tuple[str, int], ...]
    others: int


@dataclass(frozen=True, slots=True)
class CellPlace:
    """One place of a value. `inside` leads into a list or object; without a document it was not located.

    Lines are inclusive numbers in the document.
    """

    inside: str
    value: str
    document: str
    page: int
    first_line: int
    last_line: int
    method: str
    score: float | None


@dataclass(frozen=True, slots=True)
class CellDetails:
    """One cell: the value that holds, the model's own, what was said of it, and where it was found.

    In both values stand yes or no, and texts in place of typed values.
    """

    row: str
    column: str
    value: Any
    original: Any
    verdict: str
    note: str
    who: str
    made_at: str
    places: tuple[CellPlace, ...]


CELL = Query[CellDetails]("results.cell")
CHANGES = Query[str]("results.changes")
GROUP = Query[Group]("results.group")
HIDDEN = Query[HiddenNote]("results.hidden")
IDS = Query[tuple[str, ...]]("results.ids")
PAGE = Query[RowsPage]("results.page")
PREPARE = Query[int]("results.prepare")
RUNS = Query[list[RunEntry]]("results.runs")
TABLE = Query[TableInfo]("results.table")
