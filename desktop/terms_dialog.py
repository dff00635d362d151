"""Count the terms of a list in each document: the list at the left, the documents with their lines beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import shiboken6
from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QSortFilterProxyModel,
    Qt,
    Signal,
)
from PySide6.QtWidgets import QDialog, QFileDialog, QPlainTextEdit, QPushButton, QWidget

from desktop.buttons import push_button
from desktop.file_dialogs import ask_for_file, save_dialog
from desktop.labels import SaidLabel, plain_label, with_name
from desktop.layouts import holder, in_column, in_row, split
from desktop.plain_text import plain
from desktop.tables import make_table
from desktop.words import counted
from desktop.workspace import Workspace
from engine.worker.contract import search
from engine.worker.contract.search import CountedDocument, TermCounts, TermSum

_LISTS = "Texts (*.txt *.csv);;All files (*)"
_FORMATS = "Tables (*.csv);;Excel (*.xlsx);;JSON lines (*.jsonl)"
_LARGEST_LIST = 1_000_000
"""Bytes of a file with a list; the worker takes 500 terms."""
_HINT = (
    "One term per line. A line is searched for as it stands: use of force is a phrase, offic* the beginning of a word."
)
_SORTED_BY = Qt.ItemDataRole.UserRole
_NAME_WIDTH, _COUNT_WIDTH = 220, 110
Index = QModelIndex | QPersistentModelIndex


class TermsModel(QAbstractTableModel):
    """Documents down, terms across; a cell has the number of lines."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.terms: Sequence[TermSum] = ()
        self.rows: Sequence[CountedDocument] = ()

    def show_counts(self, counts: TermCounts) -> None:
        """Take what the worker counted."""
        self.beginResetModel()
        self.terms, self.rows = counts.terms, counts.rows
        self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's default
        """Return how many documents hold any term."""
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's default
        """Return how many columns there are: the document, and a term each."""
        return 0 if parent.isValid() or not self.terms else 1 + len(self.terms)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return a name or a count; no line is shown as nothing."""
        row, column = self.rows[index.row()], index.column()
        value: Any = row.counts[column - 1] if column else row.name
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return value if not column else f"{value:,}" if value else ""
            case Qt.ItemDataRole.AccessibleTextRole:
                return f"{self.terms[column - 1].term}: {counted(value, 'line')}" if column else value
            case Qt.ItemDataRole.ToolTipRole:
                return None if column else plain(value)
            case Qt.ItemDataRole.TextAlignmentRole if column:
                return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        return value if role == _SORTED_BY else None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return a term, and below it how many lines of how many documents hold it."""
        if orientation != Qt.Orientation.Horizontal or role not in (
            Qt.ItemDataRole.DisplayRole,
            Qt.ItemDataRole.ToolTipRole,
        ):
            return None
        if not section:
            return "Document"
        each = self.terms[section - 1]
        total = f"{each.term}\n{counted(each.lines, 'line')} in {each.documents:,}"
        return plain(f"{total} documents") if role == Qt.ItemDataRole.ToolTipRole else total


