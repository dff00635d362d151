"""What is given up when a place is left is asked for again when it is entered."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from gui_places import open_results, place_of
from gui_waiting import WAIT
from held_answers import Held
from invented_results import make_results
from many_results import make_many_results
from PySide6.QtCore import QObject, Signal
from pytestqt.qtbot import QtBot

from desktop.answers_panel import AnswersPanel
from desktop.paged_model import PAGE_ROWS
from desktop.places.documents import DocumentsPlace
from desktop.places.results import ResultsPlace
from desktop.window import MainWindow
from desktop.workspace import Workspace
from engine.worker.contract import ledger, network, pages, results, timeline
from engine.worker.contract.answers import ShownAnswer
from engine.worker.contract.charts import VALUES
from engine.worker.contract.query import Query
from storage.case import Case
from storage.ledger import FateRecord

MANY = 2 * PAGE_ROWS + 50


def settle(qtbot: QtBot, place: ResultsPlace) -> None:
    """Wait until nothing follows the current cell, and nothing is on its way."""
    client = place.workspace.client
    qtbot.waitUntil(lambda: not place._follow.isActive() and not client.waiting, timeout=WAIT)


def test_rows_that_were_on_their_way_come(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    path, _ = make_results(tmp_path / "made")
    held = Held(window, results.PAGE)
    place = open_results(qtbot, window, path)
    qtbot.waitUntil(lambda: bool(held.answers), timeout=WAIT)
    window.go_to("Documents")
    held.answers.clear()
    window.go_to("Results")
    qtbot.waitUntil(lambda: bool(held.answers), timeout=WAIT)
    held.answers.pop("invented")()
    assert place.model.rowCount() == 6


@pytest.mark.parametrize(
    ("query", "part"),
    [
        (VALUES, "charts"),
        (timeline.SHOW, "timeline"),
        (network.SHOW, "network"),
        (ledger.SUMS, "ledger"),
        (ledger.PAGE, "ledger"),
    ],
    ids=str,
)
def test_what_was_being_counted_is_counted(
    qtbot: QtBot, window: MainWindow, place: ResultsPlace, query: Query[Any], part: str
) -> None:
    held = Held(window, query)
    place.parts.open_tab(getattr(place.parts, part))
    qtbot.waitUntil(lambda: bool(held.answers), timeout=WAIT)
    window.go_to("Documents")
    held.answers.clear()
    window.go_to("Results")
    qtbot.waitUntil(lambda: bool(held.answers), timeout=WAIT)


def test_the_entries_of_the_ledger_stay_where_they_are(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    path, run = make_results(tmp_path / "made")
    with Case(path) as case:
        case.ledger.save_fates(run, "find", [FateRecord("found3", "failed", error="no end", advice="Ask for less.")])
    place = open_results(qtbot, window, path)
    qtbot.waitUntil(lambda: place.model.result(5) is not None, timeout=WAIT)
    panel = place.parts.ledger
    place.parts.open_tab(place.parts.ledger)
    qtbot.waitUntil(lambda: panel.entries.row(0) is not None, timeout=WAIT)
    settle(qtbot, place)
    with qtbot.assertNotEmitted(panel.entries.modelReset):
        window.go_to("Documents")
        window.go_to("Results")
        settle(qtbot, place)


def test_the_evidence_of_the_current_cell_is_asked_for(qtbot: QtBot, window: MainWindow, place: ResultsPlace) -> None:
    settle(qtbot, place)
    held = Held(window, results.CELL)
    place.table.go_to(0, 1)
    place.open_evidence()
    qtbot.waitUntil(lambda: bool(held.answers), timeout=WAIT)
    window.go_to("Documents")
    held.answers.clear()
    window.go_to("Results")
    qtbot.waitUntil(lambda: bool(held.answers), timeout=WAIT)
    with qtbot.waitSignal(place.evidence.viewer.page_shown, timeout=WAIT):
        held.answers.pop("invented")()
    assert place.evidence.viewer.page == 2


def documents_of(qtbot: QtBot, window: MainWindow) -> tuple[DocumentsPlace, str]:
    """Return the place with the documents, and the id of a PDF."""
    place = place_of(window, DocumentsPlace)
    window.go_to("Documents")
    qtbot.waitUntil(lambda: place.model.row(0) is not None, timeout=WAIT)
    rows = (place.model.row(number) for number in range(place.model.rowCount()))
    return place, next(row.id for row in rows if row is not None and row.kind == "pdf")


@pytest.mark.parametrize(("query", "shown"), [(pages.LINES, "page_shown"), (pages.PICTURE, "picture_shown")])
def test_what_a_page_shows_is_asked_for(qtbot: QtBot, opened: MainWindow, query: Query[Any, Any], shown: str) -> None:
    place, document = documents_of(qtbot, opened)
    held = Held(opened, query)
    place.show_document(document)
    qtbot.waitUntil(lambda: bool(held.answers), timeout=WAIT)
    opened.go_to("Start")
    held.answers.clear()
    opened.go_to("Documents")
    qtbot.waitUntil(lambda: bool(held.answers), timeout=WAIT)
    with qtbot.waitSignal(getattr(place.viewer, shown), timeout=WAIT):
        held.answers.pop("sample")()
    assert query is pages.PICTURE or place.viewer.view.lines


def test_the_evidence_waits_for_the_row_of_the_current_cell(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    path, _ = make_many_results(tmp_path / "many.redwell", MANY)
    place = open_results(qtbot, window, path)
    qtbot.waitUntil(lambda: place.model.result(0) is not None, timeout=WAIT)
    place.table.go_to(0, 1)
    place.open_evidence()
    settle(qtbot, place)
    held = Held(window, results.PAGE)
    place.table.go_to(MANY - 10, 1)
    qtbot.waitUntil(lambda: bool(held.answers) and not place._follow.isActive(), timeout=WAIT)
    with qtbot.waitSignal(place.evidence.shown, timeout=WAIT) as shown:
        held.answers.pop("many")()
    assert shown.args == [f"row{MANY - 10}", "officer"]


class Asked(QObject):
    """A workspace and its worker that answers nothing by itself."""

    read_only = ""
    told = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.client = self
        self.rows: list[str] = []
        self.then: Any = None

    def ask(self, query: Query[Any], then: Any, failed: Any = None, **given: Any) -> str:
        self.rows.append(given["row"])
        self.then = then
        return f"q{len(self.rows)}"

    def forget(self, id: str) -> None:
        self.then = None if id == f"q{len(self.rows)}" else self.then


def test_answers_of_a_row_that_were_given_up_are_not_those_of_the_row_before(qtbot: QtBot) -> None:
    asked = Asked()
    panel = AnswersPanel(cast(Workspace, asked))
    qtbot.addWidget(panel)
    panel.show_row("1", "row0", "rent")
    asked.then((ShownAnswer("answer", "rent", "How much?", "", "900", "found", "", "", (), 1, ""),))
    panel.show_row("1", "row0", "rent")  # it is here
    panel.show_row("1", "row1", "rent")
    panel.stop()
    panel.show_row("1", "row1", "rent")
    assert asked.rows == ["row0", "row1", "row1"]
