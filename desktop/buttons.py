"""Buttons with an icon of ours, a text, and a name for those who do not see them."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QComboBox, QLabel, QPushButton, QToolButton

from desktop.plain_text import plain
from desktop.theme import icon

_ICON_SIZE = 20


class IconLabel(QLabel):
    """An icon with a meaning in words; it takes the colours of a theme that changes."""

    def __init__(self, icon_name: str, meaning: str) -> None:
        super().__init__()
        self._icon_name = icon_name
        self.setAccessibleName(meaning)
        self.setToolTip(plain(meaning))
        self._draw()

    def changeEvent(self, event: QEvent) -> None:
        """Draw anew in other colours."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._draw()

    def _draw(self) -> None:
        self.setPixmap(icon(self._icon_name).pixmap(_ICON_SIZE, _ICON_SIZE))


def tool_button(icon_name: str, text: str, do: Callable[[], object]) -> QToolButton:
    """Make a flat button that shows its icon; the text is its tool tip and its accessible name."""
    button = QToolButton()
    button.setIcon(icon(icon_name))
    button.setText(text)
    button.setAutoRaise(True)
    button.setAccessibleName(text)
    button.setToolTip(plain(text))
    button.clicked.connect(lambda checked=False: do())
    return button


def choice_box(name: str, *, editable: bool = False) -> QComboBox:
    """Make a box to choose from; its list has the name too, for it is a window of its own."""
    box = QComboBox(editable=editable)
    box.setAccessibleName(name)
    box.view().setAccessibleName(name)
    if (line := box.lineEdit()) is not None:
        line.setAccessibleName(name)
    return box


def push_button(icon_name: str, text: str, do: Callable[[], object]) -> QPushButton:
    """Make a button with an icon and a text."""
    button = QPushButton(icon(icon_name), text)
    button.clicked.connect(lambda checked=False: do())
    return button
