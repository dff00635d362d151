"""A text that changes and has a name, such as the state of a run: a screen reader is told both."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel


class SaidLabel(QLabel):
    """Of a label with an accessible name Qt tells the name alone, so the text is part of it. It is never markup."""

    def __init__(self, name: str, text: str = "", *, wraps: bool = False) -> None:
        super().__init__(wordWrap=wraps, textFormat=Qt.TextFormat.PlainText)
        self._name = name
        self.setText(text)

    def setText(self, text: str) -> None:
        """Show another text."""
        super().setText(text)
        self.setAccessibleName(f"{self._name}: {text}" if text else self._name)

    def clear(self) -> None:
        """Show no text."""
        self.setText("")
