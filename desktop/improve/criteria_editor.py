"""Criteria to read and edit before a search: for each operator a task, and tests that a good answer passes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import (
    QCheckBox,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QScrollArea,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from desktop.buttons import tool_button

AIMS: Final = (
    ("correctness", "Is it right?"),
    ("precision", "Is nothing invented?"),
    ("recall", "Is nothing missing?"),
)
SOURCES: Final = {
    "yours": "as you wrote them",
    "judge": "as the judge wrote them in the last build",
    "template": "a proposal",
}


class TestList(QWidget):
    """The tests of one aim, a line each; a line can be added and removed."""

    edited = Signal()
    __test__ = False

    def __init__(self, operator: str, aim: str, question: str) -> None:
        super().__init__()
        self._operator, self._aim = operator, aim
        self.lines: list[QLineEdit] = []
        self._removers: list[QToolButton] = []
        head = QHBoxLayout()
        head.setContentsMargins(0, 0, 0, 0)
        head.addWidget(QLabel(question))
        head.addStretch(1)
        self.add = tool_button("add", f"Add a test: {aim} of {operator}", lambda: self.add_line("", focus=True))
        head.addWidget(self.add)
        self._rows = QGridLayout()
        self._rows.setContentsMargins(0, 0, 0, 0)
        self._rows.setVerticalSpacing(3)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        layout.addLayout(head)
        layout.addLayout(self._rows)

    @property
    def texts(self) -> list[str]:
        """Return the tests that say something."""
        return [text for line in self.lines if (text := line.text().strip())]

    def show_texts(self, texts: Sequence[str]) -> None:
        """Show other tests."""
        while self.lines:
            self._drop(self.lines[-1])
        for text in texts:
            self.add_line(text)

    def add_line(self, text: str, *, focus: bool = False) -> None:
        """Add a test at the end."""
        line = QLineEdit(text, placeholderText="A sentence that is true of a good answer and false of a bad one")
        line.setAccessibleName(f"Test of {self._operator}: {self._aim}")
        line.setCursorPosition(0)
        line.setToolTip(text)
        line.textEdited.connect(self._edit)
        line.textChanged.connect(line.setToolTip)
        remover = tool_button("remove", f"Remove this test of {self._operator}", lambda: self.remove(line))
        row = self._rows.rowCount()
        self._rows.addWidget(line, row, 0)
        self._rows.addWidget(remover, row, 1)
        self.lines.append(line)
        self._removers.append(remover)
        if focus:
            line.setFocus()
            self.edited.emit()

    def remove(self, line: QLineEdit) -> None:
        """Remove a test; the keyboard goes to its neighbour."""
        place = self.lines.index(line)
        self._drop(line)
        (self.lines[min(place, len(self.lines) - 1)] if self.lines else self.add).setFocus()
        self.edited.emit()

    def _drop(self, line: QLineEdit) -> None:
        place = self.lines.index(line)
        for widget in (self.lines.pop(place), self._removers.pop(place)):
            self._rows.removeWidget(widget)
            widget.hide()
            widget.deleteLater()

    def _edit(self, text: str) -> None:
        self.edited.emit()


class OperatorCard(QFrame):
    """The criteria of one operator. To change anything is to want them to be used."""

    def __init__(self, known: Mapping[str, Any]) -> None:
        super().__init__()
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self.operator = str(known["operator"])
        self.use = QCheckBox("Judge by these")
        self.use.setAccessibleName(f"Judge {self.operator} by these criteria")
        self.use.setToolTip("Otherwise the judge writes its own, from your question and a document.")
        self._source = QLabel()
        self._source.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        self.task = QLineEdit()
        self.task.setAccessibleName(f"What a good answer of {self.operator} holds")
        self.tests = {aim: TestList(self.operator, aim, question) for aim, question in AIMS}
        title = QLabel(self.operator, textFormat=Qt.TextFormat.PlainText)
        font = title.font()
        font.setBold(True)
        title.setFont(font)
        head = QHBoxLayout()
        head.addWidget(title)
        head.addWidget(self._source)
        head.addStretch(1)
        head.addWidget(self.use)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(10, 8, 10, 8)
        layout.setSpacing(4)
        layout.addLayout(head)
        layout.addWidget(self.task)
        for one in self.tests.values():
            layout.addWidget(one)
            one.edited.connect(self._edited)
        self.task.textEdited.connect(lambda text: self._edited())
        self.show_criteria(known)

    def show_criteria(self, known: Mapping[str, Any]) -> None:
        """Show criteria (engine.worker.queries.build.OperatorCriteria)."""
        self._source.setText(SOURCES.get(known["source"], ""))
        self.task.setText(known["task"])
        self.task.setCursorPosition(0)
        self.task.setToolTip(known["task"])
        for aim, one in self.tests.items():
            one.show_texts(known[aim])
        self.use.setChecked(known["is_used"])
        self.is_edited = False

    @property
    def criteria(self) -> dict[str, Any]:
        """Return what is written, with whether it is to be used."""
        tests = {aim: one.texts for aim, one in self.tests.items()}
        return {"operator": self.operator, "task": self.task.text(), **tests, "is_used": self.use.isChecked()}

    def _edited(self) -> None:
        self.is_edited = True
        self.use.setChecked(True)
        self._source.setText("changed by you")


class CriteriaEditor(QScrollArea):
    """A card for each operator that asks a model."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWidgetResizable(True)
        self.setAccessibleName("Criteria")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.cards: list[OperatorCard] = []
        inside = QWidget()
        self._layout = QVBoxLayout(inside)
        self._layout.setContentsMargins(0, 0, 4, 0)
        self._layout.addStretch(1)
        self.setWidget(inside)

    def show_criteria(self, criteria: Sequence[Mapping[str, Any]]) -> None:
        """Show criteria; what a person has begun to change stays."""
        if [card.operator for card in self.cards] == [one["operator"] for one in criteria]:
            for card, known in zip(self.cards, criteria, strict=True):
                if not card.is_edited:
                    card.show_criteria(known)
            return
        self.clear()
        for known in criteria:
            card = OperatorCard(known)
            self.cards.append(card)
            self._layout.insertWidget(self._layout.count() - 1, card)

    def clear(self) -> None:
        """Show none."""
        for card in self.cards:
            self._layout.removeWidget(card)
            card.hide()
            card.deleteLater()
        self.cards = []

    def kept(self) -> None:
        """Take what is written as kept: what comes from the worker from now on is shown."""
        for card in self.cards:
            card.is_edited = False

    @property
    def criteria(self) -> list[dict[str, Any]]:
        """Return what is written for each operator."""
        return [card.criteria for card in self.cards]
