"""A proposed table as a sentence of chips, each of which can be changed where it stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from PySide6.QtCore import QEvent, QRectF, QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPalette, QPen
from PySide6.QtWidgets import (
    QFrame,
    QLineEdit,
    QMenu,
    QStyle,
    QStyleOptionToolButton,
    QStylePainter,
    QToolButton,
    QWidget,
)

from desktop.buttons import tool_button
from desktop.labels import plain_label, with_name
from desktop.layouts import FlowLayout, in_row
from desktop.plain_text import plain

KINDS = ("text", "date", "amount", "number", "person", "yes/no", "one of", "quotation")
"""Kinds of columns (engine.ask.proposal.KINDS)."""

_EXPLAINED = {
    "text": "As the model writes it",
    "date": "As the document writes it, and as a date",
    "amount": "As the document writes it, and as a number with its currency",
    "number": "A number",
    "person": "A name as the document writes it",
    "yes/no": "Yes or no",
    "one of": "One of some choices, which you write",
    "quotation": "A sentence of the document, word for word",
}
_LONGEST = 60
_ROUND = 9.0
_EDGE_STRENGTH = 0.45


class MenuButton(QToolButton):
    """A button with a menu whose arrow is in its text, and not drawn beside it once more."""

    def initStyleOption(self, option: QStyleOptionToolButton) -> None:
        """Leave out the arrow."""
        super().initStyleOption(option)
        option.features = QStyleOptionToolButton.ToolButtonFeature.None_

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw it like a button without a menu; one that cannot be pressed says its text all the same."""
        option = QStyleOptionToolButton()
        self.initStyleOption(option)
        faint = self.palette().color(QPalette.ColorRole.PlaceholderText)
        option.palette.setColor(QPalette.ColorGroup.Disabled, QPalette.ColorRole.ButtonText, faint)
        QStylePainter(self).drawComplexControl(QStyle.ComplexControl.CC_ToolButton, option)


