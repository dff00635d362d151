"""Actions: each with a text, a shortcut, a place in the menus, and found in the palette by some letters of its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QAction, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QDialog, QLineEdit, QListWidget, QListWidgetItem, QMenu, QMenuBar, QWidget

from desktop.labels import with_name
from desktop.layouts import in_column
from desktop.plain_text import plain
from desktop.theme import icon

MENUS = ("File", "Edit", "View", "Go", "Documents", "Page", "Question", "Run", "Results", "Improve", "Models", "Help")
"""The menus there are, in order; one is shown when an action is in it."""


class Actions(QObject):
    """All actions of the window. A second action with a shortcut that is taken is a defect and refused."""

    def __init__(self, menu_bar: QMenuBar) -> None:
        super().__init__(menu_bar)
        self._bar = menu_bar
        self._menus: dict[str, QMenu] = {}
        self.all: list[QAction] = []
        for name in MENUS:
            self._menus[name] = menu_bar.addMenu(f"&{name}")
            self._menus[name].menuAction().setVisible(False)

    def add(self, text: str, do: Callable[[], object], *, menu: str, shortcut: str, icon_name: str = "") -> QAction:
        """Make an action, put it in its menu, and return it; raises ValueError for a shortcut that is taken."""
        keys = QKeySequence(shortcut)
        if any(keys == other.shortcut() for other in self.all):
            raise ValueError(f"the shortcut {shortcut} of {text!r} is taken")
        action = QAction(text, self._bar)
        action.setShortcut(keys)
        action.setStatusTip(text)
        name = text.replace("&", "").removesuffix("…")
        action.setToolTip(plain(f"{name} ({keys.toString(QKeySequence.SequenceFormat.NativeText)})"))
        if icon_name:
            action.setIcon(icon(icon_name))
        action.triggered.connect(lambda checked=False: do())
        submenu = self._menus[menu]
        submenu.addAction(action)
        submenu.menuAction().setVisible(True)
        self.all.append(action)
        return action


def offer_on_right_click(view: QWidget, actions: Sequence[QAction]) -> None:
    """Show actions in the menu of a view that a right click opens, or the menu key."""
    view.addActions(list(actions))
    view.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)


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
