"""Messages above the place: what they say, and the button that leads to a missing model."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

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