class Chip(QFrame):
    """One column: its name, which can be typed over, its kind as a menu, its choices, and a way to remove it."""

    edited = Signal()
    removed = Signal()

    def __init__(self, column: Mapping[str, Any], *, is_new: bool, can_edit: bool) -> None:
        super().__init__()
        self.kind_now = str(column["kind"])
        self._is_new = is_new
        self.name = _line(str(column["name"]), "Name of the column", can_edit=can_edit)
        self.name.editingFinished.connect(self.flush)
        self.kind = MenuButton(autoRaise=True, popupMode=QToolButton.ToolButtonPopupMode.InstantPopup)
        self.kind.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        self.kind.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.kind.setEnabled(can_edit)
        self.menu = QMenu(self.kind)
        for kind in KINDS:
            action = self.menu.addAction(kind, partial(self.choose, kind))
            action.setToolTip(plain(_EXPLAINED[kind]))
        self.menu.setToolTipsVisible(True)
        self.kind.setMenu(self.menu)
        self.choices = _line(", ".join(column["choices"]), "Choices, with commas", can_edit=can_edit)
        self.choices.setPlaceholderText("new, old, unknown")
        self.choices.editingFinished.connect(self.flush)
        self.remove = tool_button("close", "Remove the column", self.removed.emit)
        self.remove.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        if not can_edit:
            self.remove.hide()
        self.written = self.value()
        """The column as it was told last."""
        in_row(self.name, self.kind, self.choices, self.remove, on=self, margins=(8, 2, 4, 2), spacing=2)
        self._name_parts()

    def value(self) -> dict[str, Any]:
        """Return the column as it stands here."""
        written = [part.strip() for part in self.choices.text().split(",") if part.strip()]
        return {
            "name": self.name.text().strip(),
            "kind": self.kind_now,
            "choices": list(dict.fromkeys(written)) if self.kind_now == "one of" else [],
        }

    def choose(self, kind: str) -> None:
        """Make the column one of another kind; of choices, wait until they are written."""
        self.kind_now = kind
        self._name_parts()
        if kind == "one of" and not self.choices.text().strip():
            self.choices.setFocus()
        else:
            self.flush()

    @property
    def is_incomplete(self) -> bool:
        """Say whether it was made a choice, and the second one is still to come."""
        value = self.value()
        return value["kind"] == "one of" and len(value["choices"]) < 2 and value != self.written

    def flush(self) -> None:
        """Tell now what was typed; of choices, when there are two."""
        if self.is_incomplete:
            return
        value = self.value()
        if value != self.written:
            self.written = value
            self._name_parts()
            self.edited.emit()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw a round box; a thick one in the accent around what was changed."""
        palette, painter = self.palette(), QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        accent = palette.color(QPalette.ColorRole.Highlight)
        painter.setPen(QPen(accent if self._is_new else _faint(palette), 2 if self._is_new else 1))
        painter.setBrush(palette.color(QPalette.ColorRole.Base))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), _ROUND, _ROUND)

    def _name_parts(self) -> None:
        name = self.name.text().strip() or "column"
        self.kind.setText(f"{self.kind_now} ▾" if self.kind.isEnabled() else self.kind_now)
        self.kind.setAccessibleName(f"Kind of {name}: {self.kind_now}")
        self.kind.setToolTip(plain(_EXPLAINED.get(self.kind_now, self.kind_now)))
        self.remove.setAccessibleName(f"Remove {name}")
        self.remove.setToolTip(plain(f"Remove {name}"))
        self.choices.setVisible(self.kind_now == "one of")
        for line in (self.name, self.choices):
            _fit(line)
        self.setAccessibleName(f"Column {name}, {self.kind_now}" + (", changed" if self._is_new else ""))


class Chips(QWidget):
    """Shows a proposal (engine.ask.proposal.Proposal as JSON). What a person changes comes as `edited`."""

    edited = Signal(dict)
    """The row and the columns as they are now."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.row = _line("", "One row per", can_edit=True)
        self.row.setPlaceholderText("document")
        self.row.setFrame(True)
        self.row.setToolTip("What a row is, such as car. Leave it empty for one row per document.")
        self.row.editingFinished.connect(self._row_edited)
        self.chips: list[Chip] = []
        self._begins, self._with = plain_label("One row per"), plain_label()
        self.add = tool_button("add", "Add a column", self.add_column)
        self.add.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.add.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._flow = FlowLayout(self)
        for part in (self._begins, self.row, self._with, self.add):
            self._flow.addWidget(part)
        self._row, self._can_edit = "", True
        self._adds = False  # a column is being added, and its name is to be typed

    def show_table(
        self, table: Mapping[str, Any], *, before: Mapping[str, Any] | None = None, can_edit: bool = True
    ) -> None:
        """Show a table; columns that `before` did not have like this are marked."""
        old = None if before is None else [_bare(column) for column in before["columns"]]
        columns = [_bare(column) for column in table["columns"]]
        is_same = (self._row, self._can_edit) == (table["row"], can_edit)
        if before is None and is_same and columns == [chip.written for chip in self.chips]:
            self._adds = False
            return  # it says what stands here already: what a person types next is left alone
        self._row, self._can_edit = str(table["row"]), can_edit
        with QSignalBlocker(self.row):
            self.row.setText(self._row)
        self.row.setReadOnly(not can_edit)
        self.row.setMinimumWidth(0)
        _fit(self.row)
        also = "and document, with" if can_edit else "with"
        self._with.setText(also if self._row else "with")
        self.add.setVisible(can_edit)
        focused = self._focused()
        while self.chips:
            chip = self.chips.pop()
            self._flow.removeWidget(chip)
            chip.hide()
            chip.deleteLater()
        self._flow.removeWidget(self.add)
        for number, column in enumerate(columns):
            chip = Chip(column, is_new=old is not None and column not in old, can_edit=can_edit)
            chip.edited.connect(self._tell)
            chip.removed.connect(partial(self.remove_column, number))
            chip.remove.setEnabled(len(columns) > 1)
            self.chips.append(chip)
            self._flow.addWidget(chip)
        self._flow.addWidget(self.add)
        parts = [part for chip in self.chips for part in (chip.name, chip.kind, chip.choices, chip.remove)]
        for before_it, part in pairwise([self.row, *parts, self.add]):
            QWidget.setTabOrder(before_it, part)
        self._focus_again(focused)
        self.updateGeometry()

    def flush(self) -> None:
        """Tell now what was typed, also while the keyboard is still in it."""
        self._row_edited()
        for chip in self.chips:
            chip.flush()

    def incomplete(self) -> Chip | None:
        """Return the first column whose choices are still to be written; what it was before is not what is wanted."""
        return next((chip for chip in self.chips if chip.is_incomplete), None)

    def columns(self) -> list[dict[str, Any]]:
        """Return the columns as they stand here."""
        return [chip.value() for chip in self.chips]

    def add_column(self) -> None:
        """Add a column, whose name is to be typed."""
        taken = {chip.name.text().strip() for chip in self.chips}
        name = next(name for number in range(1, 99) if (name := f"column {number}") not in taken)
        self._adds = True
        new = {"name": name, "kind": "text", "choices": []}
        self.edited.emit({"row": self._row, "columns": [*self.columns(), new]})

    def remove_column(self, number: int) -> None:
        """Remove a column by its number from 0; the last one stays."""
        columns = self.columns()
        if len(columns) > 1:
            del columns[number]
            self.edited.emit({"row": self._row, "columns": columns})

    # -- inside --------------------------------------------------------------------------------------------------

    def _row_edited(self) -> None:
        if self.row.text().strip() != self._row:
            self._row = self.row.text().strip()
            self._tell()

    def _tell(self) -> None:
        self.edited.emit({"row": self._row, "columns": self.columns()})

    def _focused(self) -> tuple[int, str] | None:
        """Return which chip has the keyboard, and in which part."""
        for number, chip in enumerate(self.chips):
            for part in ("name", "kind", "choices", "remove"):
                if getattr(chip, part).hasFocus():
                    return number, part
        return (len(self.chips), "add") if self.add.hasFocus() else None

    def _focus_again(self, focused: tuple[int, str] | None) -> None:
        """Leave the keyboard where it was, in the chips that are new; a column that was added gets it."""
        if self._adds:
            self._adds = False
            name = self.chips[-1].name

            def begin_to_type() -> None:
                name.setFocus()
                name.selectAll()

            QTimer.singleShot(0, name, begin_to_type)
        elif focused is not None and focused[1] == "add":
            self.add.setFocus()
        elif focused is not None and self.chips:
            part: QWidget = getattr(self.chips[min(focused[0], len(self.chips) - 1)], focused[1])
            QTimer.singleShot(0, part, part.setFocus)

    def changeEvent(self, event: QEvent) -> None:
        """Fit names to letters that were made larger or smaller."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            for line in (self.row, *(line for chip in self.chips for line in (chip.name, chip.choices))):
                _fit(line)


def _bare(column: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": column["name"], "kind": column["kind"], "choices": list(column["choices"])}


def _line(text: str, name: str, *, can_edit: bool) -> QLineEdit:
    line = with_name(QLineEdit(text, frame=False, readOnly=not can_edit), name)
    line.setMaxLength(_LONGEST if name != "Choices, with commas" else 1000)
    line.textChanged.connect(lambda: _fit(line))
    _fit(line)
    return line


def _fit(line: QLineEdit) -> None:
    """Make a line as wide as its text."""
    shown: Sequence[str] = (line.text(), line.placeholderText() if not line.text() else "")
    width = max(line.fontMetrics().horizontalAdvance(text) for text in shown)
    line.setFixedWidth(min(max(width, 20) + (26 if line.hasFrame() else 14), 420))


def _faint(palette: QPalette) -> QColor:
    colour = palette.color(QPalette.ColorRole.WindowText)
    colour.setAlphaF(_EDGE_STRENGTH)
    return colour
