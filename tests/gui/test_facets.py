"""The filters beside the table of documents: they stay where they are while counts change."""

from __future__ import annotations

from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from desktop.facets import FacetsPanel
from engine.worker.contract.documents import Facets


def facets(first: int, count: int) -> Facets:
    """Twenty years, each with as many documents."""
    years = tuple((year, count) for year in range(first, 2021))
    return Facets(kinds=(("pdf", count), ("text", count)), tags=(), years=years, starred=0)


def shown(qtbot: QtBot) -> FacetsPanel:
    """Show more filters than there is room for, the last of which has the keyboard."""
    panel = FacetsPanel()
    qtbot.addWidget(panel)
    panel.resize(220, 160)
    panel.show()
    panel.activateWindow()
    panel.setFocus()
    qtbot.waitUntil(panel.hasFocus)
    panel.show_counts(facets(2001, 3))
    qtbot.waitUntil(lambda: panel.verticalScrollBar().maximum() > 0)
    panel.setCurrentItem(panel._boxes()[-1])
    panel.verticalScrollBar().setValue(panel.verticalScrollBar().maximum() - 1)
    return panel


def test_other_counts_leave_the_place_and_the_keyboard(qtbot: QtBot) -> None:
    panel = shown(qtbot)
    place = panel.verticalScrollBar().value()
    assert place > 0
    panel.currentItem().setCheckState(0, Qt.CheckState.Checked)
    panel.show_counts(facets(2001, 7))
    assert panel.chosen() == {"years": [2020]}
    assert panel.verticalScrollBar().value() == place
    assert (panel.currentItem().text(0), panel.currentItem().text(1)) == ("2020", "7")


def test_other_filters_leave_the_place_and_the_keyboard(qtbot: QtBot) -> None:
    panel = shown(qtbot)
    place = panel.verticalScrollBar().value()
    panel.show_counts(facets(2000, 7))
    assert [box.text(0) for box in panel._boxes()][2] == "2000"
    assert panel.verticalScrollBar().value() == place
    assert (panel.currentItem().text(0), panel.currentItem().text(1)) == ("2020", "7")
    panel.clearFocus()
    panel.show_counts(facets(2001, 1))
    assert panel.currentItem() is None, "a box looks chosen that nobody is at"
