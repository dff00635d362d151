"""What is taken back with Ctrl+Z is named: a decision about names, and an edit of another run."""

from __future__ import annotations

from pathlib import Path

import pytest
from gui_places import open_results
from gui_waiting import WAIT
from many_results import make_two_runs
from PySide6.QtCore import QItemSelectionModel
from pytestqt.qtbot import QtBot

from desktop.places.results import ResultsPlace
from desktop.window import MainWindow


@pytest.fixture
def place(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> ResultsPlace:
    path, first = make_two_runs(tmp_path / "made")
    place = open_results(qtbot, window, path)
    show(qtbot, place, first, 6)
    return place


def show(qtbot: QtBot, place: ResultsPlace, run: str, rows: int) -> None:
    place.show_run(run)
    qtbot.waitUntil(
        lambda: place.run == run and place.model.rowCount() == rows and place.model.result(0) is not None, timeout=WAIT
    )


def test_a_merge_of_names_is_taken_back_and_what_stays_is_said(
    qtbot: QtBot, place: ResultsPlace, window: MainWindow
) -> None:
    officer = lambda row: place.model.index(row, 1).data()  # noqa: E731
    place.table.go_to(4, 1)
    place.table.selectionModel().setCurrentIndex(place.model.index(0, 1), QItemSelectionModel.SelectionFlag.Select)
    place.merge_selected()
    qtbot.waitUntil(lambda: officer(4) == "Daniel Harmon", timeout=WAIT)
    place.undo()
    qtbot.waitUntil(lambda: officer(4) == "Michael Harmon", timeout=WAIT)
    qtbot.waitUntil(lambda: place.parts.said.text() == "Undone: the other name in row 5.", timeout=WAIT)
    assert "The question still has your decision" in window.messages.text
    assert "same_as" in next(place_of_questions(window).glob("*.yaml")).read_text(encoding="utf-8")
    place.redo()
    qtbot.waitUntil(lambda: place.parts.said.text() == "Redone: the other name in row 5.", timeout=WAIT)


def place_of_questions(window: MainWindow) -> Path:
    case = Path(window.workspace.case)
    return next(folder for folder in case.parent.iterdir() if folder.is_dir() and any(folder.glob("*.yaml")))


def test_an_edit_of_another_run_is_told_with_that_run(qtbot: QtBot, place: ResultsPlace) -> None:
    place.table.go_to(4, 1)
    place.review.judge("accept")
    qtbot.waitUntil(lambda: place.parts.said.text().startswith("Row 5 is accepted"), timeout=WAIT)
    show(qtbot, place, "2", 2)
    place.undo()
    qtbot.waitUntil(lambda: place.parts.said.text() == "Undone: accepting a row, in run 1.", timeout=WAIT)
    place.redo()
    qtbot.waitUntil(lambda: place.parts.said.text() == "Redone: accepting a row, in run 1.", timeout=WAIT)


def test_taking_a_verdict_back_says_what_stays(qtbot: QtBot, place: ResultsPlace) -> None:
    place.table.go_to(0, 1)
    place.review.judge("accept")
    qtbot.waitUntil(lambda: place.parts.said.text().startswith("Row 1 is accepted"), timeout=WAIT)
    place.table.go_to(0, 1)
    place.review.judge("clear")
    told = "The verdict on row 1 is taken back. What was said of single cells stays."
    qtbot.waitUntil(lambda: place.parts.said.text() == told, timeout=WAIT)
