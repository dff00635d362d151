"""What is open beside the table of results, and keys for its rows, are about what a person sees and chose last."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from gui_places import open_results
from gui_waiting import WAIT
from held_answers import Held
from invented_results import COLUMNS, PIPELINE
from many_results import make_two_runs
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QComboBox
from pytestqt.qtbot import QtBot

from desktop.chart_view import Chart, ChartView, Mark
from desktop.charts_panel import ChartsPanel
from desktop.network_view import NetworkView
from desktop.places.results import ResultsPlace
from desktop.results_layout import run_text
from desktop.timeline_view import TimelineView
from desktop.window import MainWindow
from engine.custody.recording import record_results
from engine.worker.contract import charts, ledger, network
from engine.worker.contract import results as contract
from engine.worker.contract.names import NamePlace, NamesChanged
from engine.worker.contract.results import RunEntry
from storage.case import Case

OWN_KEYS = ("J", "K", "A", "E", "R", "N", "U")


def go(place: ResultsPlace, row: int, column: str) -> None:
    place.table.go_to(row, [each.name for each in place.model.columns].index(column) + 1)


def settle(qtbot: QtBot, place: ResultsPlace) -> None:
    """Wait until nothing follows the current cell, and nothing is on its way."""
    client = place.workspace.client
    qtbot.waitUntil(lambda: not place._follow.isActive() and not client.waiting, timeout=WAIT)


def open_evidence(qtbot: QtBot, place: ResultsPlace, row: int, column: str) -> str:
    """Open the evidence of a cell, and return its document."""
    go(place, row, column)
    with qtbot.waitSignals([place.evidence.shown, place.evidence.viewer.page_shown], timeout=WAIT):
        place.table.clicked.emit(place.table.currentIndex())
    settle(qtbot, place)
    return place.evidence.viewer.document


def test_a_place_of_a_name_that_is_clicked_stays_open(qtbot: QtBot, place: ResultsPlace) -> None:
    document = open_evidence(qtbot, place, 0, "officer")
    assert place.evidence.viewer.page == 2
    place.show_name()
    settle(qtbot, place)
    with qtbot.waitSignal(place.evidence.viewer.page_shown, timeout=WAIT):
        place.names.place_wanted.emit(NamePlace(document, "a.pdf", 1, first_line=1, last_line=1, quote=""))
    qtbot.wait(300)
    settle(qtbot, place)
    assert (place.evidence.viewer.document, place.evidence.viewer.page) == (document, 1)


def test_keys_for_rows_are_free_while_the_rows_are_not_seen(place: ResultsPlace, window: MainWindow) -> None:
    own = [action for action in window.actions_.all if action.shortcut().toString() in OWN_KEYS]
    assert len(own) == len(OWN_KEYS)
    for part in (place.parts.charts, place.parts.timeline, place.parts.network, place.parts.ledger):
        place.parts.open_tab(part)
        assert not any(action.isEnabled() for action in own)
    place.parts.open_tab(place.parts.rows)
    assert all(action.isEnabled() for action in own)
    place.parts.open_tab(place.parts.charts)
    window.go_to("Documents")
    place.parts.open_tab(place.parts.rows)
    assert not any(action.isEnabled() for action in own)


def test_the_evidence_is_that_of_the_current_cell_again_when_the_rows_are_seen(
    qtbot: QtBot, place: ResultsPlace
) -> None:
    open_evidence(qtbot, place, 0, "officer")
    place.parts.open_tab(place.parts.timeline)
    with qtbot.waitSignal(place.evidence.shown, timeout=WAIT) as shown:
        place.parts.timeline.picked.emit("row4", "date", "")
    assert shown.args == ["row4", "date"]
    with qtbot.waitSignal(place.evidence.shown, timeout=WAIT) as shown:
        place.parts.open_tab(place.parts.rows)
    assert shown.args == ["row0", "officer"]


def test_the_document_of_the_current_cell_is_shown(qtbot: QtBot, place: ResultsPlace, window: MainWindow) -> None:
    first = open_evidence(qtbot, place, 0, "officer")
    go(place, 1, "officer")  # its evidence follows in a moment
    with qtbot.waitSignal(window.workspace.document_wanted, timeout=WAIT) as wanted:
        place.open_document()
    second = wanted.args[0]
    assert second != first
    window.go_to("Results")
    settle(qtbot, place)
    place.evidence.closed.emit()
    go(place, 2, "officer")
    with qtbot.waitSignal(window.workspace.document_wanted, timeout=WAIT) as wanted:
        place.open_document()
    assert wanted.args[0] not in (first, second)
    assert wanted.args[1:] == [2, 2]


@pytest.mark.parametrize(
    ("column", "told"), [("days", "This value has no place in a document."), ("", "No cell is chosen.")]
)
def test_where_there_is_no_document_to_show_that_is_said(
    qtbot: QtBot, place: ResultsPlace, window: MainWindow, column: str, told: str
) -> None:
    place.table.setCurrentIndex(place.model.index(4, 4 if column else 0))
    with qtbot.waitSignal(window.workspace.said, timeout=WAIT) as said:
        place.open_document()
    assert said.args[0] == told
    assert window.current is place


def test_a_run_that_cannot_be_shown_is_not_named_above_the_rows_of_another(
    qtbot: QtBot, place: ResultsPlace, window: MainWindow
) -> None:
    settle(qtbot, place)
    with qtbot.waitSignal(window.workspace.said, timeout=WAIT):
        place.show_run("77")  # there is none
    assert place.parts.runs.currentData() == place.run


def test_a_run_that_cannot_be_shown_does_not_keep_another_from_being_shown(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    path, first = make_two_runs(tmp_path / "two")
    place = open_results(qtbot, window, path)
    qtbot.waitUntil(lambda: place.run not in ("", first), timeout=WAIT)
    settle(qtbot, place)
    held = Held(window, contract.TABLE)
    place.show_run("77")  # there is none
    qtbot.waitUntil(lambda: bool(held.answers), timeout=WAIT)
    refuse = held.answers.pop("invented")
    place.show_run(first)
    qtbot.waitUntil(lambda: bool(held.answers), timeout=WAIT)
    refuse()
    held.answers.pop("invented")()
    assert place.run == first


def test_how_far_the_review_of_the_run_before_is_is_not_shown(
    place: ResultsPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    forgotten: list[str] = []
    place.review.changed()
    asked = place.review._asked
    with monkeypatch.context() as patched:
        patched.setattr(place.workspace.client, "forget", forgotten.append)
        place.review.changed()
    assert asked in forgotten


def test_a_decision_about_a_name_brings_no_name_back_that_is_not_shown_any_more(place: ResultsPlace) -> None:
    place.names.clear("days: Redwell has not joined names in this column.")
    place.names._decided(NamesChanged("a.yaml", rows=0, mixed=0))
    assert place.names._title.text().startswith("days:")


def test_rows_of_a_chart_of_one_document_are_of_that_document(qtbot: QtBot, place: ResultsPlace) -> None:
    settle(qtbot, place)
    document = open_evidence(qtbot, place, 2, "officer")
    place.charts.picked.emit("officer", "Ana Ruiz", document)
    qtbot.waitUntil(lambda: place.model.rowCount() == 1, timeout=WAIT)
    place.charts.picked.emit("officer", "Ana Ruiz", "")  # a bar of the rows that are shown
    settle(qtbot, place)
    assert place.model.rowCount() == 1


def test_runs_are_named_by_the_time_of_this_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "JST-9")
    time.tzset()
    run = RunEntry("1", "Who (run 1)", "2024-03-04T20:30:00.000+00:00", 1)
    assert run_text(run) == "Who (run 1), 2024-03-05 05:30, 1 row"
    monkeypatch.undo()
    time.tzset()


def test_a_question_that_was_not_asked_again_shows_no_other_run(
    qtbot: QtBot, place: ResultsPlace, window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []
    monkeypatch.setattr(place, "show_run", shown.append)
    place.answers.asked.emit()
    window.workspace.client.problem.emit("The question is gone.", "")
    window.workspace.run_finished.emit("77")
    assert shown == []
    place.answers.asked.emit()
    window.workspace.case_opened.emit(window.workspace.case)
    assert not place._asked_again


def test_a_heading_is_folded_once_whatever_a_click_means_on_a_desktop(qtbot: QtBot, place: ResultsPlace) -> None:
    table, model = place.table, place.model
    place.groups.choose("officer")
    qtbot.waitUntil(lambda: model.rowCount() == 9 and model.heading(0) is not None, timeout=WAIT)
    heading = model.index(0, 1)
    table.clicked.emit(heading)
    table.activated.emit(heading)  # where one click activates, both come
    assert model.question()["grouping"]["others"] == ["Ana Ruiz"]
    qtbot.waitUntil(lambda: model.rowCount() == 6, timeout=WAIT)
    table.go_to(0, 1)
    QTest.keyClick(table, Qt.Key.Key_Return)
    assert model.question()["grouping"]["others"] == []
    qtbot.waitUntil(lambda: model.rowCount() == 9, timeout=WAIT)
    assert not place.parts.side_is_open


def test_nothing_is_said_of_rows_before_they_are_counted(qtbot: QtBot, place: ResultsPlace, window: MainWindow) -> None:
    settle(qtbot, place)
    below = place.parts._below
    held = Held(window, contract.PAGE)
    place.table.set_filter("officer", "harmon")
    qtbot.waitUntil(lambda: bool(held.answers), timeout=WAIT)
    place.table.hide_column("acts")
    assert not below.isVisible()
    held.answers.pop("invented")()
    assert place.parts.tabs.tabText(0) == "3 rows"
    place.table.set_filter("officer", "nobody")
    qtbot.waitUntil(lambda: bool(held.answers), timeout=WAIT)
    assert not below.isVisible()
    held.answers.pop("invented")()
    assert below.isVisible()
    assert "No row fits the filters" in below.text()


def test_the_ledger_says_that_nothing_failed_when_it_knows(
    qtbot: QtBot, place: ResultsPlace, window: MainWindow
) -> None:
    panel = place.parts.ledger
    held = Held(window, ledger.PAGE)
    place.parts.open_tab(place.parts.ledger)
    qtbot.waitUntil(lambda: bool(held.answers), timeout=WAIT)
    assert panel.hint.text() == ""
    held.answers.pop("invented")()
    assert panel.hint.text() == "Nothing failed."
    panel.fate.setCurrentIndex(1)
    assert panel.hint.text() == ""
    qtbot.waitUntil(lambda: bool(held.answers), timeout=WAIT)
    held.answers.pop("invented")()
    assert panel.hint.text() == "Nothing was left out."
    place.parts.open_tab(place.parts.rows)
    place.parts.open_tab(place.parts.ledger)
    assert panel.hint.text() == "Nothing was left out.", "it is asked for again, and stays until the answer comes"


def test_a_mark_that_stands_for_no_rows_picks_none(qtbot: QtBot) -> None:
    view = ChartView()
    qtbot.addWidget(view)
    for mark, picked in ((Mark("2019", 3, ""), []), (Mark("Ana", 3, "Ana"), [("Ana", "")])):
        told: list[tuple[str, str]] = []
        view.picked.connect(lambda value, document, told=told: told.append((value, document)))
        view.show_chart(Chart("bars", "", (mark,)))
        QTest.keyClick(view, Qt.Key.Key_Down)
        QTest.keyClick(view, Qt.Key.Key_Return)
        assert told == picked


def test_the_mark_that_the_keyboard_is_at_is_in_sight(qtbot: QtBot, window: MainWindow) -> None:
    panel = ChartsPanel(window.workspace, dict)
    qtbot.addWidget(panel)
    panel.resize(700, 300)
    panel.show()
    chart = panel.chart
    chart.show_chart(Chart("bars", "officer", tuple(Mark(f"Officer {n}", 1, f"Officer {n}") for n in range(40))))
    qtbot.waitUntil(lambda: chart.height() > 1000)
    for _ in range(40):
        QTest.keyClick(chart, Qt.Key.Key_Down)
    last = chart._area(39, float(chart.width())).center().toPoint()
    assert chart.visibleRegion().contains(last)


@pytest.mark.parametrize("kind", [ChartView, TimelineView, NetworkView])
def test_what_is_drawn_shows_that_it_has_the_keyboard(
    qtbot: QtBot, kind: type[ChartView | TimelineView | NetworkView]
) -> None:
    view = kind()
    qtbot.addWidget(view)
    view.resize(600, 400)
    view.show()
    view.activateWindow()
    view.setFocus()
    qtbot.waitUntil(view.hasFocus)
    focused = view.grab().toImage()
    view.clearFocus()
    assert view.grab().toImage() != focused


def test_nothing_is_told_of_a_picture_that_is_on_its_way(qtbot: QtBot, place: ResultsPlace) -> None:
    place.parts.clear()
    for view in (place.charts.chart, place.parts.timeline.view):
        assert view.accessibleDescription() == ""


def choose(box: QComboBox, text: str) -> None:
    box.setCurrentText(text)
    box.activated.emit(box.currentIndex())


def test_a_mark_is_of_the_column_that_the_chart_shows_while_another_is_counted(
    qtbot: QtBot, place: ResultsPlace, window: MainWindow
) -> None:
    with qtbot.waitSignal(place.charts.drawn, timeout=WAIT):
        place.parts.open_tab(place.charts)
    held = Held(window, charts.VALUES)
    choose(place.charts.column, "days")
    qtbot.waitUntil(lambda: bool(held.answers), timeout=WAIT)
    with qtbot.waitSignal(place.charts.picked, timeout=WAIT) as picked:
        QTest.keyClick(place.charts.chart, Qt.Key.Key_Down)
        QTest.keyClick(place.charts.chart, Qt.Key.Key_Return)
    assert picked.args == ["officer", "Ana Ruiz", ""]


def test_nothing_is_picked_in_a_network_while_another_is_on_its_way(
    qtbot: QtBot, place: ResultsPlace, window: MainWindow
) -> None:
    network_panel = place.parts.network
    with qtbot.waitSignal(network_panel.drawn, timeout=WAIT):
        place.parts.open_tab(network_panel)
    assert network_panel.view.drawing.nodes
    held = Held(window, network.SHOW)
    choose(network_panel._kinds["officer"], "Other things")
    qtbot.waitUntil(lambda: bool(held.answers), timeout=WAIT)
    assert not network_panel.view.drawing.nodes
    assert "being drawn" in network_panel.view.hint


def test_the_evidence_of_another_run_is_not_beside_a_run_without_rows(
    qtbot: QtBot, place: ResultsPlace, window: MainWindow
) -> None:
    open_evidence(qtbot, place, 0, "officer")
    with Case(Path(window.workspace.case)) as case:
        run = case.runs.start(pipeline_yaml=PIPELINE, pipeline_digest="none", model_name="scripted")
        case.runs.save_results(run, COLUMNS, [])
        record_results(case, run)
        case.runs.finish(run, "finished")
    place.show_run(run)
    qtbot.waitUntil(lambda: place.run == run, timeout=WAIT)
    settle(qtbot, place)
    assert "found nothing" in place.parts._hint.text()
    assert place.parts.side is place.evidence
    assert not place.evidence._value.toPlainText() and not place.evidence.viewer.document
