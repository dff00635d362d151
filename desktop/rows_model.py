"""Rows that are all here, as a Qt model: a queue, operators, reasons. Nothing long belongs in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, Qt

from desktop.paged_model import ROW_ROLE, Index
from desktop.plain_text import plain

__all__ = ["ROW_ROLE", "Column", "RowsModel"]
Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Column(Generic[Row]):
    """A column: its title, what it writes of a row, and on which side."""

    title: str
    text: Callable[[Row], str]
    is_right: bool = False
    tip: Callable[[Row], str] | None = None


class RowsModel(QAbstractTableModel, Generic[Row]):
    """Shows a list of rows; `show_rows` puts another list in its place."""

    def __init__(self, columns: Sequence[Column[Row]], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._columns = tuple(columns)
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
            self.dataChanged.emit(self.index(0, 0), self.index(len(fresh) - 1, len(self._columns) - 1))

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's default
        """Return the number of rows."""
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's default
        """Return the number of columns."""
        return 0 if parent.isValid() else len(self._columns)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return the titles, aligned as their columns are."""
        if orientation != Qt.Orientation.Horizontal or section >= len(self._columns):
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self._side(section)
        return self._columns[section].title if role == Qt.ItemDataRole.DisplayRole else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return a cell."""
        if not index.isValid() or index.row() >= len(self.rows):
            return None
        row, column = self.rows[index.row()], self._columns[index.column()]
        if role == ROW_ROLE:
            return row
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return column.text(row)
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain((column.tip or column.text)(row))
        return self._side(index.column()) if role == Qt.ItemDataRole.TextAlignmentRole else None

    def _side(self, column: int) -> Qt.AlignmentFlag:
        side = Qt.AlignmentFlag.AlignRight if self._columns[column].is_right else Qt.AlignmentFlag.AlignLeft
        return side | Qt.AlignmentFlag.AlignVCenter
