"""Asking for passphrases: to open an encrypted case, and for a new one. Neither dialog is modal.

A passphrase goes from the field into the signal `given`, and the field is emptied when the dialog closes.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QFormLayout, QLineEdit, QPushButton, QWidget

from desktop.check_boxes import CheckBox
from desktop.labels import SaidLabel, plain_label, with_name
from desktop.layouts import in_column

SHORTEST = 8
"""Characters of a new passphrase, as storage asks for."""

WARNING = (
    "Nobody can recover a passphrase that is forgotten: without it, everything in the case is lost. Write it down and "
    "keep it in a safe place."
)
_WIDTH = 46
"""Letters in a line."""


class _Dialog(QDialog):
    """What both have: a title, a text, fields that show no letters, and two buttons."""

    def __init__(self, title: str, text: str, verb: str, parent: QWidget | None) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        self.setAccessibleName(title)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setMinimumWidth(_WIDTH * self.fontMetrics().averageCharWidth())
        self._fields: list[QLineEdit] = []
        self.text = plain_label(text, wraps=True)
        self.hint = SaidLabel("What is missing", wraps=True)
        self._form = QFormLayout()
        self.shown = CheckBox("&Show what is typed")
        self.shown.toggled.connect(self._show_letters)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.go: QPushButton = buttons.addButton(verb, QDialogButtonBox.ButtonRole.AcceptRole)
        buttons.button(QDialogButtonBox.StandardButton.Cancel).setAutoDefault(False)
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        in_column(self.text, self._form, self.shown, self.hint, buttons, on=self, margins=None)

    def done(self, code: int) -> None:
        """Close, and keep nothing of what was typed."""
        super().done(code)
        for field in self._fields:
            field.clear()

    def _field(self, label: str, name: str) -> QLineEdit:
        field = with_name(QLineEdit(echoMode=QLineEdit.EchoMode.Password), name)
        field.textChanged.connect(self._look)
        self._form.addRow(label, field)
        if not self._fields:
            field.setFocus()  # else the box below has the keyboard, for it was made first
        self._fields.append(field)
        return field

    def _show_letters(self, shown: bool) -> None:
        for field in self._fields:
            field.setEchoMode(QLineEdit.EchoMode.Normal if shown else QLineEdit.EchoMode.Password)

    def _look(self) -> None:
        """Say what is missing, and let the button be used when nothing is."""
        missing = self._missing()
        self.hint.setText(missing)
        self.go.setEnabled(not missing and all(field.text() for field in self._fields))
        self.go.setDefault(True)  # Qt makes another one the default while this one cannot be used

    def _missing(self) -> str:
        return ""


class PassphraseDialog(_Dialog):
    """Asks for the passphrase that a case has."""

    given = Signal(str)

    def __init__(
        self, case: str, parent: QWidget | None = None, *, is_wrong: bool = False, text: str = "", verb: str = "Open"
    ) -> None:
        super().__init__("Passphrase", text or f"The case {case} is encrypted.", verb, parent)
        self.case = case
        self.passphrase = self._field("&Passphrase", "Passphrase")
        self._look()
        if is_wrong:
            self.hint.setText("That passphrase does not open it. Check capital letters and the keyboard layout.")

    def accept(self) -> None:
        """Give the passphrase."""
        if self.go.isEnabled():
            typed = self.passphrase.text()
            super().accept()
            self.given.emit(typed)


class NewPassphraseDialog(_Dialog):
    """Asks for a new passphrase twice, and for the one before it where there is one."""

    given = Signal(str, str)
    """The passphrase before (empty where there is none), and the new one."""

    def __init__(
        self, case: str, title: str, verb: str, parent: QWidget | None = None, *, has_one: bool = False
    ) -> None:
        super().__init__(title, f"The case {case}\n\n{WARNING}", verb, parent)
        self.current = self._field("&Passphrase now", "Passphrase now") if has_one else None
        self.new = self._field("&New passphrase", "New passphrase")
        self.again = self._field("New passphrase &again", "New passphrase again")
        self._look()

    def accept(self) -> None:
        """Give them."""
        if self.go.isEnabled():
            current, new = self.current.text() if self.current is not None else "", self.new.text()
            super().accept()
            self.given.emit(current, new)

    def _missing(self) -> str:
        if len(self.new.text()) < SHORTEST:
            return f"At least {SHORTEST} characters: several words, for example."
        return "" if self.new.text() == self.again.text() else "The two are not the same yet."
