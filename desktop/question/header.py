"""The line above the cards: the name, undo and redo, problems, what a run will take, and the buttons that go on."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QPushButton, QSizePolicy, QWidget

from desktop.buttons import push_button, tool_button
from desktop.labels import ElidedLabel, SaidLabel, in_bold, plain_label, with_name
from desktop.layouts import REST, in_row
from desktop.plain_text import plain
from desktop.question.document import PipelineDocument
from desktop.question.texts import problem_text
from desktop.words import counted, duration_text


class Header(QWidget):
    """Shows the state of a document."""

    wanted = Signal(str)
    """others, undo, redo, problem, try or run."""

    def __init__(self, document: PipelineDocument, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self.title = ElidedLabel()
        self.title.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Preferred)
        self.title.setFont(in_bold(self.title.font()))
        self.kept = plain_label()
        self.estimate = SaidLabel("What a run will take")
        self.problems = with_name(QPushButton(flat=True), "Problems: none")
        self.problems.clicked.connect(lambda checked=False: self.wanted.emit("problem"))
        self._undo = tool_button("undo", "Undo", lambda: self.wanted.emit("undo"))
        self._redo = tool_button("redo", "Redo", lambda: self.wanted.emit("redo"))
        self.run = push_button("run", "Run…", lambda: self.wanted.emit("run"))
        self.back = push_button("previous", "Other questions", lambda: self.wanted.emit("others"))
        attempt = push_button("try", "Try", lambda: self.wanted.emit("try"))
        left = (self.back, self.title, self.kept, self._undo, self._redo)
        in_row(*left, REST, self.problems, self.estimate, attempt, self.run, on=self)
        document.opened.connect(self._begin)
        document.state_changed.connect(self._show_state)
        document.problems_changed.connect(self._show_problems)
        document.estimate_changed.connect(self._show_estimate)

    def show_back(self, *, of_box: bool) -> None:
        """Say where the way back leads: to the table of the question, or to other questions."""
        self.back.setText("Back to the table" if of_box else "Other questions")

    def _begin(self) -> None:
        self.problems.hide()
        self.estimate.setText("")

    def _show_state(self) -> None:
        document = self._document
        self.title.setText(document.file.name)
        self.title.setToolTip(plain(document.file.path or document.file.name))
        self.kept.setText("" if document.is_kept else "(not saved yet)")
        self._undo.setEnabled(document.history.can_undo)
        self._redo.setEnabled(document.history.can_redo)

    def _show_problems(self) -> None:
        problems = self._document.problems
        errors = sum(problem["severity"] == "error" for problem in problems)
        notes = len(problems) - errors
        parts = [counted(errors, "error")] * bool(errors) + [counted(notes, "note")] * bool(notes)
        self.problems.setText(", ".join(parts))
        self.problems.setAccessibleName(f"Problems: {', '.join(parts) or 'none'}. Show the next one")
        self.problems.setVisible(bool(problems))
        self.problems.setToolTip(plain(problem_text(problems)))
        self.run.setEnabled(not errors)

    def _show_estimate(self) -> None:
        forecast = self._document.estimate
        self.estimate.setText("" if forecast is None else estimate_text(forecast))
        self.estimate.setToolTip(plain("" if forecast is None else "\n".join(forecast["assumed"])))


def estimate_text(found: dict[str, Any]) -> str:
    """Write an estimate (engine.estimate.total.Forecast) in one line."""
    if not found["calls"]:
        return "No call of a model is needed"
    tokens = found["prompt_tokens"] + found["sampled_tokens"]
    time = "time not measured yet" if found["seconds"] is None else f"about {duration_text(found['seconds'])}"
    return f"{counted(found['calls'], 'call')}, {tokens:,} tokens, {time}"
