"""Help with the first steps and all keys; menus of a right click."""

from __future__ import annotations

from gui_waiting import WAIT
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from desktop.places.documents import DocumentsPlace
from desktop.places.results import ResultsPlace
from desktop.window import MainWindow


def test_help_has_first_steps_and_every_key(qtbot: QtBot, window: MainWindow) -> None:
    dialog = window.show_help()
    qtbot.addWidget(dialog)
    text = dialog.steps.toPlainText()
    assert [
        place for place in ("Documents", "Question", "Preview", "Run", "Results", "Export") if place not in text
    ] == []
    keys = {dialog.keys.item(row, 0).text(): row for row in range(dialog.keys.rowCount())}
    with_keys = [action for action in window.actions_.all if not action.shortcut().isEmpty()]
    assert dialog.keys.rowCount() == len(with_keys) > 60
    row = keys["Reject the row"]
    assert (dialog.keys.item(row, 1).text(), dialog.keys.item(row, 2).text()) == ("R", "Results")
    dialog.show_keys()
    qtbot.keyClicks(dialog.words, "reject the row")
    assert [name for name, row in keys.items() if not dialog.keys.isRowHidden(row)] == ["Reject the row"]


def test_enter_looks_for_a_key_and_does_not_close_help(qtbot: QtBot, window: MainWindow) -> None:
    dialog = window.show_help()
    dialog.show_keys()
    qtbot.keyClicks(dialog.words, "reject")
    qtbot.keyClick(dialog.words, Qt.Key.Key_Return)
    assert dialog.isVisible()


def test_help_and_offline_are_opened_once(qtbot: QtBot, window: MainWindow) -> None:
    for show in (window.show_help, window.show_offline):
        dialog = show()
        assert show() is dialog
        with qtbot.waitSignal(dialog.destroyed):
            dialog.close()
        again = show()
        assert again.isVisible()
        again.close()


def test_offline_looks_again_when_it_is_asked_for_again(qtbot: QtBot, window: MainWindow) -> None:
    panel = window.show_offline()
    qtbot.waitUntil(panel.attempt.isEnabled, timeout=WAIT)
    assert window.show_offline() is panel
    assert panel.verdict.text() == "Looking…"
    panel.close()


def test_a_right_click_offers_what_can_be_done_with_a_row(qtbot: QtBot, window: MainWindow) -> None:
    for kind, wanted in ((DocumentsPlace, "Open the document"), (ResultsPlace, "Reject the row")):
        place = next(place for place in window.places if isinstance(place, kind))
        assert place.table.contextMenuPolicy() == Qt.ContextMenuPolicy.ActionsContextMenu
        assert wanted in [action.text().replace("&", "") for action in place.table.actions()]
