"""How all tables look: rows as high as their letters, columns as wide, no grid, no numbers at the side."""

from __future__ import annotations

from PySide6.QtCore import QAbstractItemModel, QEvent
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

from desktop.paged_model import PagedModel
from desktop.rows_model import ColumnsModel

_ROW_SPACE = 10


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


def copy_cells(table: QTableView) -> bool:
    """Put the selected cells that are shown on the clipboard, a line for each row, with tabs between cells.

    False, and nothing is copied, where some are not loaded yet; these are then fetched.
    """
    model, header = table.model(), table.horizontalHeader()
    chosen = [index for index in table.selectionModel().selectedIndexes() if not table.isColumnHidden(index.column())]
    numbers = sorted({index.row() for index in chosen})
    if isinstance(model, PagedModel) and any([model.row(number) is None for number in numbers]):  # noqa: C419 - all
        return False
    rows: dict[int, list[str]] = {number: [] for number in numbers}
    for index in sorted(chosen, key=lambda index: header.visualIndex(index.column())):
        rows[index.row()].append(" ".join(str(index.data() or "").split()))
    if rows:
        QGuiApplication.clipboard().setText("\n".join("\t".join(cells) for cells in rows.values()))
    return True


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
