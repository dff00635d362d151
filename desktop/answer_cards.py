"""Parts of the answers beside the table: values that contradict each other side by side, and a question back."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QFrame, QLineEdit, QWidget

from desktop.buttons import push_button
from desktop.check_boxes import CheckBox
from desktop.labels import ElidedLabel, in_bold, plain_label
from desktop.layouts import in_column, in_row
from desktop.plain_text import plain
from engine.worker.contract.answers import LONGEST_SAID, ShownItem

MOST_CARDS = 3
_SNIPPET_CHARACTERS = 160


def place_text(item: ShownItem) -> str:
    """Write where an item of an answer stands: page and lines, inclusive."""
    lines = ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in item.lines)
    page = f"page {item.page}, " if item.page else ""
    return f"{page}line {lines}" if lines.isdigit() else f"{page}lines {lines}" if lines else ""


class ItemCard(QFrame):
    """One value with its words in the document; its button, or a click anywhere on it, shows the page."""

    chosen = Signal(object)
    """The page of an item is to be shown (ShownItem)."""

    def __init__(self, item: ShownItem, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.item = item
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self.setAutoFillBackground(True)
        self.setBackgroundRole(self.palette().ColorRole.Base)
        said_value = item.original or item.value
        value = ElidedLabel()
        value.setText(said_value)
        value.setFont(in_bold(value.font()))
        said = " ".join(item.snippet.split())
        short = said if len(said) <= _SNIPPET_CHARACTERS else f"{said[:_SNIPPET_CHARACTERS]}…"
        snippet = plain_label(short, wraps=True)
        snippet.setAlignment(Qt.AlignmentFlag.AlignTop)
        place = place_text(item)
        self.button = push_button("documents", place.capitalize() or "No page", lambda: self.chosen.emit(self.item))
        self.button.setAccessibleName(f"Show {said_value} on {place}")
        self.button.setEnabled(bool(item.document))
        in_column(value, (snippet, 1), self.button, on=self, margins=(8, 6, 8, 6), spacing=4)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Show the page of a card that is clicked."""
        super().mouseReleaseEvent(event)
        if self.item.document:
            self.chosen.emit(self.item)


class ItemCards(QWidget):
    """Cards beside each other, one for each value, the first MOST_CARDS."""

    chosen = Signal(object)
    """The page of an item is to be shown (ShownItem)."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Values that contradict each other")
        self.cards: list[ItemCard] = []
        self._row = in_row(on=self)
        self.hide()

    def show_items(self, items: Sequence[ShownItem]) -> None:
        """Show other items; none hides the cards. Those that are there stay, and keep the keyboard."""
        if [card.item for card in self.cards] == list(items[:MOST_CARDS]):
            return
        for card in self.cards:
            self._row.removeWidget(card)
            card.deleteLater()
        self.cards = [ItemCard(item) for item in items[:MOST_CARDS]]
        for card in self.cards:
            card.chosen.connect(self.chosen)
            self._row.addWidget(card, 1)
        self.setVisible(bool(self.cards))


class AskBack(QWidget):
    """A question back, and a field for what a person says to it, for all documents or for the one that is shown."""

    said = Signal(str, str)
    """What a person says, and the file name of the one document for which that holds, "" for all."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.question = plain_label(wraps=True)
        self.answer = QLineEdit(maxLength=LONGEST_SAID, placeholderText="What the question means")
        self.answer.setAccessibleName("Your answer to this question")
        self.answer.setToolTip("It is added to the question. No other question is asked again.")
        self._document = ""
        self.only_here = CheckBox("Only for this document")
        self.send = push_button("retry", "Ask again", self._send)
        self.answer.returnPressed.connect(self._send)
        self.answer.textChanged.connect(lambda text: self._enable())
        in_column(self.question, in_row((self.answer, 1), self.send), self.only_here, on=self, spacing=4)
        self._enable()

    def show_question(self, text: str, document: str = "") -> None:
        """Show another question back; what was typed goes, unless it is the same question. "" hides all.

        `document` is the file name of the document that it was asked of, "" where it may be several.
        """
        if (text, document) != (self.question.text(), self._document):
            self.question.setText(text)
            self._document = document
            self.answer.clear()
            self.only_here.setChecked(False)
            self.only_here.setToolTip(plain(f"What you write is kept for {document} alone, else for all documents."))
        self.only_here.setVisible(bool(document))
        self.setVisible(bool(text))

    def _enable(self) -> None:
        self.send.setEnabled(bool(self.answer.text().strip()))

    def _send(self) -> None:
        if text := self.answer.text().strip():
            self.answer.clear()
            self.said.emit(text, self._document if self.only_here.isChecked() else "")
