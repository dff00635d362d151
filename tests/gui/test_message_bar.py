"""Messages above the place: what they say, and the button that leads to a missing model."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from desktop.labels import SaidLabel
from desktop.message_bar import MessageBar
from desktop.places.models import ModelDetails
from desktop.window import MainWindow


def test_a_missing_model_is_a_button_and_not_a_shell_command(new_window: Callable[[], MainWindow]) -> None:
    window = new_window()
    window.go_to("Documents")
    window.workspace.said.emit("the model m is not installed", "Install it: `redwell models install m` (398 MB).")
    assert window.messages.text == "the model m is not installed\nInstall it in Models (398 MB)."
    QTest.mouseClick(window.messages.models, Qt.MouseButton.LeftButton)
    assert window.messages.text == ""
    place = window.current
    assert place is not None and place.name == "Models"


def test_another_advice_has_no_button(new_window: Callable[[], MainWindow]) -> None:
    window = new_window()
    window.workspace.said.emit("Nothing to export.", "Run a question first.")
    assert window.messages.text == "Nothing to export.\nRun a question first."
    assert not window.messages.models.isVisible()


def heard(label: SaidLabel) -> str:
    """Return what a screen reader is told of a label."""
    return QAccessible.queryAccessibleInterface(label).text(QAccessible.Text.Name)


class Listening:
    """Stands for what passes events on to screen readers."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def updateAccessibility(self, event: QAccessibleAnnouncementEvent) -> None:
        self.told.append(event.message())


def test_a_message_is_heard_when_it_comes_and_when_it_is_looked_for(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    listening = Listening()
    monkeypatch.setattr("desktop.message_bar.QAccessible", listening)
    bar = MessageBar()
    qtbot.addWidget(bar)
    bar.say("Nothing to export.", "Run a question first.")
    assert listening.told == ["Nothing to export.\nRun a question first."]
    assert heard(bar._text) == "Message: Nothing to export.\nRun a question first."


def test_a_name_is_not_all_that_is_heard_of_a_label(qtbot: QtBot) -> None:
    label = SaidLabel("What was done", "Reading…")
    qtbot.addWidget(label)
    assert heard(label) == "What was done: Reading…"
    label.clear()
    assert (heard(label), label.text()) == ("What was done", "")
    details = ModelDetails()
    qtbot.addWidget(details)
    details.facts["Speed"].setText("90 / 12")
    assert heard(details.facts["Speed"]) == "Speed: 90 / 12"
