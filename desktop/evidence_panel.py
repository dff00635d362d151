"""Beside the table: one cell with what was said of it, each place it was found at, and the page."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QEvent, Signal
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from desktop.buttons import tool_button
from desktop.client import Ask
from desktop.labels import in_bold, plain_label, with_name
from desktop.layouts import in_column, in_row
from desktop.viewer import Viewer
from desktop.words import time_text
from desktop.workspace import Workspace
from engine.worker.contract import results
from engine.worker.contract.names import NamePlace
from engine.worker.contract.results import CellDetails, CellPlace

_VALUE_LINES = 3
_HOW = {
    "exact": "word for word",
    "normalised": "word for word, except spaces, capitals, hyphens or quotation marks",
    "date": "this date",
    "number": "this number",
    "name": "a form of this name",
    "fuzzy": "nearly",
    "quote": "the quote it was drawn from",
    "document": "the file itself",
}
"""How a value was found (engine.evidence.locate.Method), in words."""


class EvidencePanel(QWidget):
    """Shows the evidence of one cell: `show_cell` is the way in."""

    closed = Signal()
    shown = Signal(str, str)
    """A cell is there, its place on its way: row id and column."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None, ask: Ask | None = None) -> None:
        """`ask`: asks for cells where they are not those of the open case, whose pages are shown in any case."""
        super().__init__(parent)
        self._workspace = workspace
        self._ask = ask or workspace.ask
        self._question = ""
        self._cell: CellDetails | None = None
        self._places: list[CellPlace] = []
        self._at = 0
        self._inside = ""
        self.viewer = Viewer(workspace)
        self.viewer.closed.connect(self.closed)
        self._title = plain_label()
        self._title.setFont(in_bold(self._title.font()))
        self._value = with_name(QPlainTextEdit(readOnly=True), "Value of the cell")
        self._value.setTabChangesFocus(True)
        self._fit()
        self._said = plain_label(wraps=True)
        self._where = plain_label(wraps=True)
        self._before = tool_button("previous", "Previous place of this value", lambda: self.go(-1))
        self._after = tool_button("next", "Next place of this value", lambda: self.go(1))
        go = in_row(self._before, self._after, (self._where, 1))
        in_column(self._title, self._value, self._said, go, (self.viewer, 1), on=self, margins=(6, 6, 6, 4), spacing=4)
        workspace.case_opened.connect(lambda path: self.clear())

    @property
    def is_coming(self) -> bool:
        """Say whether another cell was asked for that is not here yet."""
        return bool(self._question)

    def changeEvent(self, event: QEvent) -> None:
        """Give the value room for as many lines of other letters."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange and hasattr(self, "_value"):
            self._fit()

    def show_cell(self, run: str, row: str, column: str, inside: str = "") -> None:
        """Ask for a cell and show its first place, or the first of the part that a path (`acts[0].date`) leads to."""
        self.stop()
        self._inside = inside
        self._question = self._ask(results.CELL, self._take, run=run, row=row, column=column)

    def show_place(self, place: CellPlace | NamePlace) -> None:
        """Show lines of a document, which need not belong to the cell."""
        lines = range(place.first_line, place.last_line + 1)
        words = place.value if isinstance(place, CellPlace) and place.method != "document" else ""
        self.viewer.show_document(place.document, place.page, line=place.first_line, lines=lines, words=words)

    def go(self, step: int) -> None:
        """Show the next place of the value, or the one before with -1."""
        if self._cell is not None and self._places:
            self._at = (self._at + step) % len(self._places)
            self._show_place(self._cell)

    def stop(self) -> None:
        """Give up what is on its way."""
        self._workspace.client.forget(self._question)
        self._question = ""

    def clear(self) -> None:
        """Show no cell: another case is open, or a run without rows."""
        self.stop()
        self._cell, self._places = None, []
        self._value.clear()
        for label in (self._title, self._said, self._where):
            label.clear()
        for button in (self._before, self._after):
            button.setEnabled(False)
        self.viewer.clear()

    def _fit(self) -> None:
        self._value.setMaximumHeight(self._value.fontMetrics().lineSpacing() * _VALUE_LINES + 14)

    def _take(self, cell: CellDetails) -> None:
        self._cell, self._question = cell, ""
        self._places = [place for place in cell.places if place.document]
        self._at = next((n for n, place in enumerate(self._places) if place.inside == self._inside), 0)
        self._title.setText(cell.column)
        self._value.setPlainText(_text(cell.value))
        self._said.setText("\n".join(_said(cell)))
        self._said.setVisible(bool(self._said.text()))
        self._show_place(cell)
        self.shown.emit(cell.row, cell.column)

    def _show_place(self, cell: CellDetails) -> None:
        missing = [place for place in cell.places if not place.document]
        for button in (self._before, self._after):
            button.setEnabled(len(self._places) > 1)
        if not self._places:
            nothing = "This value has no place: it was not copied from a record."
            message = "Not located: this value was looked for in the records and not found." if missing else nothing
            self._where.setText(message)
            self.viewer.clear()
            return
        place = self._places[self._at]
        count = f"Place {self._at + 1} of {len(self._places)}: " if len(self._places) > 1 else ""
        also = f" {len(missing)} not located." if missing else ""
        inside = f"{place.value}: " if place.inside else ""
        self._where.setText(f"{count}{inside}{_place_text(place)}.{also}")
        self.show_place(place)


def _place_text(place: CellPlace) -> str:
    first, last = place.first_line, place.last_line
    lines = f"line {first}" if first == last else f"lines {first}-{last}"
    score = f" ({place.score:.0%})" if place.method == "fuzzy" and place.score is not None else ""
    return f"page {place.page}, {lines}, {_HOW.get(place.method, place.method)}{score}"


def _said(cell: CellDetails) -> list[str]:
    lines = []
    if cell.value != cell.original:
        lines.append(f"The model wrote: {_text(cell.original) or '(nothing)'}")
    if cell.verdict:
        lines.append(f"{cell.verdict.capitalize()} by {cell.who}, {time_text(cell.made_at)}")
    if cell.note:
        lines.append(f"Note: {cell.note}")
    return lines


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "\n".join(_text(item) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_text(item)}" for key, item in value.items())
    return "" if value is None else str(value)
