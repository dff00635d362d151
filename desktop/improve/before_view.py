"""What is chosen before a build: time and policy, documents, who judges, and by which criteria."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QSplitter, QVBoxLayout, QWidget

from desktop.improve.build_form import BuildForm
from desktop.improve.criteria_editor import CriteriaEditor
from desktop.improve.told import folder_text, gold_text
from desktop.workspace import Workspace

_INTRO = (
    "Other ways to ask the same are tried on some of your documents, rated and compared. Your question is not changed; "
    "a plan that does better becomes a question of its own."
)
_CRITERIA = "What a good answer is like. Read and change it, or let the judge write its own for each part."


class BeforeView(QWidget):
    """The form at the left, the criteria at the right."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.form = BuildForm(workspace)
        self.criteria = CriteriaEditor()
        self.folder = _told("How long the question takes now")
        self.gold = _told("Reviewed rows")
        self.trouble = _told("What is wrong with the question")
        left, right = QWidget(), QWidget()
        column = QVBoxLayout(left)
        column.setContentsMargins(0, 0, 8, 0)
        column.setSpacing(12)
        for widget in (_told("", _INTRO), self.form, self.folder, self.gold, self.trouble):
            column.addWidget(widget)
        column.addStretch(1)
        column = QVBoxLayout(right)
        column.setContentsMargins(8, 0, 0, 0)
        column.addWidget(_told("", _CRITERIA))
        column.addWidget(self.criteria, 1)
        split = QSplitter()
        split.addWidget(left)
        split.addWidget(right)
        split.setChildrenCollapsible(False)
        split.setSizes([470, 620])
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 10, 8, 8)
        layout.addWidget(split)

    def show_setup(self, setup: Mapping[str, Any], trouble: str) -> None:
        """Show what is known (engine.worker.queries.build.BuildSetup), or why nothing is."""
        self.trouble.setText(trouble)
        self.trouble.setVisible(bool(trouble))
        self.folder.setText(folder_text(setup) if setup else "")
        self.gold.setText(gold_text(setup["reviewed"], setup["least_reviewed"]) if setup else "")
        if setup:
            self.criteria.show_criteria(setup["criteria"])
        else:
            self.criteria.clear()


def _told(name: str, text: str = "") -> QLabel:
    label = QLabel(text, wordWrap=True, textFormat=Qt.TextFormat.PlainText)
    if name:
        label.setAccessibleName(name)
    return label
