"""Answers about a case that is not open any more are not shown over the rows of the next: run ids are the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gui_places import open_case, open_results, place_of
from gui_waiting import WAIT
from held_answers import Held
from invented_results import make_results
from many_results import COLUMNS, make_many_results
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from desktop.places.results import ResultsPlace
from desktop.window import MainWindow
from engine.worker.contract import results, reviews
from engine.worker.contract.case import SUMMARY
from engine.worker.contract.query import Query

ROWS = 5


@pytest.fixture
def cases(tmp_path: Path) -> tuple[Path, Path]:
    """Two cases whose only run has the same id, with other columns."""
    (first, run), (second, same) = make_results(tmp_path / "a"), make_many_results(tmp_path / "second.redwell", ROWS)
    assert run == same
    return first, second


def test_the_columns_are_those_of_the_case_that_is_open(
    qtbot: QtBot, window: MainWindow, cases: tuple[Path, Path]
) -> None:
    held = Held(window, results.TABLE)
    open_results(qtbot, window, cases[0])
    qtbot.waitUntil(lambda: "invented" in held.answers, timeout=WAIT)
    place = open_results(qtbot, window, cases[1])
    qtbot.waitUntil(lambda: "second" in held.answers, timeout=WAIT)
    held.answers["invented"]()
    assert place.run == ""
    held.answers["second"]()
    qtbot.waitUntil(lambda: place.model.rowCount() == ROWS, timeout=WAIT)
    assert [column.name for column in place.model.columns] == list(COLUMNS)


def test_a_refusal_of_the_last_case_does_not_stop_the_next(
    qtbot: QtBot, window: MainWindow, cases: tuple[Path, Path]
) -> None:
    held = Held(window, results.TABLE)
    open_results(qtbot, window, cases[0])
    place = place_of(window, ResultsPlace)
    place.show_run("77")  # there is none
    qtbot.waitUntil(lambda: "invented" in held.answers, timeout=WAIT)
    open_results(qtbot, window, cases[1])
    qtbot.waitUntil(lambda: "second" in held.answers, timeout=WAIT)
    with qtbot.assertNotEmitted(window.workspace.said):
        held.answers["invented"]()
    held.answers["second"]()
    qtbot.waitUntil(lambda: place.model.rowCount() == ROWS, timeout=WAIT)


@pytest.mark.parametrize("query", [results.CHANGES, reviews.PROGRESS, results.RUNS], ids=lambda query: query.name)
def test_what_else_is_told_is_of_the_case_that_is_open(
    qtbot: QtBot, window: MainWindow, cases: tuple[Path, Path], query: Query[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    told = []
    monkeypatch.setattr(ResultsPlace, "_show_changes", lambda place, warning: told.append(place.workspace.case))
    held = Held(window, query)
    open_results(qtbot, window, cases[0])
    qtbot.waitUntil(lambda: "invented" in held.answers, timeout=WAIT)
    place = open_results(qtbot, window, cases[1])
    qtbot.waitUntil(lambda: "second" in held.answers, timeout=WAIT)
    held.answers["second"]()
    qtbot.waitUntil(lambda: place.model.rowCount() == ROWS, timeout=WAIT)
    before = (place.parts.progress.maximum(), place.parts.runs.itemText(0), list(told))
    held.answers["invented"]()
    assert (place.parts.progress.maximum(), place.parts.runs.itemText(0), list(told)) == before


def test_that_there_are_no_results_is_said_when_it_is_known(
    qtbot: QtBot, window: MainWindow, cases: tuple[Path, Path], tmp_path: Path
) -> None:
    held = Held(window, results.RUNS)
    hint = open_results(qtbot, window, cases[0]).parts._hint
    qtbot.waitUntil(lambda: "invented" in held.answers, timeout=WAIT)
    assert hint.text() == ""
    open_case(qtbot, window, tmp_path / "empty.redwell", create=True)
    window.go_to("Results")
    qtbot.waitUntil(lambda: "empty" in held.answers, timeout=WAIT)
    assert hint.text() == ""
    held.answers["empty"]()
    assert hint.text().startswith("No results yet.")


def test_nothing_of_the_last_case_stays_beside_the_next(
    qtbot: QtBot, window: MainWindow, cases: tuple[Path, Path]
) -> None:
    place = open_results(qtbot, window, cases[0])
    parts = place.parts
    qtbot.waitUntil(lambda: place.model.row(0) is not None, timeout=WAIT)
    shown: list[tuple[QWidget, Callable[[], object]]] = [
        (parts.charts, lambda: parts.charts.chart.chart.marks),
        (parts.timeline, lambda: parts.timeline.view.moments),
        (parts.network, lambda: parts.network.view.drawing.nodes),
        (parts.ledger, lambda: parts.ledger.operators.rows),
    ]
    for part, what in shown:
        parts.open_tab(part)
        qtbot.waitUntil(lambda what=what: bool(what()), timeout=WAIT)  # type: ignore[misc]
    place.review.judge("accept")
    qtbot.waitUntil(lambda: parts.said.text() != "" and "1 of" in parts.progress.text(), timeout=WAIT)
    held = Held(window, results.TABLE)
    open_results(qtbot, window, cases[1])
    assert not any(what() for _, what in shown)
    assert (parts.said.text(), parts.progress.text(), parts.ledger.sums.text()) == ("", "", "")
    qtbot.waitUntil(lambda: "second" in held.answers, timeout=WAIT)
    held.answers["second"]()
    qtbot.waitUntil(lambda: bool(parts.ledger.sums.text()), timeout=WAIT)


def test_a_cell_and_a_name_of_the_last_case_are_not_shown_in_the_next(
    qtbot: QtBot, window: MainWindow, cases: tuple[Path, Path]
) -> None:
    place = open_results(qtbot, window, cases[0])
    evidence, names = place.evidence, place.names
    qtbot.waitUntil(lambda: place.model.row(0) is not None, timeout=WAIT)
    place.table.go_to(0, 1)
    with qtbot.waitSignal(evidence.shown, timeout=WAIT):
        place.open_evidence()
    place.show_name()
    qtbot.waitUntil(lambda: names.tree.topLevelItemCount() > 0, timeout=WAIT)
    assert evidence._value.toPlainText()
    Held(window, results.TABLE)
    open_results(qtbot, window, cases[1])
    texts = (evidence._title.text(), evidence._value.toPlainText(), evidence._where.text())
    assert (texts, evidence._places) == (("", "", ""), [])
    assert (names._name, names.tree.topLevelItemCount(), names.other.count()) == ("", 0, 0)


def test_what_is_counted_is_of_the_case_that_is_open(
    qtbot: QtBot, window: MainWindow, cases: tuple[Path, Path]
) -> None:
    held = Held(window, SUMMARY)
    open_results(qtbot, window, cases[0])
    window.workspace.job.finished.emit(0)
    qtbot.waitUntil(lambda: "invented" in held.answers, timeout=WAIT)
    open_results(qtbot, window, cases[1])
    held.answers["invented"]()
    assert window.workspace.summary.path == str(cases[1])
