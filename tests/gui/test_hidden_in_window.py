"""Text that is in a file and that its pages do not show: marked on the page, a filter, a warning before an export."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from PySide6.QtCore import QSettings, Qt
from pytestqt.qtbot import QtBot

from desktop.client import WorkerClient
from desktop.documents_model import COLUMNS, DocumentsModel
from desktop.facets import FacetsPanel
from desktop.page_view import PageView, ViewLine, lay_out
from desktop.places.export import ExportPlace
from desktop.plain_text import plain
from desktop.workspace import Workspace
from engine.worker.contract.documents import Facets, ListedDocument
from engine.worker.contract.results import HiddenNote

NO_FACETS = Facets(kinds=(), tags=(), years=(), starred=0)


def test_a_dashed_box_stands_around_hidden_lines_and_says_how_they_are_hidden(qtbot: QtBot) -> None:
    view = PageView()
    qtbot.addWidget(view)
    lines = [
        ViewLine(1, "seen", (10, 10, 60, 20)),
        ViewLine(2, "<b>John</b>", (10, 30, 60, 40), "covered"),
        ViewLine(3, "left", (-300, 50, -200, 60), "off_page"),
    ]
    view.show_page(200, 100, lines, is_text=False)
    boxed, outside = view.hidden_boxes
    assert boxed.pen().style() == Qt.PenStyle.DashLine
    assert boxed.rect().getRect() == (10, 30, 50, 10)
    assert boxed.toolTip() == "Line 2: text that the page does not show, under a box or a picture."
    assert 0 <= outside.rect().left() < outside.rect().right() <= 200
    view.show_page(200, 100, lines[:1], is_text=False)
    assert view.hidden_boxes == []


def test_hidden_lines_of_a_file_without_pages_are_marked_too(qtbot: QtBot) -> None:
    view = PageView()
    qtbot.addWidget(view)
    lines, width, height = lay_out([(1, "seen", None), (2, "off the books", "invisible")])
    view.show_page(width, height, lines, is_text=True)
    (box,) = view.hidden_boxes
    assert box.rect().top() == lines[1].box[1]
    assert box.toolTip() == "Line 2: text that the page does not show, invisible."


def test_hidden_text_and_what_was_not_read_are_filters(qtbot: QtBot) -> None:
    facets = FacetsPanel()
    qtbot.addWidget(facets)
    facets.show_counts(NO_FACETS)
    assert facets._boxes() == []
    facets.show_counts(replace(NO_FACETS, hidden=(("covered", 14), ("white", 1)), warned=2))
    assert [(box.text(0), box.text(1)) for box in facets._boxes()] == [
        ("Read only in part", "2"),
        ("Text under redactions", "14 pages"),
        ("Text in its background's colour", "1 page"),
    ]
    for box in facets._boxes()[:2]:
        box.setCheckState(0, Qt.CheckState.Checked)
    assert facets.chosen() == {"warned": True, "hidden": ["covered"]}


def test_notes_about_a_document_are_counted_and_listed() -> None:
    row = ListedDocument(
        id="a", name="a.xlsx", kind="xlsx", pages=1, lines=3, size_bytes=9, ocr_pages=0, language="en", year=None,
        copies=1, tags=(), starred=False, path="a.xlsx", warnings=("sheet <b>x</b>", "two"),
    )  # fmt: skip
    assert COLUMNS["text"].text(row) == "text (2 notes)"
    model = DocumentsModel(lambda *asked, **given: "", lambda id: None)
    column, tip = list(COLUMNS).index("text"), Qt.ItemDataRole.ToolTipRole
    assert model.cell(row, column, tip) == plain("sheet <b>x</b>\ntwo")
    assert model.cell(replace(row, warnings=()), column, tip) is None


class Questions(WorkerClient):
    """Notes what it is asked; nobody answers."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def ask(self, query: Any, *then: Any, **given: Any) -> str:
        self.asked.append((query if isinstance(query, str) else query.name, given))
        return ""


def test_a_warning_stands_above_the_export_button(qtbot: QtBot, tmp_path: Path) -> None:
    client = Questions()
    settings = QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat)
    place = ExportPlace(Workspace(client, settings))
    qtbot.addWidget(place)
    place.show()
    place.runs.addItem("Run 1", "1")
    assert client.asked[-1] == ("results.hidden", {"case": "", "run": "1"})
    assert not place.hidden_note.isVisible()
    place._show_hidden(HiddenNote("1", "1 value rests on text that no reader of its page sees: a.pdf, page 1"))
    assert place.hidden_note.isVisible()
    assert place.hidden_note.text().endswith("a.pdf, page 1.")
    place._show_hidden(HiddenNote("1", ""))
    assert not place.hidden_note.isVisible()
