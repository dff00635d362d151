"""Actions: each with a text, a shortcut, a place in the menus, and found by the command palette."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QMenuBar, QWidget

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
