"""Boxes to choose from, which keep their keys from the actions of the window."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from desktop.buttons import choice_box

NONE, ALT, CTRL, SHIFT = (
    Qt.KeyboardModifier.NoModifier,
    Qt.KeyboardModifier.AltModifier,
    Qt.KeyboardModifier.ControlModifier,
    Qt.KeyboardModifier.ShiftModifier,
)


@pytest.mark.parametrize(
    ("key", "modifier", "text", "is_its_own"),
    [
        (Qt.Key.Key_A, NONE, "a", True),
        (Qt.Key.Key_A, SHIFT, "A", True),
        (Qt.Key.Key_Space, NONE, " ", True),
        (Qt.Key.Key_Down, ALT, "", True),
        (Qt.Key.Key_Up, ALT, "", True),
        (Qt.Key.Key_A, CTRL, "\x01", False),
        (Qt.Key.Key_A, ALT, "a", False),
        (Qt.Key.Key_F5, NONE, "", False),
        (Qt.Key.Key_Delete, NONE, "\x7f", False),
        (Qt.Key.Key_Return, NONE, "\r", False),
    ],
)
def test_a_box_to_choose_from_keeps_letters_and_what_opens_it(
    qtbot: QtBot, key: Qt.Key, modifier: Qt.KeyboardModifier, text: str, is_its_own: bool
) -> None:
    box = choice_box("Run")
    qtbot.addWidget(box)
    event = QKeyEvent(QEvent.Type.ShortcutOverride, key, modifier, text)
    event.ignore()
    QApplication.sendEvent(box, event)
    assert event.isAccepted() == is_its_own
