"""What a run asks back about its questions, while it goes on with all others; a person answers here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtWidgets import QHeaderView, QVBoxLayout, QWidget

from desktop.answer_cards import AskBack
from desktop.rows_model import ROW_ROLE, Column, RowsModel
from desktop.tables import make_table
from desktop.workspace import Workspace

COLUMNS = (
    Column("Rows", lambda row: f"{row['rows']:,}", is_right=True),
    Column("Question", lambda row: str(row["question"])),
    Column("Asks back", lambda row: str(row["text"]), tip=lambda row: str(row["text"])),
)


class AskedBackPanel(QWidget):
    """The questions back of one run (engine.worker.live.AskedBack), and a field to answer the chosen one."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._run = ""
        self.model = RowsModel(COLUMNS, self)
        self.table = make_table(self.model, "Questions back")
        header = self.table.horizontalHeader()
        for column in range(len(COLUMNS)):
            is_last = column == len(COLUMNS) - 1
            mode = QHeaderView.ResizeMode.Stretch if is_last else QHeaderView.ResizeMode.ResizeToContents
            header.setSectionResizeMode(column, mode)
        self.table.selectionModel().currentRowChanged.connect(lambda now, before: self._chosen())
        self.ask_back = AskBack()
        self.ask_back.said.connect(self._clarify)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 4)
        layout.addWidget(self.table, 1)
        layout.addWidget(self.ask_back)
        self.ask_back.show_question("")

    def show_questions(self, run: str, asked: Sequence[dict[str, Any]]) -> None:
        """Show what a run asks back so far; what is chosen stays so."""
        chosen = self._key(self._current())
        self._run = run
        if list(asked) == self.model.rows:
            return
        self.model.show_rows(list(asked))
        place = next((n for n, row in enumerate(asked) if self._key(row) == chosen), 0)
        if asked:
            self.table.selectRow(place)
        self._chosen()

    def _current(self) -> dict[str, Any] | None:
        row: dict[str, Any] | None = self.table.currentIndex().data(ROW_ROLE)
        return row

    def _key(self, row: dict[str, Any] | None) -> tuple[str, ...]:
        return () if row is None else (row["operator"], row["question"], row["text"])

    def _chosen(self) -> None:
        row = self._current()
        self.ask_back.show_question(row["text"] if row is not None else "")

    def _clarify(self, said: str, document: str) -> None:
        if row := self._current():
            self._workspace.clarify_wanted.emit(self._run, row["operator"], row["question"], said, document)
