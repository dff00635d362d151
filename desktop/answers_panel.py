"""Beside the table: the answers of one row, each with its items, lines, caveats, and whether it is whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QEvent, QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QTreeWidget, QTreeWidgetItem, QTreeWidgetItemIterator, QWidget

from desktop.answer_cards import AskBack, ItemCards, place_text
from desktop.labels import SaidLabel, in_bold, plain_label, with_name
from desktop.layouts import holder, in_column, split
from desktop.plain_text import plain
from desktop.tables import stretch_section
from desktop.theme import icon
from desktop.viewer import Viewer
from desktop.words import counted
from desktop.workspace import Workspace
from engine.worker.contract import answers as contract
from engine.worker.contract.answers import ShownAnswer, ShownItem

_DATA = Qt.ItemDataRole.UserRole
_SIGN = int(_DATA) + 1
"""The name of an item's icon."""
STATUSES: Final = {
    "found": ("check", "found, complete"),
    "partial": ("warning", "found in part"),
    "none": ("reject", "not found"),
    "conflict": ("split", "contradictory"),
    "clarify": ("question", "asks you"),
}
"""Icon and words for what became of a question (engine.answers.contract.Status)."""
_NOTHING: Final = ShownAnswer("", "", "", "", "", "", "", "", (), 0, "")
_HOW = {"computed": "computed", "inferred": "in other words"}
"""How a value stands in its lines, where it does not so word for word."""


class AnswersPanel(QWidget):
    """Shows all answers of a row: `show_row` is the way in."""

    closed = Signal()
    asked = Signal()
    """A person has said what a question means, and it is asked again."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._query, self._run, self._row, self._column = "", "", "", ""
        self.answers: Sequence[ShownAnswer] = ()
        self.tree = with_name(QTreeWidget(), "Answers and their items")
        self.tree.setHeaderLabels(["Answer", "Where"])
        stretch_section(self.tree.header(), 0)
        self.tree.currentItemChanged.connect(lambda now, before: self._chosen())
        self.question = plain_label(wraps=True)
        self.note = SaidLabel("Note on the answer", wraps=True)
        self.cards = ItemCards()
        self.cards.chosen.connect(self._show_item)
        self.ask_back = AskBack()
        self.ask_back.said.connect(self._clarify)
        self.viewer = Viewer(workspace)
        self.viewer.closed.connect(self.closed)
        self._arrange()
        self._show_answer(None)

    @property
    def is_coming(self) -> bool:
        """Say whether the answers of another row were asked for that are not here yet."""
        return bool(self._query)

    def show_row(self, run: str, row: str, column: str) -> None:
        """Ask for the answers of a row; the one that a column tells of is chosen."""
        if (run, row) == (self._run, self._row) and self.answers and not self.is_coming:
            if column != self._column:
                self._column = column
                self._choose()
            return
        self.stop()
        self._run, self._row, self._column = run, row, column
        self._query = self._workspace.ask(contract.ROW, self._take, run=run, row=row)

    def forget(self) -> None:
        """Show no row, and ask anew for the next one, also if it is the same."""
        self.stop()
        self._run, self._row, self.answers = "", "", ()
        with QSignalBlocker(self.tree):
            self.tree.clear()
        self._show_answer(None)

    def stop(self) -> None:
        """Give up what is on its way."""
        self._workspace.client.forget(self._query)
        if self.is_coming:
            self._query, self._row = "", ""  # what is shown are the answers of another row

    def current(self) -> ShownAnswer | None:
        """Return the answer that is chosen, or that the chosen item belongs to."""
        item = self.tree.currentItem()
        top = item.parent() or item if item is not None else None
        return None if top is None else self.answers[self.tree.indexOfTopLevelItem(top)]

    def changeEvent(self, event: QEvent) -> None:
        """Draw the icons in the colours of another theme."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            items = QTreeWidgetItemIterator(self.tree)
            while (item := items.value()) is not None:
                if sign := item.data(0, _SIGN):
                    item.setIcon(0, icon(sign))
                items += 1

    def _arrange(self) -> None:
        parts = (self.question, self.note, self.cards, self.ask_back, (self.viewer, 1))
        details = holder(*parts, margins=(0, 2, 0, 0), spacing=4)
        self.tree.setMinimumHeight(90)
        in_column(split((self.tree, details), (190, 400), (0, 1), upright=True), on=self, margins=(6, 6, 6, 4))

    def _take(self, answers: Sequence[ShownAnswer]) -> None:
        self.answers, self._query = answers, ""
        with QSignalBlocker(self.tree):
            self.tree.clear()
            self.tree.addTopLevelItems([_answer_item(answer) for answer in answers])
            self.tree.expandAll()
        self._choose()

    def _choose(self) -> None:
        """Choose the answer that the column tells of, the first one where it tells of none."""
        fields = [_columns(answer) for answer in self.answers]
        place = next((n for n, columns in enumerate(fields) if self._column in columns), 0)
        top = self.tree.topLevelItem(place)
        if top is not None and self.current() is not self.answers[place]:
            self.tree.setCurrentItem(top)
        self._chosen()

    def _chosen(self) -> None:
        answer = self.current()
        self._show_answer(answer)
        item = self.tree.currentItem()
        held = item.data(0, _DATA) if item is not None else None
        items = answer.items if answer is not None else ()
        placed = held if isinstance(held, ShownItem) else next((entry for entry in items if entry.document), None)
        if placed is not None and placed.document:
            self._show_item(placed)
        else:
            self.viewer.clear()

    def _show_answer(self, answer: ShownAnswer | None) -> None:
        """Show what is to be known of an answer, and what a person can do about it."""
        shown = answer or _NOTHING
        means = f" You said: {shown.clarified}" if shown.clarified else ""
        self.question.setText(f"{shown.question}{means}")
        self.note.setText("" if shown.question_back else shown.note)
        self.note.setVisible(bool(self.note.text()))
        self.cards.show_items(shown.items if shown.status == "conflict" else ())
        self.ask_back.show_question(shown.question_back, shown.document_name)
        self.ask_back.setEnabled(not self._workspace.read_only)

    def _show_item(self, item: ShownItem) -> None:
        lines = [line for first, last in item.lines for line in range(first, last + 1)]
        self.viewer.show_document(item.document, item.page, line=item.first_line, lines=lines)

    def _clarify(self, said: str, document: str) -> None:
        answer = self.current()
        if answer is not None:
            self._workspace.clarify_wanted.emit(self._run, answer.operator, answer.name, said, document)
            self.asked.emit()


