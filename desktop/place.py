"""A place: one of the things the side bar leads to."""

from __future__ import annotations

from typing import ClassVar

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QWidget

from desktop.actions import Actions
from desktop.workspace import Workspace


class Place(QWidget):
    """Base of all places. A subclass names itself, builds its widgets in `__init__` and adds its actions.

    `needs_case`: it can be entered only while a case is open. Nothing here may wait: ask the workspace, and draw when
    the answer comes.
    """

    name: ClassVar[str]
    """What the side bar says."""
    icon_name: ClassVar[str]
    needs_case: ClassVar[bool] = True

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.workspace = workspace
        self._own_keys: list[QAction] = []
        self.setAccessibleName(self.name)

    def add_actions(self, actions: Actions) -> None:
        """Add the place's actions to the menus; called once."""

    def activate(self) -> None:
        """Come into view: show what is up to date, and take the keyboard."""

    def deactivate(self) -> None:
        """Go out of view: forget questions whose answers nobody would see."""

    def keep(self) -> None:
        """Begin to keep what was typed, before the window is closed."""

    @property
    def is_keeping(self) -> bool:
        """Say whether something that was typed is on its way into a file."""
        return False

    def undo(self) -> None:
        """Go back to before what was done last here, where a place knows how."""

    def redo(self) -> None:
        """Do again what was undone here."""

    def _hold_keys(self, *, on: bool) -> None:
        """Let the actions of `_own_keys` be done, or leave their keys to other places."""
        for action in self._own_keys:
            action.setEnabled(on)

    def is_offered(self) -> bool:
        """Say whether the side bar shows this place; asked when a case is opened."""
        return True
