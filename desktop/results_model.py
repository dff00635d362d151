"""The table of results as a Qt model: a column for what reviewers said, then those of the run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor

from desktop.client import Ask
from desktop.paged_model import Page, PagedModel
from desktop.plain_text import plain
from desktop.rows_model import LEFT, RIGHT, ROLES, ROW_ROLE, Column, Index
from desktop.theme import icon
from desktop.words import counted
from engine.worker.contract import results
from engine.worker.contract.results import ColumnInfo, RowsPage, ShownHeading, ShownRow

REVIEW_TITLE: Final = "Review"
NOT_LOCATED: Final = "Not located: this value was looked for in the records and not found."
MANY_ROWS: Final = 5000
"""With more, a person would wait for the first sorting, filter or group, which need all rows."""

HEADING_ROLE: Final = int(Qt.ItemDataRole.UserRole) + 1
"""The heading in a row of the table, None in a row of the results."""
_GROUND: Final = int(Qt.ItemDataRole.BackgroundRole)
_ROLES: Final = ROLES | {HEADING_ROLE}
_ALIGNMENT: Final = int(Qt.ItemDataRole.TextAlignmentRole)
_DISPLAY: Final = int(Qt.ItemDataRole.DisplayRole)
_EDIT: Final = int(Qt.ItemDataRole.EditRole)
_FLAGS: Final = Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemNeverHasChildren
_EDITABLE: Final = _FLAGS | Qt.ItemFlag.ItemIsEditable
_VERDICT_ICONS: Final = {"accepted": "check", "corrected": "edit", "rejected": "reject"}
_VERDICT_COLOURS: Final = {
    "accepted": QColor(46, 160, 67, 90),
    "corrected": QColor(214, 150, 20, 90),
    "rejected": QColor(207, 52, 52, 100),
}
"""Behind the word that says what a reviewer decided; light and dark grounds shine through."""
_TIP_CHARACTERS = 1500


class ResultsModel(PagedModel[ShownRow | ShownHeading]):
    """Rows of one run. Column 0 is the review, column n the run's n-th."""

    edited = Signal(str, str, str)
    """A cell was edited in place: row id, column, text."""
    grouped = Signal()
    """Rows are in other groups, or other groups are folded."""

    def __init__(self, ask: Ask, forget: Callable[[str], None], parent: QObject | None = None) -> None:
        super().__init__(ask, forget, results.PAGE, (), parent)
        self.run = ""
        self.columns: Sequence[ColumnInfo] = ()
        self.can_edit = True
        self._sort, self._descending = "", False
        self._only: Mapping[str, Any] = {}
        self.group_column = ""
        """The column that rows are grouped by, empty for none."""
        self._all_folded = False
        self._folded_otherwise: set[str] = set()
        self._prepared = ""
        self.selected = 0
        """Rows that fit the filters: those of `rowCount`, without the headings of groups."""

    def show_run(self, run: str, columns: Sequence[ColumnInfo]) -> None:
        """Show another run, without filters and in its own order."""
        self.beginResetModel()
        self.run, self.columns = run, tuple(columns)
        titles = (REVIEW_TITLE, *(column.name for column in columns))
        self.table_columns = tuple(Column(title, str) for title in titles)  # their cells are written by `cell`
        self._sort, self._descending, self._only = "", False, {}
        self.group_column, self._all_folded, self._folded_otherwise = "", False, set()
        self._total = 0
        self.endResetModel()
        self.begin()

    def clear(self) -> None:
        """Show no run."""
        self.stop()
        self._is_begun = self.is_known = False
        self.beginResetModel()
        self.run, self.columns, self.table_columns, self._total, self._prepared = "", (), (), 0, ""
        self._pages.clear()
        self.endResetModel()
        self.total_changed.emit(0)

    def column_of(self, index: Index) -> ColumnInfo | None:
        """Return the column of the run that a cell lies in, None in that of the review and for no cell."""
        place = index.column() - 1 if index.isValid() else -1
        return self.columns[place] if 0 <= place < len(self.columns) else None

    @property
    def selection(self) -> dict[str, Any]:
        """Return which rows are shown, in which order (engine.results.table.Selection as JSON)."""
        return {**self._only, "sort": self._sort, "descending": self._descending}

    def text_of(self, row: ShownRow) -> str:
        """Write a row without its file."""
        named = zip(self.columns, row.cells, strict=True)
        return ", ".join(cell for column, cell in named if column.name != "filename" and cell)

    @property
    def is_filtered(self) -> bool:
        """Say whether rows are left out."""
        return bool(self._only)

    def question(self) -> Mapping[str, Any]:
        """Return the run, order and filters, and groups."""
        asked = {"run": self.run, "only": self.selection}
        if self.group_column:
            others = sorted(self._folded_otherwise)
            asked["grouping"] = {"column": self.group_column, "all_folded": self._all_folded, "others": others}
        return asked

    def taken(self, result: Page[ShownRow | ShownHeading]) -> None:
        """Note how many rows there are without headings; of many, have the worker read all meanwhile."""
        assert isinstance(result, RowsPage)
        self.selected = result.selected
        if self.selected > MANY_ROWS and self._prepared != self.run:
            self._prepared = self.run
            self._ask(results.PREPARE, lambda rows: None, run=self.run)

    def group_by(self, column: str) -> None:
        """Put rows below headings, one for each value of a column; empty for no groups."""
        if column != self.group_column:
            self.group_column, self._all_folded, self._folded_otherwise = column, False, set()
            self.restart()
            self.grouped.emit()

    def heading(self, number: int) -> ShownHeading | None:
        """Return the heading in a row, None where there is none."""
        row = self.row(number)
        return row if isinstance(row, ShownHeading) else None

    def result(self, number: int) -> ShownRow | None:
        """Return a row of the results, None where it is a heading or on its way."""
        row = self.row(number)
        return row if isinstance(row, ShownRow) else None

    def heading_above(self, number: int) -> int:
        """Return the row of the heading that a row stands below, -1 where none is known."""
        while number >= 0 and self.row(number) is not None:
            if self.heading(number) is not None:
                return number
            number -= 1
        return -1

    def fold(self, number: int) -> None:
        """Fold the group whose heading is in a row, or unfold it."""
        heading = self.heading(number)
        if heading is not None:
            self._folded_otherwise ^= {heading.heading}
            self.refresh()
            self.grouped.emit()

    def fold_all(self, *, on: bool) -> None:
        """Fold all groups, or unfold them."""
        if self.group_column:
            self._all_folded, self._folded_otherwise = on, set()
            self.restart()
            self.grouped.emit()

    def show_only(self, only: Mapping[str, Any]) -> None:
        """Show what fits filters, a Selection without its order."""
        if only != self._only:
            self._only = dict(only)
            self.restart()

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Have the worker sort by a column; the column of reviews stands for the order of the run."""
        name = self.columns[column - 1].name if 1 <= column <= len(self.columns) else ""
        descending = order == Qt.SortOrder.DescendingOrder and bool(name)
        if self.run and (name, descending) != (self._sort, self._descending):
            self._sort, self._descending = name, descending
            self.restart()

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return a cell; a heading is no row of the results."""
        if role not in _ROLES and not (role == _GROUND and index.column() == 0) or not index.isValid():
            return None
        number = index.row()
        row = self.row(number) if number < self._total else None
        return None if row is None else self.cell(row, index.column(), role)

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Let cells be edited that are here whole."""
        if not index.isValid():
            return Qt.ItemFlag.NoItemFlags
        column = index.column()
        row = self.result(index.row()) if column and self.can_edit else None
        whole = row is not None and column - 1 not in row.cut
        return _EDITABLE if whole else _FLAGS

    def cell(self, row: ShownRow | ShownHeading, column: int, role: int) -> Any:
        """Return a cell: the review in the first column, what the model wrote in the others."""
        if isinstance(row, ShownHeading):
            return self._heading(row, column, role)
        if role == ROW_ROLE:
            return row
        place = column - 1
        if role == _ALIGNMENT:
            return RIGHT if place >= 0 and self.columns[place].kind == "number" else LEFT
        return self._review(row, role) if place < 0 else self._cell(row, place, role)

    def _heading(self, heading: ShownHeading, column: int, role: int) -> Any:
        text = f"{heading.heading or '(empty)'} ({counted(heading.count, 'row')})"
        match role:
            case _ if role == HEADING_ROLE:
                return heading
            case Qt.ItemDataRole.AccessibleTextRole:
                return f"Group {text}, {'folded' if heading.is_folded else 'unfolded'}"
            case Qt.ItemDataRole.DisplayRole if column == 0:
                return text
        return None

    def _review(self, row: ShownRow, role: int) -> Any:
        match role:
            case Qt.ItemDataRole.DisplayRole | Qt.ItemDataRole.AccessibleTextRole:
                parts = ("new" if row.is_new else "", row.verdict, "note" if row.note else "")
                return "; ".join(part for part in parts if part)
            case Qt.ItemDataRole.DecorationRole if row.verdict or row.note:
                return icon(_VERDICT_ICONS.get(row.verdict, "note"))
            case Qt.ItemDataRole.BackgroundRole:
                return _VERDICT_COLOURS.get(row.verdict)
            case Qt.ItemDataRole.ToolTipRole:
                return plain(row.note) or None
        return None

    def _cell(self, row: ShownRow, place: int, role: int) -> Any:
        text = row.cells[place]
        if role in (_DISPLAY, _EDIT):  # before all others, for these are most of what is asked
            return text
        match role:
            case Qt.ItemDataRole.AccessibleTextRole:
                remarks = _told(row, place, self.columns[place].name)
                return f"{text} ({', '.join(remarks)})" if remarks else text
            case Qt.ItemDataRole.ToolTipRole:
                shown = text if len(text) <= _TIP_CHARACTERS else f"{text[:_TIP_CHARACTERS]}…"
                return plain("\n".join((shown, *_tips(row, place, self.columns[place].name)))) or None
            case Qt.ItemDataRole.DecorationRole:
                name = _sign(row, place, self.columns[place].name)
                return icon(name) if name else None
        return None

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """Tell of an edit; the cell changes when the case has it."""
        row = self.result(index.row()) if index.isValid() else None
        if role != Qt.ItemDataRole.EditRole or row is None or index.column() < 1:
            return False
        if str(value) != row.cells[index.column() - 1]:
            self.edited.emit(row.id, self.columns[index.column() - 1].name, str(value))
        return True


def _sign(row: ShownRow, place: int, name: str) -> str:
    """Return the icon of a cell, empty for most."""
    if place in row.corrected:
        return "edit"
    return "not_located" if place in row.missing else "warning" if row.doubts.get(name) else ""


def _told(row: ShownRow, place: int, name: str) -> list[str]:
    """Say briefly what is remarkable about a cell."""
    corrected = place in row.corrected
    doubtful = bool(row.doubts.get(name)) and not corrected
    return (
        ["to be looked at"] * doubtful
        + ["corrected"] * corrected
        + ["not located"] * (place in row.missing and not corrected)
    )


def _tips(row: ShownRow, place: int, name: str) -> list[str]:
    """Say at more length what is remarkable about a cell: of a value that was corrected, no more than that."""
    if place in row.corrected:
        return ["Corrected: this is not what the model wrote."]
    said = row.doubts.get(name, "")
    return [NOT_LOCATED] * (place in row.missing) + [said] * bool(said)
