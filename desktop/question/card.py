"""A card: one operator, folded to its name and type, or open with the form that its type has."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QFrame, QToolButton, QWidget

from desktop.buttons import tool_button
from desktop.labels import ElidedLabel, in_bold, plain_label
from desktop.layouts import in_column, in_row
from desktop.plain_text import plain
from desktop.question.form import OperatorForm
from desktop.question.texts import problem_colour, problem_text, worst
from desktop.theme import icon


class OperatorCard(QFrame):
    """Shows a card of the outline (engine.language.outline.Card). Its form is made when it is first opened."""

    changed = Signal(str, dict)
    """A change (engine.worker.pipeline_changes), and the tag by which changes are undone together."""
    toggled = Signal(bool)
    wanted = Signal(str)
    """duplicate, remove, up or down."""

    def __init__(self, types: dict[str, dict[str, Any]], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self._types = types
        self.card: dict[str, Any] = {}
        self._problems: list[dict[str, Any]] = []
        self._fields: list[str] = []
        self._body: OperatorForm | None = None
        self._arrow = QToolButton()
        self._arrow.setAutoRaise(True)
        self._arrow.setCheckable(True)
        self._arrow.setArrowType(Qt.ArrowType.RightArrow)
        self._arrow.toggled.connect(self._toggle)
        self._title = plain_label()
        self._title.setFont(in_bold(self._title.font()))
        self._kind = ElidedLabel()
        self._mark = plain_label()
        self._head = QWidget()
        self._tools = [
            tool_button(name, text, lambda what=what: self.wanted.emit(what))  # type: ignore[misc]
            for name, text, what in (
                ("up", "Run earlier", "up"),
                ("down", "Run later", "down"),
                ("duplicate", "Duplicate", "duplicate"),
                ("remove", "Remove", "remove"),
            )
        ]
        in_row(self._arrow, self._title, (self._kind, 1), self._mark, *self._tools, on=self._head, margins=(2, 2, 2, 2))
        for button in self._tools:
            button.hide()
        self._said = plain_label(wraps=True)
        self._said.setContentsMargins(30, 0, 8, 4)
        self._said.hide()
        self._column = in_column(self._head, self._said, on=self, margins=(2, 0, 4, 2), spacing=0)

    @property
    def name(self) -> str:
        """Return the operator's name."""
        return str(self.card.get("name", ""))

    @property
    def is_open(self) -> bool:
        """Say whether the form is shown."""
        return self._arrow.isChecked()

    def set_open(self, wanted: bool) -> None:
        """Unfold or fold the card."""
        self._arrow.setChecked(wanted)

    def show_card(self, card: dict[str, Any]) -> None:
        """Show an operator as it is written now."""
        is_other_kind = card["kind"] != self.card.get("kind")
        self.card = card
        does = self._types.get(card["kind"], {}).get("does", "")
        self._title.setText(card["name"] or "(no name)")
        aside = "" if card["step"] else "   (no step runs it)"
        self._kind.setText(f"{card['kind']}{'  ·  ' + does if does else ''}{aside}")
        self._kind.setEnabled(bool(card["step"]))
        self._arrow.setAccessibleName(f"Operator {card['name']}, {card['kind']}")
        if self._body is not None and is_other_kind:
            self._drop_body()
        if self.is_open:
            self._need_body().show_card(card)

    def show_problems(self, problems: list[dict[str, Any]], fields: list[str]) -> None:
        """Show what is wrong with it, and which fields its prompt may use."""
        self._problems, self._fields = problems, fields
        self._mark.setVisible(bool(problems))
        if problems:
            severity = worst(problems)
            self._mark.setPixmap(icon("warning").pixmap(16, 16))
            self._mark.setToolTip(plain(problem_text(problems)))
            self._mark.setAccessibleName(f"{len(problems)} problems: {problem_text(problems)}")
            palette = self._said.palette()
            palette.setColor(self._said.foregroundRole(), problem_colour(severity))
            self._said.setPalette(palette)
        self._tell_problems()
        if self._body is not None:
            self._body.show_fields(fields)

    def flush(self) -> None:
        """Tell now what was typed."""
        if self._body is not None:
            self._body.flush()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Unfold and fold by a click on the head."""
        if self._head.geometry().contains(event.position().toPoint()):
            self._arrow.toggle()
        super().mousePressEvent(event)

    def changeEvent(self, event: QEvent) -> None:
        """Take the colours of another theme."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and self._problems:
            self.show_problems(self._problems, self._fields)

    def _toggle(self, is_open: bool) -> None:
        self._arrow.setArrowType(Qt.ArrowType.DownArrow if is_open else Qt.ArrowType.RightArrow)
        for button in self._tools:
            button.setVisible(is_open)
        if is_open:
            body = self._need_body()
            body.show_card(self.card)
            body.show_fields(self._fields)
            body.show()
        elif self._body is not None:
            self._body.flush()
            self._body.hide()
        self._tell_problems()
        self.toggled.emit(is_open)

    def _tell_problems(self) -> None:
        self._said.setVisible(self.is_open and bool(self._problems))
        self._said.setText(problem_text(self._problems))

    def _need_body(self) -> OperatorForm:
        if self._body is None:
            self._body = OperatorForm(self._types, self.card["kind"])
            self._body.changed.connect(self.changed)
            self._column.addWidget(self._body)
        return self._body

    def _drop_body(self) -> None:
        if self._body is not None:
            self._column.removeWidget(self._body)
            self._body.hide()
            self._body.deleteLater()
            self._body = None
