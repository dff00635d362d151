"""The command palette: every action by some letters of its name."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QAction, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QDialog, QLineEdit, QListWidget, QListWidgetItem, QWidget

from desktop.labels import with_name
from desktop.layouts import in_column

_KEYS = (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown)


class CommandPalette(QDialog):
    """A small window that lists the actions that can be done now."""

    def __init__(self, actions: Sequence[QAction], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Commands")
        self.setMinimumSize(480, 360)
        self._actions = [action for action in actions if action.isEnabled()]
        self._words = QLineEdit(self, placeholderText="Type what you want to do", clearButtonEnabled=True)
        self._words.setAccessibleName("Command")
        self._list = with_name(QListWidget(self), "Commands")
        in_column(self._words, self._list, on=self, margins=None)
        self._words.textChanged.connect(self._show)
        self._words.returnPressed.connect(self._do)
        self._list.itemActivated.connect(self._do)
        self._words.installEventFilter(self)
        self._show("")

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Let the arrow keys in the box move in the list."""
        is_key = isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress and event.key() in _KEYS
        if is_key and watched is self._words:
            self._list.event(event)
            return True
        return super().eventFilter(watched, event)

    def _show(self, words: str) -> None:
        self._list.clear()
        for action in self._actions:
            name = action.text().replace("&", "")
            if all(word in name.casefold() for word in words.casefold().split()):
                keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
                item = QListWidgetItem(f"{name}    {keys}")
                item.setIcon(action.icon())
                item.setData(Qt.ItemDataRole.UserRole, self._actions.index(action))
                self._list.addItem(item)
        self._list.setCurrentRow(0)

    def _do(self) -> None:
        item = self._list.currentItem()
        if item is not None:
            self.accept()
            self._actions[item.data(Qt.ItemDataRole.UserRole)].trigger()
