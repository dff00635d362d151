"""How all tables look: rows as high as their letters, columns as wide, no grid, no numbers at the side."""

from __future__ import annotations

from PySide6.QtCore import QAbstractItemModel, QEvent, QModelIndex, QSize
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QTreeView,
)

from desktop.paged_model import PagedModel
from desktop.rows_model import ColumnsModel, Index

_ROW_SPACE = 10
_ENTRY_SPACE = 12


class Table(QTableView):
    """A table whose rows follow the size of its letters."""

    def changeEvent(self, event: QEvent) -> None:
        """Make rows as high as other letters."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            fit_rows(self)


def fit_rows(table: QTableView, space: int = _ROW_SPACE) -> None:
    """Make rows as high as the letters, and so many pixels more."""
    table.verticalHeader().setDefaultSectionSize(table.fontMetrics().height() + space)


def stretch_section(header: QHeaderView, stretched: int) -> None:
    """Let one column take the width that is left, and give the others what their cells need."""
    header.setStretchLastSection(False)
    header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
    header.setSectionResizeMode(stretched, QHeaderView.ResizeMode.Stretch)


class TwoLines(QStyledItemDelegate):
    """Draws the entries of a list as high as two lines of its letters, and no wider than the list."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        """Return the size of an entry."""
        return QSize(0, 2 * option.fontMetrics.lineSpacing() + _ENTRY_SPACE)


def copy_cells(view: QAbstractItemView) -> tuple[str, str] | None:
    """Put the selected cells that are shown on the clipboard, a line for each row, with tabs between cells.

    Where some of many rows are not here nothing is copied: return why, and what to do (PagedModel.refusal).
    """
    model, selection = view.model(), view.selectionModel().selection().toList()
    if isinstance(model, PagedModel):
        refusal = model.refusal((each.top(), each.bottom()) for each in selection)
        if refusal is not None:
            return refusal
    header = view.horizontalHeader() if isinstance(view, QTableView) else None
    header = view.header() if isinstance(view, QTreeView) else header
    rows: dict[tuple[int, ...], list[tuple[int, str]]] = {}
    for each in selection:
        columns = range(each.left(), each.right() + 1)
        places = [(column, column if header is None else header.visualIndex(column)) for column in columns]
        shown = [place for place in places if header is None or not header.isSectionHidden(place[0])]
        above = _rows_above(each.parent())
        for row in range(each.top(), each.bottom() + 1) if shown else ():
            texts = ((place, str(model.index(row, column, each.parent()).data() or "")) for column, place in shown)
            rows.setdefault((*above, row), []).extend((place, " ".join(text.split())) for place, text in texts)
    if rows:
        lines = ("\t".join(text for _, text in sorted(rows[row])) for row in sorted(rows))
        QGuiApplication.clipboard().setText("\n".join(lines))
    return None


def _rows_above(parent: QModelIndex) -> tuple[int, ...]:
    """Return the numbers of the rows that lead to what stands below an entry of a tree."""
    return (*_rows_above(parent.parent()), parent.row()) if parent.isValid() else ()


def make_table(model: QAbstractItemModel, name: str) -> Table:
    """Make a table of a model; `name` is what those hear who do not see it."""
    table = Table()
    table.setModel(model)
    table.setAccessibleName(name)
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
    table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    table.setAlternatingRowColors(True)
    table.setShowGrid(False)
    table.setWordWrap(False)
    table.setTabKeyNavigation(False)
    table.verticalHeader().setVisible(False)
    table.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
    fit_rows(table)
    table.horizontalHeader().setHighlightSections(False)
    for number, column in enumerate(model.table_columns if isinstance(model, ColumnsModel) else ()):
        if column.width:
            table.setColumnWidth(number, column.width)
    return table
