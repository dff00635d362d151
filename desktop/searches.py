"""The button beside the search of all records: saved searches, and lists of terms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QInputDialog, QMenu, QPushButton, QWidget

from desktop.plain_text import plain, unmarked
from desktop.question_box import input_dialog
from desktop.theme import icon
from desktop.workspace import Workspace
from engine.worker.contract import search as contract
from engine.worker.contract.search import SavedSearch


class SearchesButton(QPushButton):
    """A menu. `current` returns the search as it stands: its words, and its filters as the worker takes them."""

    chosen = Signal(object)
    """A saved search is to be used (SavedSearch)."""

    def __init__(
        self,
        workspace: Workspace,
        current: Callable[[], tuple[str, dict[str, Any]]],
        count_terms: Callable[[], object],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(icon("search"), "Searches", parent)
        self._space, self._current = workspace, current
        self.saved: Sequence[SavedSearch] = ()
        """The saved searches of the case, by name."""
        self._menu = QMenu(self)
        self._menu.addAction("Save this search…", self.ask_to_save)
        self._menu.addAction("Count a list of terms…", count_terms)
        self._remove = self._menu.addMenu("Remove a saved search")
        self._begin_saved = self._menu.addSeparator()
        self._menu.setToolTipsVisible(True)
        self.setMenu(self._menu)
        workspace.case_opened.connect(lambda path: self._learn())
        self._show(())

    def names(self) -> list[str]:
        """Return the names of the saved searches."""
        return [search.name for search in self.saved]

    def ask_to_save(self) -> QInputDialog | None:
        """Ask for a name; the search of that name, if there is one, is replaced."""
        words, only = self._current()
        if not (words.strip() or any(only.values())):
            self._space.said.emit("There is nothing to save.", "Type words to search for, or choose filters.")
            return None
        label = "Name of the search (a saved one of this name is replaced):"
        dialog = input_dialog(self, "Save this search", label, self.save)
        dialog.setComboBoxItems(["", *self.names()])
        dialog.setComboBoxEditable(True)
        dialog.open()
        return dialog

    def save(self, name: str) -> None:
        """Save the search as it stands now."""
        words, only = self._current()
        self._space.edit(contract.SAVE, lambda saved: self._learn(), name=name, words=words, only=only)

    def forget(self, name: str) -> None:
        """Remove a saved search."""
        self._space.edit(contract.FORGET, lambda removed: self._learn(), name=name)

    def _learn(self) -> None:
        self._space.ask(contract.SAVED, self._show)

    def _show(self, saved: Sequence[SavedSearch]) -> None:
        self.saved = saved
        actions = self._menu.actions()
        for action in actions[actions.index(self._begin_saved) + 1 :]:
            self._menu.removeAction(action)
            action.deleteLater()
        self._remove.clear()
        for search in saved:
            name = unmarked(search.name)
            use = self._menu.addAction(name, partial(self.chosen.emit, search))
            use.setToolTip(plain(search.words or search.name))
            self._remove.addAction(name, partial(self.forget, search.name))
        self._remove.setEnabled(bool(saved))
