"""The operators as cards one below the other, in the order they run; an open one has the form of its type."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QEvent, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QMouseEvent
from PySide6.QtWidgets import QFrame, QMenu, QPushButton, QScrollArea, QToolButton, QWidget

from desktop.buttons import tool_button
from desktop.labels import ElidedLabel, SaidLabel, in_bold, plain_label
from desktop.layouts import REST, in_column, in_row
from desktop.plain_text import plain
from desktop.question.document import PipelineDocument
from desktop.question.form import OperatorForm
from desktop.question.texts import problem_colour, problem_text, worst
from desktop.theme import icon

_MOVES = {"up": -1, "down": 1}
CARDS_AT_ONCE = 6
"""Cards made in one turn of the event loop."""


class CardList(QWidget):
    """Shows the cards of a document, at most one of them open, and makes changes through it."""

    current_changed = Signal(dict)
    """Another card is open, or none ({})."""

    def __init__(self, document: PipelineDocument, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self.cards: list[OperatorCard] = []
        self._open_name = ""
        self._adding: set[str] | None = None
        self._making = QTimer(self, interval=0, singleShot=True)
        self._making.timeout.connect(self._make_some)
        self._inside = QWidget()
        self._data = SaidLabel("What the pipeline reads", wraps=True)
        self._column = in_column(self._data, REST, on=self._inside, margins=(0, 0, 6, 0), spacing=6)
        scroll = QScrollArea(widgetResizable=True)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setWidget(self._inside)
        scroll.setAccessibleName("Operators")
        self._scroll = scroll
        self.add = QPushButton(icon("add"), "Add operator")
        self.add.setMenu(QMenu(self))
        in_column((scroll, 1), in_row(self.add, REST), on=self)
        document.outline_changed.connect(self._show)
        document.problems_changed.connect(self._show_problems)
        document.opened.connect(self._begin)

    @property
    def current(self) -> OperatorCard | None:
        """Return the open card."""
        return next((card for card in self.cards if card.is_open), None)

    def open_card(self, name: str) -> None:
        """Unfold the card of an operator and bring it into view."""
        for card in self.cards:
            if card.name == name:
                card.set_open(True)
                QTimer.singleShot(0, card, lambda card=card: self._scroll.ensureWidgetVisible(card, 0, 20))

    def flush(self) -> None:
        """Take now what was typed into a card."""
        for card in self.cards:
            card.flush()

    def add_operator(self, kind: str) -> None:
        """Add an operator of a type after the open one, or at the end, and open it."""
        self.flush()
        current = self.current
        self._adding = {card["name"] for card in self._document.cards}
        self._document.change(do="add", kind=kind, after=current.name if current is not None else "")

    def offer_operators(self) -> None:
        """Show the operators that can be added; the menu does not hold up the window."""
        self.add.menu().popup(self.add.mapToGlobal(self.add.rect().topLeft()))

    def act(self, what: str) -> None:
        """Do something with the open card: duplicate, remove, up, down."""
        if self.current is not None:
            self._act(self.current, what)

    def _begin(self) -> None:
        self._open_name, self._adding = "", None
        for card in self.cards:
            self._drop(card)
        self.cards = []

    def _show(self) -> None:
        wanted = self._document.cards
        if self._document.types and not self.add.menu().actions():
            self._fill_menu()
        names = {card["name"] for card in wanted}
        by_name = {card.name: card for card in self.cards}
        by_index = {card.card["index"]: card for card in self.cards if card.name not in names}
        kept: list[OperatorCard] = []
        for entry in wanted:
            card = by_name.pop(entry["name"], None) or by_index.pop(entry["index"], None)
            if card is None or card in kept:
                break
            kept.append(card)
        for card in [card for card in self.cards if card not in kept]:
            self._drop(card)
        self.cards = kept
        for number, card in enumerate(self.cards):
            if self._column.indexOf(card) != number + 1:
                self._column.insertWidget(number + 1, card)
            card.show_card(wanted[number])
            self._open_name = card.name if card.is_open else self._open_name
        if self._document.types:
            self._making.start()
        self._show_data()

    def _make_some(self) -> None:
        wanted = self._document.cards
        for entry in wanted[len(self.cards) : len(self.cards) + CARDS_AT_ONCE]:
            card = OperatorCard(self._document.types)
            card.show_card(entry)
            card.changed.connect(lambda tag, change: self._document.change(tag, **change))
            card.toggled.connect(lambda is_open, card=card: self._toggled(card, is_open))
            card.wanted.connect(lambda what, card=card: self._act(card, what))
            self.cards.append(card)
            self._column.insertWidget(len(self.cards), card)
            card.show_problems(self._document.problems_of(entry["name"]), self._document.fields.get(entry["name"], []))
        if len(self.cards) < len(wanted):
            self._making.start()
        else:
            self._made()

    def _made(self) -> None:
        """Open the card that was added, or the one that was open before."""
        if self._adding is not None:
            new = [card.name for card in self.cards if card.name not in self._adding]
            if new:
                self._adding = None
                self.open_card(new[0])
                return
        if self._open_name and self.current is None:
            self.open_card(self._open_name)

    def _toggled(self, card: OperatorCard, is_open: bool) -> None:
        if is_open:
            self._open_name = card.name
            for other in self.cards:
                if other is not card:
                    other.set_open(False)
            self.current_changed.emit(card.card)
        elif self.current is None:
            self._open_name = ""
            self.current_changed.emit({})

    def _act(self, card: OperatorCard, what: str) -> None:
        card.flush()
        if what in _MOVES:
            self._document.change(do="move", name=card.name, by=_MOVES[what])
        elif what == "duplicate":
            self._adding = {entry["name"] for entry in self._document.cards}
            self._document.change(do="duplicate", operator=card.card["index"])
        else:
            self._document.change(do="remove", operator=card.card["index"])

    def _show_problems(self) -> None:
        for card in self.cards:
            card.show_problems(self._document.problems_of(card.name), self._document.fields.get(card.name, []))

    def _show_data(self) -> None:
        parts = []
        for name, kind, path in self._document.outline["datasets"]:
            what = {"case": "the documents of this case", "folder": "a folder", "file": "a file", "memory": "a list"}
            where = "" if kind == "case" and not path else f" ({path})" if path else ""
            parts.append(f"{name}: {what.get(kind, kind)}{where}")
        self._data.setText(f"Reads {'; '.join(parts)}" if parts else "")

    def _fill_menu(self) -> None:
        menu = self.add.menu()
        for operator in self._document.types.values():
            if operator["does"]:
                action = QAction(f"{operator['kind']}: {operator['does']}", menu)
                action.setToolTip(plain(operator["form"]["help"]))
                action.triggered.connect(lambda checked=False, kind=operator["kind"]: self.add_operator(kind))
                menu.addAction(action)

    def _drop(self, card: OperatorCard) -> None:
        self._column.removeWidget(card)
        card.hide()
        card.deleteLater()


class OperatorCard(QFrame):
    """One operator (engine.language.outline.Card), folded or open. Its form is made when it is first opened."""

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
