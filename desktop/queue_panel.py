"""The queue of runs: which question over which documents, in which order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFormLayout, QHBoxLayout, QMenu, QPushButton, QWidget

from desktop.buttons import choice_box, offer, push_button, show_choice, tool_button
from desktop.check_boxes import CheckBox
from desktop.file_dialogs import PIPELINES, ask_for_file
from desktop.labels import SaidLabel, plain_label
from desktop.layouts import REST, in_column, in_row, stacked
from desktop.plain_text import unmarked
from desktop.rows_model import ROW_ROLE, Column, RowsModel
from desktop.run_queue import RunQueue, document_offers, input_text, name_of
from desktop.tables import make_table, stretch_section
from desktop.theme import icon
from desktop.workspace import Workspace
from engine.worker.contract import documents, models
from engine.worker.contract import queue as contract
from engine.worker.contract.models import ModelFacts
from engine.worker.contract.queue import Question, QueueEntry

_EMPTY = (
    "Nothing is queued.\n\nWrite a question in Question, or choose Add.\n"
    "Several questions run one after the other, overnight too."
)


@dataclass(frozen=True, slots=True)
class _Line:
    """An entry, and how it is shown to be (RunQueue.state_of)."""

    entry: QueueEntry
    state: str


class QueuePanel(QWidget):
    """Shows a RunQueue and changes it; which entry is begun is the place's business."""

    selected = Signal()

    def __init__(self, workspace: Workspace, queue: RunQueue, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._space, self.queue = workspace, queue
        self.model = RowsModel[_Line](
            (
                Column("Question", lambda line: name_of(line.entry), tip=lambda line: line.entry.pipeline),
                Column("Documents", lambda line: input_text(line.entry.input)),
                Column("State", lambda line: line.state, tip=lambda line: line.entry.told or line.state),
            ),
            self,
        )
        self.table = make_table(self.model, "Queue of runs")
        stretch_section(self.table.horizontalHeader(), 0)
        self.table.selectionModel().currentRowChanged.connect(lambda now, before: self._selected())
        self._empty = plain_label(_EMPTY, wraps=True, centred=True)
        self._stack = stacked(self.table, self._empty)
        self.choices = RunChoices(workspace)
        self.choices.chosen.connect(self._choose)
        self.told = SaidLabel("How the chosen run ended", wraps=True)
        in_column(self._buttons(), (self._stack, 1), self.choices, self.told, on=self)
        queue.changed.connect(self._show)
        queue.added.connect(self.select)
        self._show()

    def current(self) -> QueueEntry | None:
        """Return the entry that is chosen, None when none is."""
        line: _Line | None = self.table.currentIndex().data(ROW_ROLE)
        return line.entry if line is not None else None

    def select(self, id: int) -> None:
        """Choose an entry by its id."""
        for number, line in enumerate(self.model.rows):
            if line.entry.id == id:
                self.table.selectRow(number)

    def offer_questions(self) -> None:
        """Show the questions that can be added, as a menu."""
        self._space.ask(contract.QUESTIONS, self._show_menu)

    def choose_file(self) -> None:
        """Ask for a pipeline file."""
        folder = str(Path(self._space.case).parent)
        ask_for_file(self, "Add a question to the queue", self.queue.add, PIPELINES, folder)

    def remove(self) -> None:
        """Take the chosen entry off the queue."""
        if entry := self.current():
            self.queue.remove(entry.id)

    def shift(self, step: int) -> None:
        """Move the chosen entry up (-1) or down (1); it stays chosen."""
        if entry := self.current():
            self.queue.move(entry.id, step)

    def _buttons(self) -> QHBoxLayout:
        self.add: QPushButton = push_button("add", "Add", self.offer_questions)
        self.add.setToolTip("Add a question to the queue")
        self._change = [
            tool_button("up", "Move up", lambda: self.shift(-1)),
            tool_button("down", "Move down", lambda: self.shift(1)),
            tool_button("remove", "Remove from the queue", self.remove),
        ]
        return in_row(plain_label("Queue"), REST, self.add, *self._change)

    def _show_menu(self, questions: list[Question]) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for question in questions:
            menu.addAction(icon("run"), unmarked(question.name), partial(self.queue.add, question.path))
        if questions:
            menu.addSeparator()
        menu.addAction(icon("open"), "Choose a file…", self.choose_file)
        menu.popup(self.add.mapToGlobal(self.add.rect().bottomLeft()))

    def _show(self) -> None:
        chosen, place = self.current(), self.table.currentIndex().row()
        rows = [_Line(entry, self.queue.state_of(entry)) for entry in self.queue.entries]
        self.model.show_rows(rows)
        self._stack.setCurrentWidget(self.table if rows or not self.queue.is_known else self._empty)
        if chosen is not None and any(line.entry.id == chosen.id for line in rows):
            self.select(chosen.id)
        elif rows:
            self.table.selectRow(min(max(place, 0), len(rows) - 1))  # where one was removed, the next
        self._selected()

    def _selected(self) -> None:
        entry = self.current()
        is_going = entry is not None and entry.id == self.queue.current
        for button in self._change:
            button.setEnabled(entry is not None)
        self._change[-1].setEnabled(entry is not None and not is_going)
        self.told.setText(entry.told if entry is not None else "")
        self.told.setVisible(bool(self.told.text()))
        self.choices.show_entry(entry, can_change=not is_going)
        self.selected.emit()

    def _choose(self, choice: str, model: str, trust_code: bool) -> None:
        if entry := self.current():
            self.queue.choose(entry.id, choice, model, trust_code=trust_code)


_AS_THE_QUESTION_SAYS = "As the question says"


class RunChoices(QWidget):
    """Choices for the entry of the queue that is shown."""

    chosen = Signal(str, str, bool)
    """The input (as `--input` of the command line) and the model, either empty for what the question says; and whether
    Python that the question brings along may run (`--trust-code`)."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._space = workspace
        self._entry: QueueEntry | None = None
        self.documents = choice_box("Documents that the run reads", narrow=True)
        self.model = choice_box("Model that the run asks", narrow=True)
        self.trust = CheckBox("Allow its own Python code")
        self.trust.setToolTip(
            "For questions with steps in Python, after you have read them.\nThe code can only calculate."
        )
        form = QFormLayout(self)
        form.setContentsMargins(0, 0, 0, 0)
        form.addRow("&Documents", self.documents)
        form.addRow("&Model", self.model)
        form.addRow(self.trust)
        for box in (self.documents, self.model):
            box.activated.connect(lambda index: self._choose())
        self.trust.clicked.connect(lambda on: self._choose())

    def look(self) -> None:
        """Bring what can be chosen up to date: tags in use, what is selected, installed models."""
        self._space.ask(documents.TAGS, self._offer_documents)
        self._space.client.ask(models.LIST, self._offer_models)

    def show_entry(self, entry: QueueEntry | None, *, can_change: bool) -> None:
        """Show the choices of an entry of the queue, None for no entry."""
        self._entry = entry
        self.setEnabled(entry is not None and can_change)
        if entry is not None:
            text = input_text(entry.input)
            show_choice(self.documents, entry.input, text[:1].upper() + text[1:])
            show_choice(self.model, entry.model, entry.model or _AS_THE_QUESTION_SAYS)
            self.trust.setChecked(entry.trust_code)

    def _offer_documents(self, tags: list[str]) -> None:
        offers = document_offers(tags, self._space.selected_documents)
        offer(self.documents, [*offers, ("", _AS_THE_QUESTION_SAYS)])
        self.show_entry(self._entry, can_change=self.isEnabled())

    def _offer_models(self, facts: list[ModelFacts]) -> None:
        here = [row for row in facts if row.installed and row.kind == "language"]
        offers = [(row.id, f"{row.id} (default)" if row.is_default else row.id) for row in here]
        offer(self.model, [("", _AS_THE_QUESTION_SAYS), *offers])
        self.show_entry(self._entry, can_change=self.isEnabled())

    def _choose(self) -> None:
        chosen = (self.documents.currentData() or "", self.model.currentData() or "", self.trust.isChecked())
        entry = self._entry
        if entry is not None and chosen != (entry.input, entry.model, entry.trust_code):
            self.chosen.emit(*chosen)
