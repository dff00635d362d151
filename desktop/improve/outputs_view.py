"""What two plans wrote of the same document, side by side; what only one of them has is marked."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from PySide6.QtWidgets import QGridLayout, QSizePolicy, QWidget

from desktop.buttons import choice_box, offer
from desktop.improve.diff_view import REMOVED, OnlyHereHighlighter, TextView
from desktop.improve.improvement import Improvement
from desktop.improve.plan_lines import PlanLine
from desktop.labels import SaidLabel, plain_label
from desktop.layouts import in_column, in_row, split
from desktop.plain_text import plain
from desktop.words import counted
from engine.worker.contract.build import SideBySide

NOTHING = "(nothing)"


class _RemovedHighlighter(OnlyHereHighlighter):
    colours = REMOVED


class OutputsView(QWidget):
    """Compares the chosen plan (right) with the one that it was made from, or with another one (left)."""

    def __init__(self, improvement: Improvement, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._improvement = improvement
        self._plan = 0
        self.other = choice_box("Plan to compare with", narrow=True)
        self.document = choice_box("Document", narrow=True)
        self.title = plain_label()
        self.title.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.note = SaidLabel("About these outputs", wraps=True)
        self.left, self.right = TextView("Output of the plan before"), TextView("Output of the chosen plan")
        self.left.highlighter = _RemovedHighlighter(self.left.document())
        self.right.highlighter = OnlyHereHighlighter(self.right.document())
        self.other.activated.connect(lambda at: self.refresh())
        self.document.activated.connect(lambda at: self.refresh())
        self._lay_out()

    def show_plan(self, plan: int, plans: Sequence[tuple[str, int]], before: int) -> None:
        """Show a plan beside `before`; `plans` are those that it can be compared with, named."""
        self._plan = plan
        offer(self.other, [(id, name) for name, id in plans if id != plan], before)
        self.title.setText(next((name for name, id in plans if id == plan), ""))
        self.title.setToolTip(plain(self.title.text()))
        self.refresh()

    def refresh(self) -> None:
        """Ask for the outputs anew."""
        other = self.other.currentData()
        if not self._plan or other is None:
            self.clear("There is no other plan yet to compare this one with.")
            return
        plan, document = self._plan, str(self.document.currentData() or "")

        def answered(outputs: SideBySide) -> None:
            if (plan, other) == (self._plan, self.other.currentData()):  # else something else was asked since
                self._show(outputs)

        self._improvement.ask_outputs(other, plan, document, answered, self._fail)

    def clear(self, why: str) -> None:
        """Show nothing but why that is so."""
        self.note.setText(why)
        for side in (self.left, self.right):
            side.setPlainText("")

    def _fail(self, message: str, advice: str) -> None:
        self.clear(f"{message}. {advice}")

    def _show(self, outputs: SideBySide) -> None:
        if not outputs.documents:
            self.clear("The two plans were not tried on the same documents.")
            return
        named = [(id, name or f"row {number}") for number, (id, name) in enumerate(outputs.documents, 1)]
        offer(self.document, named, outputs.document)
        texts = [rows_text(outputs.left, outputs.left_reason), rows_text(outputs.right, outputs.right_reason)]
        for side, text, other in ((self.left, texts[0], texts[1]), (self.right, texts[1], texts[0])):
            if isinstance(side.highlighter, OnlyHereHighlighter):
                side.highlighter.others = {line.strip() for line in other.split("\n")}
            side.setPlainText(text)
        left, right = (counted(len(rows), "row") for rows in (outputs.left, outputs.right))
        same = "" if texts[0] != texts[1] else "; they say the same"
        self.note.setText(f"Of this document {left} at the left, {right} at the right{same}.")

    def _lay_out(self) -> None:
        top = in_row(plain_label("Document"), (self.document, 1))
        sides: list[QWidget] = []
        for head, side in ((self.other, self.left), (self.title, self.right)):
            column = QWidget()
            inside = QGridLayout(column)
            inside.setContentsMargins(0, 0, 0, 0)
            inside.addWidget(head, 0, 0)
            inside.addWidget(side, 1, 0)
            inside.setRowMinimumHeight(0, self.other.sizeHint().height())
            inside.setRowStretch(1, 1)
            sides.append(column)
        in_column(top, (split(sides, (300, 300)), 1), self.note, on=self, margins=(8, 8, 8, 8))


def rows_text(rows: Sequence[Mapping[str, Any]], reason: str) -> str:
    """Write the rows that were made of a document, a value a line."""
    if not rows:
        return f"(left out: {reason})" if reason else NOTHING
    blocks = []
    for number, row in enumerate(rows, 1):
        lines = [f"Row {number}"] if len(rows) > 1 else []
        blocks.append("\n".join([*lines, *(line for key, value in row.items() for line in _lines(key, value))]))
    return "\n\n".join(blocks)


def plan_names(lines: Sequence[PlanLine], title: Callable[[PlanLine], str]) -> list[tuple[str, int]]:
    """Name the plans that were rated, those of the same directive apart by their numbers."""
    return [(f"{title(line)} (plan {line.id})", line.id) for line in lines if line.score is not None]


def _lines(key: str, value: Any, indent: str = "") -> list[str]:
    if isinstance(value, list) and value:
        return [f"{indent}{key}:", *(line for item in value for line in _item(item, indent + "  "))]
    if isinstance(value, dict) and value:
        inner = [line for name, part in value.items() for line in _lines(name, part, indent + "  ")]
        return [f"{indent}{key}:", *inner]
    return [f"{indent}{key}: {_plain(value)}"]


def _item(value: Any, indent: str) -> list[str]:
    if isinstance(value, dict):
        return [f"{indent}- {json.dumps(value, ensure_ascii=False)}"]
    return [f"{indent}- {_plain(value)}"]


def _plain(value: Any) -> str:
    if value is None or value == "":
        return NOTHING
    return " ".join(value.split()) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
