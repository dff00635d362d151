"""What is chosen before a build: time and policy, documents, who proposes prompts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from desktop.improve.build_form import BuildForm
from desktop.improve.told import folder_text, gold_text
from desktop.workspace import Workspace

_INTRO = (
    "Other ways to ask the same are tried on some of your documents and rated. Your question is not changed; "
    "a plan that does better becomes a question of its own."
)

MOST_WIDTH: Final = 720
"""Pixels: a wider form is harder to read."""


class BeforeView(QWidget):
    """The form, and what is known beforehand."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.form = BuildForm(workspace)
        self.folder = _told("How long the question takes now")
        self.gold = _told("Reviewed rows")
        self.trouble = _told("What is wrong with the question")
        column = QWidget()
        column.setMaximumWidth(MOST_WIDTH)
        layout = QVBoxLayout(column)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(12)
        for widget in (_told("", _INTRO), self.form, self.folder, self.gold, self.trouble):
            layout.addWidget(widget)
        layout.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 10, 8, 8)
        layout.addWidget(column)

    def show_setup(self, setup: Mapping[str, Any], trouble: str) -> None:
        """Show what is known (engine.worker.queries.build.BuildSetup), or why nothing is."""
        self.trouble.setText(trouble)
        self.trouble.setVisible(bool(trouble))
        self.folder.setText(folder_text(setup) if setup else "")
        self.gold.setText(gold_text(setup["reviewed"], setup["least_reviewed"]) if setup else "")


def _told(name: str, text: str = "") -> QLabel:
    label = QLabel(text, wordWrap=True, textFormat=Qt.TextFormat.PlainText)
    if name:
        label.setAccessibleName(name)
    return label
