"""How all tables look: rows as high as their letters, columns as wide, no grid, no numbers at the side."""

from __future__ import annotations

from PySide6.QtCore import QAbstractItemModel, QEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

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
    return table
