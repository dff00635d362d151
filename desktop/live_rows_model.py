"""The latest rows of an operator while a run goes on, fetched when they are looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from PySide6.QtCore import QObject, Qt

from desktop.client import Ask
from desktop.paged_model import Page, PagedModel
from engine.worker.contract import run
from engine.worker.contract.run import LiveRows


class LiveRowsModel(PagedModel[Mapping[str, str]]):
    """The latest row first; its columns are the fields of the rows that came."""

    def __init__(self, ask: Ask, forget: Callable[[str], None], parent: QObject | None = None) -> None:
        super().__init__(ask, forget, run.ROWS, (), parent)
        self.operator = ""
        """Whose rows are wanted, empty for the last operator that has some."""
        self.shown = ""
        """Whose rows these are."""

    def question(self) -> Mapping[str, Any]:
        """Say whose rows."""
        return {"operator": self.operator}

    def show_operator(self, name: str) -> None:
        """Show the rows of another operator."""
        if name != self.operator:
            self.operator = name
            self.restart()

    def taken(self, result: Page[Mapping[str, str]]) -> None:
        """Show the fields that the rows have."""
        assert isinstance(result, LiveRows)
        self.shown = result.operator
        names = dict.fromkeys(name for row in result.rows for name in row)
        if names:
            self.set_titles(list(names))

    def cell(self, row: Mapping[str, str], column: int, role: int) -> Any:
        """Return a field as text."""
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole, Qt.ItemDataRole.ToolTipRole):
            return row.get(self._titles[column], "") if column < len(self._titles) else None
        return None
