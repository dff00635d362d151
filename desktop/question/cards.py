"""The cards one below the other, in the order the operators run."""

from __future__ import annotations

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFrame, QMenu, QPushButton, QScrollArea, QWidget

from desktop.labels import SaidLabel
from desktop.layouts import REST, in_column, in_row
from desktop.plain_text import plain
from desktop.question.card import OperatorCard
from desktop.question.document import PipelineDocument
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
