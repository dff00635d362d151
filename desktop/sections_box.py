"""The sections of the document in the viewer, to go to one of them; it shows the one the page begins in."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QWidget

from desktop.buttons import choice_box
from desktop.workspace import Workspace

_INDENT = "   "
_DEEPEST = 4


class SectionsBox(QWidget):
    """A box of sections, hidden where the document has none. `show_page` tells it what the viewer shows."""

    chosen = Signal(int, int)
    """The page and line on which the chosen section begins."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._question, self._document, self._page = "", "", 0
        self._sections: list[dict[str, Any]] = []
        self.box: QComboBox = choice_box("Sections of the document")
        self.box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.box.activated.connect(self._choose)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.box, 1)
        self.hide()

    def show_page(self, document: str, page: int) -> None:
        """Follow the viewer to a page; the sections of another document are asked for."""
        self._page = page
        if document != self._document:
            self.stop()
            self._document = document
            self._take([])
            self._question = self._workspace.ask("documents.outline", self._take, document=document)
        self._point()

    def stop(self) -> None:
        """Give up what is on its way; the next page asks again."""
        if self._question:
            self._workspace.client.forget(self._question)
        self._question, self._document = "", ""

    def clear(self) -> None:
        """Show no sections."""
        self.stop()
        self._take([])

    def _take(self, sections: list[dict[str, Any]]) -> None:
        self._question, self._sections = "", sections
        self.box.clear()
        for section in sections:
            indent = _INDENT * (min(section["level"], _DEEPEST) - 1)
            self.box.addItem(f"{indent}{section['title']}  (p. {section['first_page']})")
        self.setVisible(bool(sections))
        self._point()

    def _point(self) -> None:
        """Show the section in which the page begins, or the first that begins on it."""
        there = [place for place, section in enumerate(self._sections) if section["first_page"] < self._page]
        here = [place for place, section in enumerate(self._sections) if section["first_page"] == self._page]
        self.box.setCurrentIndex((here[:1] or there[-1:] or [-1])[0])

    def _choose(self, place: int) -> None:
        section = self._sections[place]
        self.chosen.emit(section["first_page"], section["first_line"])
