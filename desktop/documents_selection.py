"""Which documents are selected in the table: told to other places, and kept while rows come between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QItemSelectionModel, QObject
from PySide6.QtWidgets import QTableView

from desktop.documents_model import DocumentsModel
from desktop.paged_model import ROW_ROLE
from desktop.selected_rows import SelectedRows
from desktop.workspace import Workspace
from engine.worker.contract.documents import IDS, ListedDocument


class DocumentsSelection(QObject):
    """Follows the selection of a table. What of it is not here is known when the worker has said it."""

    def __init__(self, workspace: Workspace, model: DocumentsModel, table: QTableView) -> None:
        super().__init__(table)
        self._workspace, self._model, self._table = workspace, model, table
        self.rows = SelectedRows(workspace, model, table, IDS)
        self._current = ""  # the document that is the current one
        self._is_selecting = False  # here, and not by a person
        self._sought: dict[str, Any] = {}  # what was asked last of rows that are not here
        self._question = ""  # its id while it is on its way
        table.selectionModel().selectionChanged.connect(lambda now, before: self.keep())
        model.dataChanged.connect(lambda *changed: self._select_again())

    def begin(self) -> None:
        """Begin anew with another case, in which nothing is selected."""
        self._current = ""
        self._forget()

    def use(self, then: Callable[[list[str]], object]) -> None:
        """Call `then` with the ids of all documents that are selected, as soon as they are known."""
        self.rows.use(then)

    def keep(self) -> None:
        """Let other places know what is selected: a question can be asked of these documents alone."""
        if self._is_selecting:
            return
        current: ListedDocument | None = self._table.currentIndex().data(ROW_ROLE)
        self._current = current.id if current is not None else ""
        if self.rows.are_here or self.rows.are_too_many:
            self._forget()
            self._workspace.selected_documents = [row.id for row in self.rows.here()] if self.rows.are_here else []
        elif self.rows.question() != self._sought:
            self._forget()
            self._workspace.selected_documents = []  # rather than a part of them
            self._sought = self.rows.question()
            self._question = self.rows.use(self._known)

    def _known(self, ids: list[str]) -> None:
        self._question = ""
        self._workspace.selected_documents = ids

    def _forget(self) -> None:
        self._workspace.client.forget(self._question)
        self._question, self._sought = "", {}

    def _select_again(self) -> None:
        """Let the selection follow its documents where rows came between them, as while files are read."""
        chosen = set(self._workspace.selected_documents)
        here = {row.id for row in self.rows.here()}
        is_known = here <= chosen and self.rows.count == len(chosen)
        if is_known or self._question or self.rows.are_too_many:
            return
        places = {row.id: number for number, row in self._model.loaded()}
        if not chosen <= places.keys():
            return  # some are among rows that are not here: the selection stays as it is until they are
        self._is_selecting = True
        selection = self._table.selectionModel()
        flags = QItemSelectionModel.SelectionFlag
        selection.clearSelection()
        for id in chosen:
            selection.select(self._model.index(places[id], 0), flags.Select | flags.Rows)
        if self._current in places:
            column = max(self._table.currentIndex().column(), 0)
            selection.setCurrentIndex(self._model.index(places[self._current], column), flags.NoUpdate)
        self._is_selecting = False