class TermsDialog(QDialog):
    """Not modal. It counts in the documents that fit `only` (storage.listing.DocumentFilter)."""

    chosen = Signal(dict, str, str)
    """A count was activated: the filter that it was counted with, the document's name, and its term as a search."""

    def __init__(self, workspace: Workspace, only: dict[str, Any], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._space, self._only, self._question = workspace, only, ""
        self._counted: list[str] = []
        self.setWindowTitle("Count a list of terms")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(860, 520)
        self.list = with_name(QPlainTextEdit(placeholderText="use of force\ntaser\noffic*"), "Terms, one per line")
        self.list.setTabChangesFocus(True)
        self.model = TermsModel(self)
        self.sorted = QSortFilterProxyModel(self)
        self.sorted.setSourceModel(self.model)
        self.sorted.setSortRole(_SORTED_BY)
        self.table = make_table(self.sorted, "Lines with each term, by document")
        self.table.setSelectionBehavior(self.table.SelectionBehavior.SelectItems)
        self.table.activated.connect(self._choose)
        self.told = SaidLabel("What was counted", wraps=True)
        self.count_button = push_button("search", "Count", self.count)
        self.export = push_button("export", "Export…", self.ask_to_save)
        self.export.setEnabled(False)
        self._lay_out()
        self.list.setFocus()
        for button in self.findChildren(QPushButton):
            button.setAutoDefault(False)  # Enter is for the count that has the keyboard
        self.list.textChanged.connect(self._enable)
        self._enable()

    def open_list(self, path: str) -> None:
        """Take the lines of a text file in place of the list."""
        try:
            if Path(path).stat().st_size > _LARGEST_LIST:
                self.told.setText(f"{Path(path).name} is no list of terms: it is larger than a megabyte.")
                return
            text = Path(path).read_text(encoding="utf-8-sig")
        except (OSError, UnicodeError) as error:
            self.told.setText(f"{Path(path).name} cannot be read: {error}. Save it as plain text in UTF-8.")
            return
        self.list.setPlainText("\n".join(text.splitlines()))
        self.count()

    def count(self) -> None:
        """Ask for the counts of the list as it stands."""
        terms = self.list.toPlainText().splitlines()
        if not any(term.strip() for term in terms):
            return
        self._stop()

        def taken(counts: TermCounts) -> None:
            self._question, self._counted = "", terms
            self._show(counts)

        self.told.setText("Counting…")
        self._question = self._space.ask(search.TERMS, taken, self._failed, terms=terms, only=self._only)

    def ask_for_list(self) -> QFileDialog:
        """Ask for a file with a term on each line."""
        return ask_for_file(self, "Open a list of terms", self.open_list, _LISTS, self._folder)

    def ask_to_save(self) -> QFileDialog:
        """Ask where the counts are to be written."""
        dialog = save_dialog(self, "Export the counts", self.save, _FORMATS, self._folder)
        dialog.open()
        return dialog

    def save(self, path: str) -> None:
        """Write the counts that are shown, as .csv, .xlsx or .jsonl."""

        def written(rows: int) -> None:
            said = f"Saved to {path}: {counted(rows, 'document')}."
            if shiboken6.isValid(self):
                self.told.setText(said)
            else:  # it was closed since
                self._space.said.emit(said, "")

        self._space.ask(search.SAVE_TERMS, written, self._failed, terms=self._counted, file=path, only=self._only)

    def done(self, code: int) -> None:
        """Give up what goes on."""
        self._stop()
        super().done(code)

    def _lay_out(self) -> None:
        opening = push_button("open", "Open a file…", self.ask_for_list)
        left = holder(plain_label(_HINT, wraps=True), (self.list, 1), in_row(opening, self.count_button))
        bottom = in_row((self.told, 1), self.export, push_button("close", "Close", self.close))
        in_column((split((left, self.table), (260, 580), (0, 1)), 1), bottom, on=self, margins=None)

    @property
    def _folder(self) -> str:
        return str(Path(self._space.case).parent)

    def _show(self, counts: TermCounts) -> None:
        self.model.show_counts(counts)
        header = self.table.horizontalHeader()
        self.table.setColumnWidth(0, _NAME_WIDTH)
        for section in range(1, self.model.columnCount()):
            self.table.setColumnWidth(section, max(_COUNT_WIDTH, header.sectionSizeHint(section)))
        header.setSortIndicator(-1, Qt.SortOrder.AscendingOrder)  # the order of the worker: most lines first
        self.table.setSortingEnabled(True)
        none = [each.term for each in self.model.terms if not each.lines]
        is_filtered = any(value for part, value in self._only.items() if part != "asked_in")
        where = " among those that fit the filters of Documents" if is_filtered else ""
        count = len(self.model.rows)
        sentence = f"{counted(count, 'document holds', 'documents hold')} a term{where}."
        self.told.setText(f"{sentence} Found nowhere: {', '.join(none)}." if none else sentence)
        self._enable()

    def _failed(self, message: str, advice: str) -> None:
        self._question = ""
        self.told.setText(f"{message}. {advice}")

    def _stop(self) -> None:
        if self._question:
            self._space.client.forget(self._question)
            self._question = ""

    def _enable(self) -> None:
        self.count_button.setEnabled(bool(self.list.toPlainText().strip()))
        self.export.setEnabled(bool(self.model.terms))

    def _choose(self, index: QModelIndex) -> None:
        here = self.sorted.mapToSource(index)
        if here.column() and self.model.rows[here.row()].counts[here.column() - 1]:
            self.chosen.emit(self._only, self.model.rows[here.row()].name, self.model.terms[here.column() - 1].query)
