"""The box where a question is typed in plain words, and the table that is proposed for it."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QAbstractItemView,
    QComboBox,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QLineEdit,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from desktop.buttons import choice_box, push_button, tool_button
from desktop.workspace import Workspace

KINDS = ("text", "date", "amount", "number", "person", "yes/no", "one of", "quotation")
"""Kinds of columns (engine.ask.proposal.KINDS)."""

_NAME, _KIND, _CHOICES = range(3)
_ROWS_SHOWN = 6


class AskBox(QWidget):
    """A question, the proposed table, and what is done with it."""

    wanted = Signal(str, str, str)
    """The pipeline, its name, and `try` or `run` or `edit`."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._space = workspace
        self._proposal: dict[str, Any] | None = None
        self._text = ""
        self._is_showing = False
        self.question = QLineEdit()
        self.question.setAccessibleName("What do you want to know?")
        self.question.setPlaceholderText("For example: Which cars are mentioned, with plate number?")
        self.question.setMaxLength(2000)
        self.question.returnPressed.connect(self.draft)
        self.propose = push_button("try", "Propose a table", self.draft)
        self.state = _label()
        self.row = QLineEdit()
        self.row.setAccessibleName("One row per")
        self.row.setPlaceholderText("document")
        self.row.setToolTip("What a row is, such as car. Leave it empty for one row per document.")
        self.row.setMaximumWidth(220)
        self.row.editingFinished.connect(self._edited)
        self._grain = _label()
        self.table = QTableWidget(0, 3)
        self.table.setHorizontalHeaderLabels(["Column", "Kind", "Choices, with commas"])
        self.table.setAccessibleName("Columns of the table")
        self.table.verticalHeader().setVisible(False)
        self.table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.table.setTabKeyNavigation(False)
        self.table.horizontalHeader().setSectionResizeMode(_NAME, QHeaderView.ResizeMode.Stretch)
        self.table.horizontalHeader().setSectionResizeMode(_CHOICES, QHeaderView.ResizeMode.Stretch)
        self.table.setColumnWidth(_KIND, 130)
        self.table.itemChanged.connect(lambda item: self._edited())
        self.note = QLineEdit()
        self.note.setAccessibleName("Not right?")
        self.note.setPlaceholderText("Not right? Say what to change: only cars, no trucks; split make and model")
        self.note.returnPressed.connect(self.change)
        self.apply = push_button("try", "Change it", self.change)
        self.preview = push_button("try", "Try on three documents", lambda: self._want("try"))
        self.run = push_button("run", "Run on all documents", lambda: self._want("run"))
        self.edit = push_button("question", "Show the steps", lambda: self._want("edit"))
        self._build()
        self._show_proposal(None)

    def draft(self) -> None:
        """Propose a table for the question that stands in the box."""
        question = self.question.text().strip()
        if not question:
            self.state.setText("Type what you want to know, in your own words.")
            self.state.show()
            return
        self._begin("Reading the question…")
        self._space.client.ask("ask.draft", self._answered, self._failed, question=question)

    def change(self) -> None:
        """Change the table by the note."""
        note = self.note.text().strip()
        if not note or self._proposal is None:
            return
        self._begin("Changing the table…")
        self._space.client.ask("ask.change", self._changed, self._failed, proposal=self._proposal, note=note)

    def add_column(self) -> None:
        """Add a column with a name to be changed."""
        if self._proposal is not None:
            taken = {column["name"] for column in self._proposal["columns"]}
            name = next(name for n in range(1, 99) if (name := f"column {n}") not in taken)
            self._proposal["columns"].append({"name": name, "kind": "text", "choices": []})
            self._write(self._proposal)

    def remove_column(self) -> None:
        """Remove the column that is selected."""
        row = self.table.currentRow()
        if self._proposal is not None and 0 <= row < len(self._proposal["columns"]) > 1:
            del self._proposal["columns"][row]
            self._write(self._proposal)

    def clear(self) -> None:
        """Forget the question and its table."""
        self.question.clear()
        self._show_proposal(None)

    # -- inside --------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        asked = QHBoxLayout()
        asked.addWidget(self.question, 1)
        asked.addWidget(self.propose)
        row = QHBoxLayout()
        row.addWidget(_label("One row per"))
        row.addWidget(self.row)
        row.addWidget(self._grain, 1)
        row.addWidget(tool_button("add", "Add a column", self.add_column))
        row.addWidget(tool_button("remove", "Remove the column", self.remove_column))
        changed = QHBoxLayout()
        changed.addWidget(self.note, 1)
        changed.addWidget(self.apply)
        done = QHBoxLayout()
        for button in (self.preview, self.run, self.edit):
            done.addWidget(button)
        done.addStretch(1)
        self.proposed = QWidget()
        inner = QVBoxLayout(self.proposed)
        inner.setContentsMargins(0, 0, 0, 0)
        inner.addLayout(row)
        inner.addWidget(self.table)
        inner.addLayout(changed)
        inner.addLayout(done)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addLayout(asked)
        layout.addWidget(self.state)
        layout.addWidget(self.proposed)

    def _begin(self, what: str) -> None:
        self.state.setText(what)
        self.state.show()
        for widget in (self.propose, self.apply):
            widget.setEnabled(False)

    def _end(self, said: str) -> None:
        self.state.setText(said)
        self.state.setVisible(bool(said))
        for widget in (self.propose, self.apply):
            widget.setEnabled(True)

    def _answered(self, drafted: dict[str, Any]) -> None:
        problem = drafted["problem"]
        self._end(f"Drafted from the words of the question alone: {problem}" if problem else "")
        self._take(drafted)

    def _changed(self, drafted: dict[str, Any]) -> None:
        self.note.clear()
        said = " ".join(drafted["changes"]) or "Nothing changed."
        self._end(f"{said} {drafted['problem']}".strip())
        self._take(drafted)

    def _failed(self, message: str, advice: str) -> None:
        self._end(f"{message}. {advice}".strip())

    def _take(self, drafted: dict[str, Any]) -> None:
        self._text = drafted["text"]
        self._show_proposal(drafted["proposal"])

    def _show_proposal(self, proposal: dict[str, Any] | None) -> None:
        self._proposal = proposal
        self.proposed.setVisible(proposal is not None)
        if proposal is None:
            self.state.hide()
            return
        self._is_showing = True
        self.row.setText(proposal["row"])
        self._grain.setText("and document, with these columns:" if proposal["row"] else "with these columns:")
        self.table.setRowCount(len(proposal["columns"]))
        for number, column in enumerate(proposal["columns"]):
            self.table.setItem(number, _NAME, QTableWidgetItem(column["name"]))
            self.table.setCellWidget(number, _KIND, self._kind_box(column["kind"]))
            choices = QTableWidgetItem(", ".join(column["choices"]))
            if column["kind"] != "one of":
                choices.setFlags(Qt.ItemFlag.ItemIsSelectable)
            self.table.setItem(number, _CHOICES, choices)
        shown = min(max(len(proposal["columns"]), 2), _ROWS_SHOWN)
        header = self.table.horizontalHeader().sizeHint().height()
        self.table.setFixedHeight(header + shown * self.table.rowHeight(0) + 2 * self.table.frameWidth())
        self._is_showing = False

    def _kind_box(self, kind: str) -> QComboBox:
        box = choice_box("Kind of the column")
        box.addItems(KINDS)
        box.setCurrentText(kind)
        box.currentTextChanged.connect(lambda chosen: self._edited())
        return box

    def _edited(self) -> None:
        """Take what was changed by hand."""
        if self._is_showing or self._proposal is None:
            return
        columns = []
        for number in range(self.table.rowCount()):
            box = self.table.cellWidget(number, _KIND)
            kind = box.currentText() if isinstance(box, QComboBox) else "text"
            written = self._cell(number, _CHOICES)
            choices = [part.strip() for part in written.split(",") if part.strip()] if kind == "one of" else []
            if kind == "one of" and len(choices) < 2:
                choices = ["yes", "no"] if not choices else [*choices, "other"]
            columns.append({"name": self._cell(number, _NAME), "kind": kind, "choices": choices})
        self._write({**self._proposal, "row": self.row.text().strip(), "columns": columns})

    def _cell(self, row: int, column: int) -> str:
        item = self.table.item(row, column)
        return item.text() if item is not None else ""

    def _write(self, proposal: dict[str, Any]) -> None:
        """Have the pipeline written anew; a table that cannot be is refused, and the one before is shown again."""
        before = self._proposal

        def refused(message: str, advice: str) -> None:
            self._failed(message, advice)
            self._show_proposal(before)

        def taken(drafted: dict[str, Any]) -> None:
            self._end("")
            self._take(drafted)

        self._space.client.ask("ask.write", taken, refused, proposal=proposal)

    def _want(self, what: str) -> None:
        if self._proposal is not None and self._text:
            self.wanted.emit(self._text, self._name(), what)

    def _name(self) -> str:
        """Name the question after its first words."""
        words = self._proposal["question"].split() if self._proposal else []
        name = " ".join(words[:8]).strip(" .?!,;:")
        return "".join(letter for letter in name if letter.isalnum() or letter in " -_(),")[:60] or "Question"


def _label(text: str = "") -> QLabel:
    return QLabel(text, wordWrap=bool(not text), textFormat=Qt.TextFormat.PlainText)
