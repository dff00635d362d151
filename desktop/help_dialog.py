"""Help: the first steps, in the order in which they are done, and every key there is."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QLineEdit,
    QPlainTextEdit,
    QTableWidget,
    QTableWidgetItem,
    QTabWidget,
    QWidget,
)

from desktop.labels import with_name
from desktop.layouts import holder, in_column
from desktop.tables import stretch_section

FIRST_STEPS = """\
1. Add documents. Drop a folder or files on the window, or choose Add in Documents. Start reading shows how far it is.
   Files that cannot be read are listed under Not read, with the reason and what to do.

2. Ask. In Question, type what you want to know in your own words: Which cars are mentioned, with plate number?
   Redwell proposes a table. Rename a column where it stands, change its kind, add columns, remove them.

3. Preview. Preview reads three documents and shows the table. Click a cell to see the page with its line marked.
   Not right? Say in plain words what to change, or call rows wrong (R), then choose Change it.

4. Run. Choose which documents: all, starred, tagged, selected, or those that match a search. Run answers the question
   for all of them. You can pause it; it continues where it stopped.

5. Review. In Results, look at each row and its page: A accepts it, R rejects it, E corrects a cell, N writes a note.
   Ctrl+Z takes the last step back. A model makes mistakes: what nobody has looked at is a lead, not a finding.

6. Ledger. In Results, the Ledger says what became of every file and every row, and why.

7. Export. The table has your corrections and no row that you rejected. Each value says where it was found.

Everything happens on this computer. Offline? in the menu Help shows how, and tests it.
"""


class HelpDialog(QDialog):
    """Stays open beside the work. Keys are looked for by typing."""

    def __init__(self, actions: Sequence[QAction], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Help")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(820, 560)
        self.steps = with_name(QPlainTextEdit(FIRST_STEPS, readOnly=True), "First steps")
        self.steps.setTabChangesFocus(True)
        self.words = QLineEdit(placeholderText="Find a key: export, reject, …", clearButtonEnabled=True)
        self.words.setAccessibleName("Find a key")
        self.keys = with_name(QTableWidget(0, 3), "Keys")
        self.keys.setHorizontalHeaderLabels(["What", "Key", "Menu"])
        self.keys.verticalHeader().setVisible(False)
        self.keys.setEditTriggers(QTableWidget.EditTrigger.NoEditTriggers)
        self.keys.setSelectionBehavior(QTableWidget.SelectionBehavior.SelectRows)
        self.keys.setTabKeyNavigation(False)
        self.keys.setAlternatingRowColors(True)
        stretch_section(self.keys.horizontalHeader(), 0)
        self._fill(actions)
        self.words.textChanged.connect(self._look_for)
        page = holder(self.words, (self.keys, 1), margins=None)
        self.tabs = with_name(QTabWidget(), "Help")
        self.tabs.addTab(self.steps, "First steps")
        self.tabs.addTab(page, "Keys")
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.button(QDialogButtonBox.StandardButton.Close).setAutoDefault(False)  # Enter is for what is looked for
        buttons.rejected.connect(self.close)
        in_column((self.tabs, 1), buttons, on=self, margins=None)

    def show_keys(self) -> None:
        """Show the keys rather than the first steps."""
        self.tabs.setCurrentIndex(1)
        self.words.setFocus()

    def _fill(self, actions: Sequence[QAction]) -> None:
        with_keys = [action for action in actions if not action.shortcut().isEmpty()]
        self.keys.setRowCount(len(with_keys))
        for row, action in enumerate(with_keys):
            menus = [menu for menu in action.associatedObjects() if hasattr(menu, "title")]
            cells = (
                action.text().replace("&", "").removesuffix("…"),
                action.shortcut().toString(QKeySequence.SequenceFormat.NativeText),
                menus[0].title().replace("&", "") if menus else "",
            )
            for column, text in enumerate(cells):
                self.keys.setItem(row, column, QTableWidgetItem(text))

    def _look_for(self, text: str) -> None:
        wanted = text.casefold().strip()
        for row in range(self.keys.rowCount()):
            items = (self.keys.item(row, column) for column in range(self.keys.columnCount()))
            self.keys.setRowHidden(row, not any(item and wanted in item.text().casefold() for item in items))
