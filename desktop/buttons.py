"""Buttons with an icon of ours, a text, and a name for those who do not see them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent
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


_UP_OR_DOWN = (Qt.Key.Key_Up, Qt.Key.Key_Down)


class ChoiceBox(QComboBox):
    """A box to choose from. While it has the keyboard, letters lead to a choice, and Alt with an arrow opens its list.

    No action of the window with one of these keys is done meanwhile.
    """

    def event(self, event: QEvent) -> bool:
        """Keep the keys from the actions of the window."""
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent) and _is_for_choosing(event):
            event.accept()
            return True
        return super().event(event)


def _is_for_choosing(event: QKeyEvent) -> bool:
    held = event.modifiers() & ~(Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.KeypadModifier)
    if event.key() in _UP_OR_DOWN:
        return held == Qt.KeyboardModifier.AltModifier
    return held == Qt.KeyboardModifier.NoModifier and bool(event.text()) and event.text().isprintable()


def choice_box(
    name: str, entries: Iterable[tuple[object, str]] = (), *, editable: bool = False, narrow: bool = False
) -> QComboBox:
    """Make a box to choose from; its list has the name too, for it is a window of its own.

    `entries` are values, each with its text. `narrow`: it takes no more room for entries that are long.
    """
    box = ChoiceBox(editable=editable)
    if narrow:
        box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    box.setAccessibleName(name)
    box.view().setAccessibleName(name)
    if (line := box.lineEdit()) is not None:
        line.setAccessibleName(name)
    offer(box, entries)
    return box


def offer(box: QComboBox, entries: Iterable[tuple[object, str]], chosen: object = None) -> None:
    """Offer these values, each with its text, in place of others, and choose one: the first where it is not there.

    `chosen` None: the one that was chosen before.
    """
    wanted = box.currentData() if chosen is None else chosen
    box.clear()
    for value, text in entries:
        box.addItem(text, value)
    box.setCurrentIndex(max(box.findData(wanted), 0))


def show_choice(box: QComboBox, value: str, text: str) -> None:
    """Show a value, which is offered under this text if it is not yet."""
    index = box.findData(value)
    if index < 0:
        box.addItem(text, value)
        index = box.count() - 1
    box.setCurrentIndex(index)


def push_button(icon_name: str, text: str, do: Callable[[], object]) -> QPushButton:
    """Make a button with an icon and a text."""
    button = QPushButton(icon(icon_name), text)
    button.clicked.connect(lambda checked=False: do())
    return button
