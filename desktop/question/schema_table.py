"""The fields of an answer as a small table: name, type, what it means."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QEvent, QItemSelectionModel, QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtWidgets import (
    QAbstractItemView,
    QComboBox,
    QHeaderView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableWidget,
    QTableWidgetItem,
    QWidget,
)

from desktop.buttons import tool_button
from desktop.labels import plain_label
from desktop.layouts import REST, in_column, in_row
from desktop.tables import fit_rows

TYPES = (
    "string",
    "string?",
    "string or Nothing",
    "integer",
    "float",
    "boolean",
    "date",
    "date(order=MDY)",
    "amount(currency=USD)",
    "person",
    "address",
    "enum[Yes, No]",
    "list[string, 20]",
    "quote",
    "quote?",
    "quote(text)",
)
"""Types that are offered; any other may be written (docs/schemas.md)."""

_Index = QModelIndex | QPersistentModelIndex
_NAME, _TYPE, _DESCRIPTION = range(3)


class SchemaTable(QWidget):
    """Shows a schema and tells single changes of it, as engine.worker.pipeline_changes takes them."""

    changed = Signal(dict)
    """{"do": "rename_field", ...} without operator and key."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.table = QTableWidget(0, 3)
        self.table.setHorizontalHeaderLabels(["Field", "Type", "What it is"])
        self.table.setAccessibleName("Fields of the answer")
        self.table.verticalHeader().setVisible(False)
        self.table.setTabKeyNavigation(False)
        self.table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.table.setItemDelegateForColumn(_TYPE, _TypeDelegate(self.table))
        self.table.horizontalHeader().setSectionResizeMode(_DESCRIPTION, QHeaderView.ResizeMode.Stretch)
        self.table.setColumnWidth(_NAME, 120)
        self.table.setColumnWidth(_TYPE, 150)
        self.table.itemChanged.connect(self._edited)
        self.table.currentCellChanged.connect(lambda *cells: self._enable())
        self._other = plain_label("This schema is written in another form: change it in the YAML.", wraps=True)
        self._other.hide()
        self._fields: list[tuple[str, str, str]] = []
        self._is_showing = False
        self.add = tool_button("add", "Add a field", self.add_field)
        self._remove = tool_button("remove", "Remove the field", self.remove_field)
        self._up = tool_button("up", "Move the field up", lambda: self.move_field(-1))
        self._down = tool_button("down", "Move the field down", lambda: self.move_field(1))
        row = in_row(self.add, self._remove, self._up, self._down, REST)
        in_column(self.table, self._other, row, on=self, spacing=2)
        self.setFocusProxy(self.table)
        self._fit()

    def show_value(self, schema: Any) -> None:
        """Show a schema as it stands in the YAML; None for no field."""
        fields = _fields(schema)
        self._other.setVisible(fields is None)
        self.table.setVisible(fields is not None)
        for button in (self.add, self._remove, self._up, self._down):
            button.setVisible(fields is not None)
        if fields is None or fields == self._fields:
            return
        row = self.table.currentRow()
        self._fields, self._is_showing = fields, True
        self.table.setRowCount(len(fields))
        for number, parts in enumerate(fields):
            for column, text in enumerate(parts):
                item = self.table.item(number, column)
                if item is None:
                    self.table.setItem(number, column, QTableWidgetItem(text))
                elif item.text() != text:
                    item.setText(text)
        self._is_showing = False
        if fields:
            index = self.table.model().index(min(max(row, 0), len(fields) - 1), max(self.table.currentColumn(), 0))
            self.table.selectionModel().setCurrentIndex(index, QItemSelectionModel.SelectionFlag.NoUpdate)
        self._enable()
        self._fit()

    def flush(self) -> None:
        """Tell now what was typed into a cell, which tells by itself only when it is left."""
        cell = self.table.currentIndex()
        if (editor := self.table.indexWidget(cell)) is not None:
            self.table.itemDelegateForIndex(cell).setModelData(editor, self.table.model(), cell)

    def changeEvent(self, event: QEvent) -> None:
        """Make rows as high as other letters."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._fit()

    def add_field(self) -> None:
        """Add a field below the others."""
        self.changed.emit({"do": "add_field", "name": "field", "type": "string"})

    def remove_field(self) -> None:
        """Remove the current field."""
        row = self.table.currentRow()
        if 0 <= row < len(self._fields):
            self.changed.emit({"do": "remove_field", "name": self._fields[row][_NAME]})

    def move_field(self, by: int) -> None:
        """Move the current field up or down."""
        row = self.table.currentRow()
        if 0 <= row < len(self._fields) and 0 <= row + by < len(self._fields):
            self.table.setCurrentCell(row + by, self.table.currentColumn())
            self.changed.emit({"do": "move_field", "from": row, "to": row + by})

    def _edited(self, item: QTableWidgetItem) -> None:
        if self._is_showing:
            return
        old = self._fields[item.row()]
        new = list(old)
        new[item.column()] = item.text().strip()
        if tuple(new) == old or not new[_NAME] or not new[_TYPE]:
            item.setText(old[item.column()])
            return
        self._fields[item.row()] = (new[0], new[1], new[2])
        if item.column() == _NAME:
            self.changed.emit({"do": "rename_field", "name": old[_NAME], "to": new[_NAME]})
        else:
            field = {"do": "set_field", "name": old[_NAME], "type": new[_TYPE], "description": new[_DESCRIPTION]}
            self.changed.emit(field)

    def _enable(self) -> None:
        row, count = self.table.currentRow(), len(self._fields)
        self._remove.setEnabled(0 <= row < count and count > 1)
        self._up.setEnabled(0 < row < count)
        self._down.setEnabled(0 <= row < count - 1)

    def _fit(self) -> None:
        fit_rows(self.table)
        rows = min(max(len(self._fields), 2), 8)
        height = self.table.horizontalHeader().sizeHint().height()
        height += rows * self.table.verticalHeader().defaultSectionSize()
        self.table.setFixedHeight(height + 6)


class _TypeDelegate(QStyledItemDelegate):
    """Offers types in a box in which any may be written."""

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: _Index) -> QWidget:
        """Make the box."""
        box = QComboBox(parent)
        box.setEditable(True)
        box.addItems(TYPES)
        box.setAccessibleName("Type")
        return box

    def setEditorData(self, editor: QWidget, index: _Index) -> None:
        """Show the type that is there."""
        if isinstance(editor, QComboBox):
            editor.setCurrentText(index.data(Qt.ItemDataRole.EditRole))


def _fields(schema: Any) -> list[tuple[str, str, str]] | None:
    """Read name, type and description of each field; None for a schema of another form."""
    if schema is None:
        return []
    if not isinstance(schema, dict) or schema.get("type") == "object":
        return None
    fields = []
    for name, entry in schema.items():
        if isinstance(entry, str):
            fields.append((name, entry, ""))
        elif isinstance(entry, dict) and set(entry) <= {"type", "description"} and isinstance(entry.get("type"), str):
            fields.append((name, entry["type"], str(entry.get("description") or "")))
        else:
            return None
    return fields
