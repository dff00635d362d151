"""Groups: what a column names, and how many of the rows shown have each; picking one filters the table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QTreeWidget, QTreeWidgetItem, QWidget

from desktop.buttons import choice_box, tool_button
from desktop.labels import plain_label, with_name
from desktop.layouts import in_column, in_row
from desktop.plain_text import plain
from desktop.tables import stretch_section
from desktop.words import counted
from desktop.workspace import Workspace
from engine.worker.contract import results
from engine.worker.contract.results import ColumnInfo, Group

_VALUE = Qt.ItemDataRole.UserRole


class GroupsPanel(QWidget):
    """A column to choose, and its values. `selection` returns which rows are counted."""

    picked = Signal(str, str)
    """A group was picked: column, and the filter that shows it (empty: all groups)."""
    grouped = Signal(str)
    """Another column is grouped by, empty for none."""
    fold_wanted = Signal(bool)
    """All groups of the table are to be folded, or unfolded."""

    def __init__(self, workspace: Workspace, selection: Callable[[], dict[str, Any]]) -> None:
        super().__init__()
        self._workspace, self._selection = workspace, selection
        self._run, self._question = "", ""
        self.column = choice_box("Group by", narrow=True)
        self.column.activated.connect(lambda index: self._chosen())
        self.list = with_name(QTreeWidget(), "Groups")
        self.list.setRootIsDecorated(False)
        self.list.setHeaderLabels(["Value", "Rows"])
        stretch_section(self.list.header(), 0)
        self.list.itemClicked.connect(self._pick)
        self.list.itemActivated.connect(self._pick)
        self._fold = tool_button("fold", "Fold all groups", lambda: self.fold_wanted.emit(True))
        self._unfold = tool_button("unfold", "Unfold all groups", lambda: self.fold_wanted.emit(False))
        top = in_row((plain_label("Group by", of=self.column), 1), self._fold, self._unfold)
        in_column(top, self.column, (self.list, 1), on=self, spacing=4)

    def show_run(self, run: str, columns: Sequence[ColumnInfo]) -> None:
        """Offer the columns of another run; the one that was chosen stays so if it is there."""
        before = self.column.currentText()
        self._run = run
        with QSignalBlocker(self.column):
            self.column.clear()
            self.column.addItems(["(no groups)", *(column.name for column in columns)])
            self.column.setCurrentText(before if self.column.findText(before) > 0 else "(no groups)")
        self.refresh()

    def choose(self, column: str) -> None:
        """Group by a column."""
        self.column.setCurrentText(column)
        self._chosen()

    @property
    def chosen(self) -> str:
        """Return the column that is grouped by, empty for none."""
        return self.column.currentText() if self.column.currentIndex() > 0 else ""

    def refresh(self) -> None:
        """Count anew."""
        self.stop()
        for button in (self._fold, self._unfold):
            button.setEnabled(bool(self.chosen))
        if not self.chosen or not self._run:
            self.list.clear()
            return
        parameters: dict[str, Any] = {"run": self._run, "column": self.chosen, "only": self._selection()}
        self._question = self._workspace.ask(results.GROUP, self._show, **parameters)

    def stop(self) -> None:
        """Give up what is on its way."""
        self._workspace.client.forget(self._question)

    def _chosen(self) -> None:
        self.list.clear()  # its values are of the column before
        self.list.scrollToTop()
        self.grouped.emit(self.chosen)
        self.refresh()

    def _show(self, group: Group) -> None:
        """Show other counts; the place in the list stays, and so does the group that has the keyboard."""
        current, scrolled = self.list.currentItem(), self.list.verticalScrollBar().value()
        chosen = current.data(0, _VALUE) if current is not None and self.list.hasFocus() else None
        self.list.clear()
        everything = QTreeWidgetItem(self.list, ["(all)", ""])
        everything.setData(0, _VALUE, "")
        for value, count in group.counts:
            item = QTreeWidgetItem(self.list, [value or "(empty)", f"{count:,}"])
            item.setData(0, _VALUE, f"={value}")
            item.setToolTip(0, plain(value))
            item.setTextAlignment(1, Qt.AlignmentFlag.AlignRight)
        if group.others:
            more = QTreeWidgetItem(self.list, [counted(group.others, "more value")])
            more.setFlags(Qt.ItemFlag.NoItemFlags)
        for line in map(self.list.topLevelItem, range(self.list.topLevelItemCount())):
            if line is not None and chosen is not None and line.data(0, _VALUE) == chosen:
                self.list.setCurrentItem(line)
        self.list.doItemsLayout()  # else the bar does not know yet how far it goes
        self.list.verticalScrollBar().setValue(scrolled)

    def _pick(self, item: QTreeWidgetItem) -> None:
        self.picked.emit(self.column.currentText(), str(item.data(0, _VALUE) or ""))
