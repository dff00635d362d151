"""What went wrong and what to do about it, above the place; nothing modal."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import QFrame, QWidget

from desktop.buttons import push_button, tool_button
from desktop.labels import SaidLabel
from desktop.layouts import in_row
from desktop.words import for_window, names_models_command


class MessageBar(QFrame):
    """Shows the latest message until it is closed, and has screen readers read it. Text is never taken for markup."""

    models_wanted = Signal()
    """A model is missing, and somebody wants to be led to Models."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self._text = SaidLabel("Message", wraps=True)
        self._text.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.models = push_button("models", "Open Models", self._open_models)
        close = tool_button("close", "Close the message", self.hide)
        layout = in_row((self._text, 1), on=self, margins=(12, 6, 6, 6))
        layout.addWidget(self.models, 0, Qt.AlignmentFlag.AlignTop)
        layout.addWidget(close, 0, Qt.AlignmentFlag.AlignTop)
        self.hide()

    @property
    def text(self) -> str:
        """Return what is shown, empty when nothing is."""
        return "" if self.isHidden() else self._text.text()

    def say(self, message: str, advice: str = "") -> None:
        """Show a message, and what to do; where that is a shell command for models, a button instead of it."""
        self.models.setVisible(names_models_command(advice))
        text = f"{message}\n{for_window(advice)}" if advice else message
        self._text.setText(text)
        self.show()
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self._text, text))

    def _open_models(self) -> None:
        self.hide()
        self.models_wanted.emit()
