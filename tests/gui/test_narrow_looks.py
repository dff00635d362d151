"""What stays readable in a narrow window, and when letters are larger: no worker is needed."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from desktop.client import WorkerClient
from desktop.documents_model import DocumentsModel
from desktop.facets import FacetsPanel
from desktop.labels import TitleLabel
from desktop.viewer import Viewer
from desktop.workspace import Workspace


@pytest.fixture
def workspace(settings: QSettings) -> Workspace:
    return Workspace(WorkerClient(), settings)


def test_what_finds_words_is_below_the_other_tools_of_a_page_that_is_narrow(qtbot: QtBot, workspace: Workspace) -> None:
    viewer = Viewer(workspace)
    qtbot.addWidget(viewer)
    viewer.setMinimumWidth(300)  # as Documents does
    viewer.resize(300, 500)
    viewer.show()
    viewer.show_document("d", 1)
    viewer._pages = 1000
    viewer._show_number()
    qtbot.waitUntil(lambda: viewer.sought.y() > viewer.layer.geometry().bottom())
    assert viewer.next_found.geometry().left() > viewer.sought.geometry().right()
    viewer.resize(900, 500)
    qtbot.waitUntil(lambda: viewer.sought.x() > viewer.layer.geometry().right())


def test_a_title_is_larger_than_other_letters_whatever_their_size(qtbot: QtBot) -> None:
    title = TitleLabel("What do you want to know?")
    qtbot.addWidget(title)
    font = title.font()
    font.setPointSizeF(20)
    title.setFont(font)  # as the app does when a person chooses larger text
    label = title.findChild(QLabel)
    assert label.font().pointSizeF() == pytest.approx(32)


def test_filters_have_room_for_larger_letters(qtbot: QtBot) -> None:
    panel = FacetsPanel()
    qtbot.addWidget(panel)
    font = panel.font()
    font.setPointSizeF(font.pointSizeF() * 2)
    panel.setFont(font)
    assert panel.minimumSizeHint().width() > panel.fontMetrics().horizontalAdvance("unknown 1,000")


def test_headings_of_documents_stand_over_their_columns(workspace: Workspace) -> None:
    model = DocumentsModel(workspace.ask, workspace.client.forget)
    role = Qt.ItemDataRole.TextAlignmentRole
    sides = {column.title: column.side for column in model.table_columns}
    shown = [model.headerData(n, Qt.Orientation.Horizontal, role) for n in range(model.columnCount())]
    assert shown == list(sides.values())
    assert sides["Pages"] & Qt.AlignmentFlag.AlignRight
    assert model.headerData(0, Qt.Orientation.Vertical, role) is None
