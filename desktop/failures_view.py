"""Files that could not be read: why, and reading one again with OCR or a password."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QInputDialog, QLabel, QLineEdit, QVBoxLayout, QWidget

from desktop.buttons import push_button
from desktop.failures_model import FailuresModel
from desktop.paged_model import ROW_ROLE
from desktop.plain_text import plain
from desktop.tables import make_table
from desktop.workspace import Workspace

_FILE_WIDTH = 220


class FailuresView(QWidget):
    """A table that fetches, and what can be done with the chosen file."""

    def __init__(self, workspace: Workspace, read_again: Callable[..., None], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._read_again = read_again
        self.model = FailuresModel(workspace.ask, workspace.client.forget, self)
        self.model.loading_failed.connect(workspace.said)
        self.model.total_changed.connect(self._counted)
        self.table = make_table(self.model, "Files that could not be read")
        self.table.setColumnWidth(0, _FILE_WIDTH)
        self.table.horizontalHeader().setStretchLastSection(True)
        self.table.selectionModel().currentRowChanged.connect(lambda now, before: self._enable())
        self.model.dataChanged.connect(lambda first, last: self._enable())
        self._hint = QLabel("Every file could be read.", textFormat=Qt.TextFormat.PlainText)
        self._again = push_button("retry", "Read again", self._retry)
        self._ocr = push_button("text", "Read by OCR", lambda: self._retry(ocr="always"))
        self._password = push_button("offline", "With password…", self._ask_password)
        buttons = QHBoxLayout()
        buttons.addWidget(self._hint, 1)
        for button in (self._again, self._ocr, self._password):
            buttons.addWidget(button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 6, 0, 0)
        layout.addLayout(buttons)
        layout.addWidget(self.table, 1)
        self._enable()

    def begin(self) -> None:
        """Show the files of another case."""
        self.model.begin()

    def refresh(self) -> None:
        """Ask for the files anew."""
        self.model.refresh()

    def stop(self) -> None:
        """Give up what is on its way."""
        self.model.stop()

    def _counted(self, total: int) -> None:
        self._hint.setText("Choose a file to read it again." if total else "Every file could be read.")
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
        dialog = QInputDialog(self)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setWindowTitle("Password")
        dialog.setLabelText(plain(f"Password of {Path(self._path()).name}:"))
        dialog.setTextEchoMode(QLineEdit.EchoMode.Password)
        dialog.textValueSelected.connect(lambda password: self._retry(password=password))
        dialog.open()


def outer_file(path: str) -> str:
    """Return the file on disk that a path leads to or into: `in/mail.eml/scan.pdf` lies in `in/mail.eml`."""
    place = Path(path)
    return str(next((outer for outer in (place, *place.parents) if outer.is_file()), place))