def _columns(answer: ShownAnswer) -> tuple[str, ...]:
    return tuple(f"{answer.name}{suffix}" for suffix in ("", "_status", "_note", "_items"))


def _answer_item(answer: ShownAnswer) -> QTreeWidgetItem:
    sign, words = STATUSES.get(answer.status, ("question", answer.status))
    count = f", {counted(answer.count, 'item')}" if answer.count > 1 else ""
    value = f": {answer.value}" if answer.value else ""
    top = QTreeWidgetItem([f"{answer.name}{value}", f"{words}{count}"])
    top.setIcon(0, icon(sign))
    top.setData(0, _SIGN, sign)
    top.setFont(0, in_bold(top.font(0)))
    top.setToolTip(0, plain("\n".join(text for text in (answer.question, answer.value, answer.note) if text)))
    for item in answer.items:
        top.addChild(_item_of(item))
    if answer.count > len(answer.items):
        top.addChild(QTreeWidgetItem([f"and {answer.count - len(answer.items):,} more", ""]))
    return top


def _item_of(item: ShownItem) -> QTreeWidgetItem:
    where = ", ".join(text for text in (place_text(item), _HOW.get(item.method, "")) if text)
    row = QTreeWidgetItem([item.value or item.original, where])
    row.setData(0, _DATA, item)
    row.setToolTip(0, plain("\n".join(text for text in (item.snippet, item.problem) if text)))
    if item.problem:
        row.setIcon(0, icon("warning"))
        row.setData(0, _SIGN, "warning")
    return row
