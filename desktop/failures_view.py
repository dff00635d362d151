"""Files that could not be read, a page of them at a time: why, and reading one again with OCR or a password."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from PySide6.QtWidgets import QLineEdit, QWidget

from desktop.buttons import push_button
from desktop.labels import plain_label
from desktop.layouts import in_column, in_row
from desktop.paged_model import PagedModel
from desktop.question_box import input_dialog
from desktop.rows_model import ROW_ROLE, Column
from desktop.tables import make_table
from desktop.workspace import Workspace
from engine.worker.contract import documents
from engine.worker.contract.documents import FailedFile

_COLUMNS: Final[Sequence[Column[FailedFile]]] = (
    Column("File", lambda row: Path(row.path).name, tip=lambda row: row.path, width=220),
    Column("Reason", lambda row: row.reason),
    Column(
        "What happened and what to do",
        lambda row: f"{row.message}. {row.advice}",
        tip=lambda row: f"{row.message}\n{row.advice}",
    ),
)


class FailuresView(QWidget):
    """A table that fetches, and what can be done with the chosen file."""

    def __init__(self, workspace: Workspace, read_again: Callable[..., None], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._read_again = read_again
        self.model = PagedModel(workspace.ask, workspace.client.forget, documents.FAILURES, _COLUMNS, self)
        self.model.loading_failed.connect(workspace.said)
        for changed in (self.model.total_changed, self.model.modelReset):
            changed.connect(self._say_hint)
        self.table = make_table(self.model, "Files that could not be read")
        self.table.horizontalHeader().setStretchLastSection(True)
        self.table.selectionModel().currentRowChanged.connect(lambda now, before: self._enable())
        self.model.dataChanged.connect(lambda first, last: self._enable())
        self._hint = plain_label()
        self._again = push_button("retry", "Read again", self._retry)
        self._ocr = push_button("text", "Read by OCR", lambda: self._retry(ocr="always"))
        self._password = push_button("offline", "With password…", self._ask_password)
        buttons = in_row((self._hint, 1), self._again, self._ocr, self._password)
        in_column(buttons, (self.table, 1), on=self, margins=(0, 6, 0, 0))
        self._enable()

    def _say_hint(self) -> None:
        """Say what can be done, or that there is no file; nothing before the worker has told."""
        hint = "Choose a file to read it again." if self.model.rowCount() else "Every file could be read."
        self._hint.setText(hint if self.model.is_known else "")
        self._enable()

    def _path(self) -> str:
        row = self.table.currentIndex().data(ROW_ROLE)
        return str(row.path) if row is not None else ""

    def _enable(self) -> None:
        for button in (self._again, self._ocr, self._password):
            button.setEnabled(bool(self._path()))

    def _retry(self, **options: Any) -> None:
        """Read the file again; one inside a mail or archive is read with what holds it."""
        self._read_again(outer_file(self._path()), **options)

    def _ask_password(self) -> None:
        path = self._path()  # another file may stand there when the password is typed
        read = lambda password: self._read_again(outer_file(path), password=password)  # noqa: E731
        dialog = input_dialog(self, "Password", f"Password of {Path(path).name}:", read)
        dialog.setTextEchoMode(QLineEdit.EchoMode.Password)
        dialog.open()


def outer_file(path: str) -> str:
    """Return the file on disk that a path leads to or into: `in/mail.eml/scan.pdf` lies in `in/mail.eml`."""
    place = Path(path)
    return str(next((outer for outer in (place, *place.parents) if outer.is_file()), place))
