"""The rows that are selected in a table of which only some are here: the worker knows the ids of the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from PySide6.QtCore import QItemSelectionModel, QObject
from PySide6.QtWidgets import QAbstractItemView, QTableView

from desktop.documents_model import DocumentsModel
from desktop.paged_model import PagedModel
from desktop.rows_model import ROW_ROLE
from desktop.workspace import Workspace
from engine.worker.contract import Query
from engine.worker.contract.documents import IDS, ListedDocument
from engine.worker.contract.results import ShownHeading

MOST_SELECTED = 10_000
"""Rows whose ids can be told to the worker in one command."""


class SelectedRows:
    """`ids` is the query for the ids of rows by their places in the table, with what the model asks besides."""

    def __init__(
        self, workspace: Workspace, model: PagedModel[Any], table: QTableView, ids: Query[tuple[str, ...]]
    ) -> None:
        self._workspace, self._model, self._table, self._ids = workspace, model, table, ids

    @property
    def count(self) -> int:
        """Return how many rows are selected, headings among them."""
        return sum(last - first + 1 for first, last in self.spans())

    @property
    def are_too_many(self) -> bool:
        """Say whether they are more than can be told to the worker."""
        return self.count > MOST_SELECTED

    @property
    def are_here(self) -> bool:
        """Say whether all that is selected has come from the worker."""
        return len(self.here()) == self.count

    def here(self) -> list[Any]:
        """Return the selected rows that have come, in the order of the table."""
        chosen = {number for first, last in self.spans() for number in range(first, last + 1)}
        loaded = sorted(self._model.loaded(), key=lambda pair: pair[0])
        return [row for number, row in loaded if number in chosen]

    def question(self) -> dict[str, Any]:
        """Return what is to be asked for the ids of the selected rows."""
        return {"spans": [{"first": first, "last": last} for first, last in self.spans()], **self._model.question()}

    def use(self, then: Callable[[list[str]], object]) -> str:
        """Call `then` with the ids of all selected rows, at once where they are here.

        Return the id of the question to the worker, empty where none was needed. Too many rows are refused.
        """
        here = self.here()
        if len(here) == self.count:
            then(list(dict.fromkeys(row.id for row in here if not isinstance(row, ShownHeading))))
        elif self.are_too_many:
            self._workspace.said.emit(
                f"More than {MOST_SELECTED:,} rows are selected; nothing was done.", "Select fewer at a time."
            )
        else:
            return self._workspace.ask(
                self._ids, self._workspace.while_open(lambda ids: then(list(ids))), **self.question()
            )
        return ""

    def spans(self) -> list[tuple[int, int]]:
        """Return the first and last rows of what is selected, in order; a row may have to be selected whole."""
        ranges = self._table.selectionModel().selection().toList()
        if self._table.selectionBehavior() == QAbstractItemView.SelectionBehavior.SelectRows:
            ranges = [each for each in ranges if each.width() == self._model.columnCount()]
        return _joined(sorted((each.top(), each.bottom()) for each in ranges))


def _joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join spans that touch or overlap; they are sorted."""
    joined: list[tuple[int, int]] = []
    for first, last in spans:
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(last, joined[-1][1])
        else:
            joined.append((first, last))
    return joined


class DocumentsSelection(QObject):
    """Which documents are selected in their table: told to other places, and kept while rows come between them.

    What of it is not here is known when the worker has said it.
    """

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
