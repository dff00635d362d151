"""Questions that nothing waits for: with two answers, of which a careless key press gives no, and for a text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QInputDialog, QMessageBox, QWidget

from desktop.plain_text import plain, unmarked


@dataclass(frozen=True, slots=True)
class YesOrNo:
    """What is asked: a short `text`, `more` in small letters, and the words of the two buttons."""

    title: str
    text: str
    yes: str
    more: str = ""
    no: str = "Cancel"
    icon: QMessageBox.Icon = QMessageBox.Icon.Question
    destroys: bool = False


def ask_yes_or_no(parent: QWidget, asked: YesOrNo, then: Callable[[], object]) -> QMessageBox:
    """Ask; `then` is called where the answer is yes. The box is shown when this returns, and deletes itself."""
    box = QMessageBox(parent)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setIcon(asked.icon)
    box.setWindowTitle(asked.title)
    box.setText(asked.text)
    box.setInformativeText(asked.more)
    role = QMessageBox.ButtonRole.DestructiveRole if asked.destroys else QMessageBox.ButtonRole.AcceptRole
    yes = box.addButton(asked.yes, role)
    no = box.addButton(asked.no, QMessageBox.ButtonRole.RejectRole)
    box.setDefaultButton(no)
    box.setEscapeButton(no)
    box.buttonClicked.connect(lambda button: then() if button is yes else None)
    box.open()
    return box


def input_dialog(parent: QWidget, title: str, label: str, chosen: Callable[[str], object]) -> QInputDialog:
    """Make a dialog that asks for a text. It is not shown yet, and deletes itself when it is closed."""
    dialog = QInputDialog(parent)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.setWindowTitle(title)
    dialog.setLabelText(unmarked(plain(label)))
    dialog.textValueSelected.connect(chosen)
    return dialog
