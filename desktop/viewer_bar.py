"""The bar above a page: page number, zoom, turning, the text that was read, words to find, and a password."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLineEdit, QSpinBox, QWidget

from desktop.buttons import push_button, tool_button
from desktop.labels import plain_label
from desktop.layouts import in_row


class ViewerBar(QWidget):
    """Says what a person wants; the viewer does it."""

    page_chosen = Signal(int)
    turned_over = Signal(int)
    """1 for the next page, -1 for the one before."""
    zoomed = Signal(int)
    """1 to enlarge, -1 to shrink."""
    fit_wanted = Signal()
    turn_wanted = Signal()
    layer_toggled = Signal(bool)
    words_entered = Signal(str)
    """Words to look for; the same ones again ask for the next line that has them."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._number = QSpinBox()
        self._number.setKeyboardTracking(False)
        self._number.setAccessibleName("Page number")
        self._number.valueChanged.connect(self.page_chosen)
        self.layer = tool_button("text", "Show the text that was read", lambda: None)
        self.layer.setCheckable(True)
        self.layer.toggled.connect(self.layer_toggled)
        self.words = QLineEdit(placeholderText="Find in the document", clearButtonEnabled=True)
        self.words.setAccessibleName("Find in the document")
        self.words.setMinimumWidth(90)
        self.words.returnPressed.connect(self._enter)
        self.words.textChanged.connect(lambda text: None if text else self.words_entered.emit(""))
        self.count = plain_label()
        self.next = tool_button("next", "Next line found", self._enter)
        in_row(
            tool_button("previous", "Previous page", lambda: self.turned_over.emit(-1)),
            self._number,
            tool_button("next", "Next page", lambda: self.turned_over.emit(1)),
            tool_button("zoom_out", "Zoom out", lambda: self.zoomed.emit(-1)),
            tool_button("zoom_in", "Zoom in", lambda: self.zoomed.emit(1)),
            tool_button("fit", "Fit the width", self.fit_wanted.emit),
            tool_button("rotate", "Turn the page", self.turn_wanted.emit),
            self.layer,
            (self.words, 1),
            self.count,
            self.next,
            on=self,
            spacing=2,
        )

    def show_page(self, page: int, pages: int) -> None:
        """Show which page of how many it is; nothing is chosen by that."""
        self._number.blockSignals(True)
        self._number.setRange(1, pages)
        self._number.setSuffix(f" of {pages}")
        self._number.setValue(page)
        self._number.blockSignals(False)

    def _enter(self) -> None:
        self.words_entered.emit(self.words.text())


class PasswordBar(QWidget):
    """Asks for the password of the document that is shown; hidden until it is needed."""

    entered = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._hint = plain_label(wraps=True)
        self._password = QLineEdit(echoMode=QLineEdit.EchoMode.Password, placeholderText="Password")
        self._password.setAccessibleName("Password of the document")
        self._password.setMaximumWidth(180)
        self._password.returnPressed.connect(self._enter)
        in_row((self._hint, 1), self._password, push_button("offline", "Open", self._enter), on=self)
        self.hide()

    def ask(self, *, was_wrong: bool) -> None:
        """Ask, and say so when the one given before was wrong."""
        self._hint.setText("This password does not open it." if was_wrong else "This document needs a password.")
        if self.isHidden():  # else it is asked for in another size, and somebody may be typing, here or elsewhere
            self._password.clear()
            self.show()
            self._password.setFocus()

    def _enter(self) -> None:
        if text := self._password.text():
            self._password.clear()
            self.hide()
            self.entered.emit(text)
