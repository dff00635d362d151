"""Answers about a case that is not open any more are not shown over the rows of the next: run ids are the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gui_waiting import WAIT
from held_answers import Held
from invented_results import make_results
from many_results import COLUMNS, make_many_results
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


def open_case(qtbot: QtBot, window: MainWindow, path: Path) -> ResultsPlace:
    with qtbot.waitSignal(window.workspace.case_opened, timeout=WAIT):
        window.workspace.open_case(str(path))
    window.go_to("Results")
    return next(place for place in window.places if isinstance(place, ResultsPlace))


def test_the_columns_are_those_of_the_case_that_is_open(
    qtbot: QtBot, window: MainWindow, cases: tuple[Path, Path]
) -> None:
    held = Held(window, results.TABLE)
    open_case(qtbot, window, cases[0])
    qtbot.waitUntil(lambda: "invented" in held.answers, timeout=WAIT)
    place = open_case(qtbot, window, cases[1])
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
    open_case(qtbot, window, cases[0])
    place = next(place for place in window.places if isinstance(place, ResultsPlace))
    place.show_run("77")  # there is none
    qtbot.waitUntil(lambda: "invented" in held.answers, timeout=WAIT)
    open_case(qtbot, window, cases[1])
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
    open_case(qtbot, window, cases[0])
    qtbot.waitUntil(lambda: "invented" in held.answers, timeout=WAIT)
    place = open_case(qtbot, window, cases[1])
    qtbot.waitUntil(lambda: "second" in held.answers, timeout=WAIT)
    held.answers["second"]()
    qtbot.waitUntil(lambda: place.model.rowCount() == ROWS, timeout=WAIT)
    before = (place.parts.progress.maximum(), place.parts.runs.itemText(0), list(told))
    held.answers["invented"]()
    assert (place.parts.progress.maximum(), place.parts.runs.itemText(0), list(told)) == before


def test_nothing_of_the_last_case_stays_beside_the_next(
    qtbot: QtBot, window: MainWindow, cases: tuple[Path, Path]
) -> None:
    place = open_case(qtbot, window, cases[0])
    parts = place.parts
    qtbot.waitUntil(lambda: place.model.row(0) is not None, timeout=WAIT)
    shown: list[tuple[Callable[[], None], Callable[[], object]]] = [
        (parts.show_charts, lambda: parts.charts.chart.chart.marks),
        (parts.show_timeline, lambda: parts.timeline.view.moments),
        (parts.show_network, lambda: parts.network.view.drawing.nodes),
        (parts.show_ledger, lambda: parts.ledger.operators.rows),
    ]
    for show, what in shown:
        show()
        qtbot.waitUntil(lambda what=what: bool(what()), timeout=WAIT)  # type: ignore[misc]
    place.review.judge("accept")
    qtbot.waitUntil(lambda: parts.said.text() != "" and "1 of" in parts.progress.text(), timeout=WAIT)
    held = Held(window, results.TABLE)
    open_case(qtbot, window, cases[1])
    assert not any(what() for _, what in shown)
    assert (parts.said.text(), parts.progress.text(), parts.ledger.sums.text()) == ("", "", "")
    qtbot.waitUntil(lambda: "second" in held.answers, timeout=WAIT)
    held.answers["second"]()
    qtbot.waitUntil(lambda: bool(parts.ledger.sums.text()), timeout=WAIT)


def test_what_is_counted_is_of_the_case_that_is_open(
    qtbot: QtBot, window: MainWindow, cases: tuple[Path, Path]
) -> None:
    held = Held(window, SUMMARY)
    open_case(qtbot, window, cases[0])
    window.workspace.job.finished.emit(0)
    qtbot.waitUntil(lambda: "invented" in held.answers, timeout=WAIT)
    open_case(qtbot, window, cases[1])
    held.answers["invented"]()
    assert window.workspace.summary.path == str(cases[1])
