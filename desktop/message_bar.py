"""What went wrong and what to do about it, above the place; nothing modal."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QWidget

from desktop.buttons import push_button, tool_button
from desktop.words import for_window, names_models_command


class MessageBar(QFrame):
    """Shows the latest message until it is closed. Text is shown as it is, never as markup."""

    models_wanted = Signal()
    """A model is missing, and somebody wants to be led to Models."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self._text = QLabel(wordWrap=True, textFormat=Qt.TextFormat.PlainText)
        self._text.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self._text.setAccessibleName("Message")
        self.models = push_button("models", "Open Models", self._open_models)
        close = tool_button("close", "Close the message", self.hide)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(12, 6, 6, 6)
        layout.addWidget(self._text, 1)
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
        self._text.setText(f"{message}\n{for_window(advice)}" if advice else message)
        self.show()

    def _open_models(self) -> None:
        self.hide()
        self.models_wanted.emit()
