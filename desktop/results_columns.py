"""What can be done with the column, or the group, of the current cell: group by it, fold it, hide it, pin it."""

from __future__ import annotations

from desktop.groups_panel import GroupsPanel
from desktop.results_model import ResultColumn, ResultsModel
from desktop.results_table import ResultsTable


class ResultsColumns:
    """Each of these does nothing where there is no current cell."""

    def __init__(self, model: ResultsModel, table: ResultsTable, groups: GroupsPanel) -> None:
        self._model, self._table, self._groups = model, table, groups

    def group_by_current(self) -> None:
        """Group by the column of the current cell."""
        if (column := self._current()) is not None:
            self._groups.choose(column.name)

    def fold_current(self) -> None:
        """Fold the group of the current row, or unfold it; its heading becomes the current row."""
        heading = self._model.heading_above(self._table.currentIndex().row())
        if heading >= 0:
            self._table.go_to(heading, 1)
            self._model.fold(heading)

    def hide_current(self) -> None:
        """Hide the column of the current cell."""
        if (column := self._current()) is not None:
            self._table.hide_column(column.name)

    def pin_current(self) -> None:
        """Pin the column of the current cell, or let it go."""
        if (column := self._current()) is not None:
            self._table.pin_column(column.name, on=column.name not in self._table.pinned_columns)

    def _current(self) -> ResultColumn | None:
        return self._model.column_of(self._table.currentIndex())
