"""Which documents a question reads: all, starred, tagged, selected, or those that match a search."""

from __future__ import annotations

from urllib.parse import urlencode

from PySide6.QtCore import QSignalBlocker, QTimer, Signal
from PySide6.QtWidgets import QLineEdit, QWidget

from desktop.buttons import choice_box
from desktop.layouts import in_row
from desktop.run_queue import ALL_DOCUMENTS, document_offers
from desktop.workspace import Workspace
from engine.worker.contract.documents import TAGS

_SEARCH = "search"
_TYPING_MILLISECONDS = 400


class DocumentsChoice(QWidget):
    """A box to choose from, and for a search a line for its words."""

    changed = Signal()

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._space = workspace
        self.box = choice_box("Documents that the question reads")
        self.box.setSizeAdjustPolicy(self.box.SizeAdjustPolicy.AdjustToContents)
        self.words = QLineEdit(placeholderText='words, "a phrase", offic*', clearButtonEnabled=True)
        self.words.setAccessibleName("Words that the documents have")
        self.words.setMinimumWidth(150)
        self.words.hide()
        self._typing = QTimer(self, interval=_TYPING_MILLISECONDS, singleShot=True)
        self._typing.timeout.connect(self.changed)
        in_row(self.box, self.words, on=self)
        self.box.activated.connect(lambda index: self._chosen())
        self.words.textChanged.connect(lambda text: self._typing.start())
        self._offer([])

    @property
    def value(self) -> str:
        """Return the choice as an `--input`."""
        data = str(self.box.currentData() or ALL_DOCUMENTS)
        if data != _SEARCH:
            return data
        words = self.words.text().strip()
        return ALL_DOCUMENTS + urlencode({"words": words}) if words else ALL_DOCUMENTS

    def look(self) -> None:
        """Bring what can be chosen up to date: tags in use, and what is selected."""
        self._space.ask(TAGS, self._offer)

    def choose(self, value: str) -> None:
        """Choose one of what is offered, by its `--input`; `search` for a search."""
        self.box.setCurrentIndex(max(self.box.findData(value), 0))
        self._chosen()

    def reset(self) -> None:
        """Choose all documents, as at first."""
        with QSignalBlocker(self.words):
            self.words.clear()
        self.box.setCurrentIndex(0)
        self.words.hide()

    def _offer(self, tags: list[str]) -> None:
        before, was = self.box.currentData(), self.value
        with QSignalBlocker(self.box):
            self.box.clear()
            for text, value in document_offers(tags, self._space.selected_documents):
                self.box.addItem(text, value)
            self.box.addItem("Documents that match a search…", _SEARCH)
            index = self.box.findData(before)
            if index < 0 and str(before or "").startswith(f"{ALL_DOCUMENTS}document="):  # others are selected now
                index = next((n for n in range(self.box.count()) if self.box.itemText(n).startswith("Selected")), 0)
            self.box.setCurrentIndex(max(index, 0))
        if self.value != was:
            self.changed.emit()

    def _chosen(self) -> None:
        is_search = self.box.currentData() == _SEARCH
        self.words.setVisible(is_search)
        if is_search:
            self.words.setFocus()
        self.changed.emit()
