"""Tables of dataclasses as Qt models: columns that write rows, and rows that are all here, such as those of a queue."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from desktop.abstract import QtABCMeta
from desktop.plain_text import plain

Index = QModelIndex | QPersistentModelIndex
Row = TypeVar("Row")

ROW_ROLE: Final = int(Qt.ItemDataRole.UserRole)
"""The whole row, as the worker gave it (its dataclass of the contract); None while it is on its way."""

_D = Qt.ItemDataRole
ROLES: Final = frozenset(
    map(int, (_D.DisplayRole, _D.EditRole, _D.DecorationRole, _D.ToolTipRole, _D.TextAlignmentRole))
) | {int(_D.AccessibleTextRole), ROW_ROLE}
"""Roles that a cell may have something for. A view asks for seven of each cell it draws: the others end at once."""

LEFT: Final = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
RIGHT: Final = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


@dataclass(frozen=True, slots=True)
class Column(Generic[Row]):
    """A column: its title, what it writes of a row, on which side, and what the tool tip says if not the same.

    `width` is the one it has at first, in pixels; 0 for that of the table.
    """

    title: str
    text: Callable[[Row], str]
    is_right: bool = False
    tip: Callable[[Row], str] | None = None
    width: int = 0

    @property
    def side(self) -> Qt.AlignmentFlag:
        """Return where its texts stand."""
        return RIGHT if self.is_right else LEFT


class ColumnsModel(QAbstractTableModel, Generic[Row], metaclass=QtABCMeta):
    """Shows rows in columns; a subclass says how many rows there are, and which."""

    def __init__(self, columns: Sequence[Column[Row]], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.table_columns: tuple[Column[Row], ...] = tuple(columns)

    @abstractmethod
    def row(self, number: int) -> Row | None:
        """Return a row, None while it is on its way."""

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's default
        """Return the number of columns."""
        return 0 if parent.isValid() else len(self.table_columns)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return the titles, aligned as their columns are, and the numbers of rows."""
        if orientation == Qt.Orientation.Vertical:
            return section + 1 if role == Qt.ItemDataRole.DisplayRole else None
        if not 0 <= section < len(self.table_columns):
            return None
        column = self.table_columns[section]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return column.side
        return column.title if role == Qt.ItemDataRole.DisplayRole else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return a cell, None while its row is on its way."""
        if role not in ROLES or not index.isValid() or index.row() >= self.rowCount():
            return None
        row = self.row(index.row())
        return row if role == ROW_ROLE or row is None else self.cell(row, index.column(), role)

    def cell(self, row: Row, column: int, role: int) -> Any:
        """Return what a cell shows in a role."""
        shown = self.table_columns[column]
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return shown.text(row)
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain((shown.tip or shown.text)(row)) or None
        return shown.side if role == Qt.ItemDataRole.TextAlignmentRole else None


class RowsModel(ColumnsModel[Row]):
    """Shows a list of rows; `show_rows` puts another list in its place. Nothing long belongs in it."""

    def __init__(self, columns: Sequence[Column[Row]], parent: QObject | None = None) -> None:
        super().__init__(columns, parent)
        self.rows: list[Row] = []

    def show_rows(self, rows: Sequence[Row]) -> None:
        """Show these rows; those whose place stays keep their selection."""
        fresh, old = list(rows), len(self.rows)
        if fresh == self.rows:
            return
        if len(fresh) > old:
            self.beginInsertRows(QModelIndex(), old, len(fresh) - 1)
            self.rows = fresh
            self.endInsertRows()
        elif len(fresh) < old:
            self.beginRemoveRows(QModelIndex(), len(fresh), old - 1)
            self.rows = fresh
            self.endRemoveRows()
        else:
            self.rows = fresh
        if fresh:
            self.dataChanged.emit(self.index(0, 0), self.index(len(fresh) - 1, len(self.table_columns) - 1))

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's default
        """Return the number of rows."""
        return 0 if parent.isValid() else len(self.rows)

    def row(self, number: int) -> Row:
        """Return a row."""
        return self.rows[number]
