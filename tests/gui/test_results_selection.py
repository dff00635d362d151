"""What is selected in Results beyond the rows that are here: all of it is judged and exported, or it is said."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from gui_places import open_results, place_of
from gui_waiting import WAIT
from held_answers import Held
from many_results import make_many_results
from PySide6.QtCore import QItemSelectionModel, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from desktop.paged_model import PAGE_ROWS
from desktop.places.export import ExportPlace
from desktop.places.results import ResultsPlace
from desktop.window import MainWindow
from engine.worker.contract import results

MANY = 2 * PAGE_ROWS + 50


@pytest.fixture
def place(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> ResultsPlace:
    """The table of more rows than come at once."""
    path, _ = make_many_results(tmp_path / "many.redwell", MANY)
    place = open_results(qtbot, window, path)
    qtbot.waitUntil(lambda: place.model.result(0) is not None, timeout=WAIT)
    return place


def select_all(place: ResultsPlace) -> None:
    place.table.setFocus()
    QTest.keyClick(place.table, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)


def export_selected(qtbot: QtBot, window: MainWindow, file: Path, rows: int) -> list[dict[str, str]]:
    window.go_to("Export")
    export = place_of(window, ExportPlace)
    qtbot.waitUntil(lambda: f"({rows:,})" in export.only_selected.text() and export.start.isEnabled(), timeout=WAIT)
    export.only_selected.setChecked(True)
    export.file.setText(str(file))
    with qtbot.waitSignal(window.workspace.job.finished, timeout=WAIT):
        export.export()
    with file.open(encoding="utf-8", newline="") as written:
        return list(csv.DictReader(written))


def test_all_that_is_selected_is_exported(
    qtbot: QtBot, place: ResultsPlace, window: MainWindow, tmp_path: Path
) -> None:
    select_all(place)
    rows = export_selected(qtbot, window, tmp_path / "all.csv", MANY)
    assert [row["days"] for row in rows] == [str(MANY - n) for n in range(MANY)]


def test_what_is_selected_is_exported_as_it_is_sorted_and_filtered(
    qtbot: QtBot, place: ResultsPlace, window: MainWindow, tmp_path: Path
) -> None:
    place.table.set_filter("days", "<=220")
    qtbot.waitUntil(lambda: place.model.rowCount() == 220 and place.model.result(0) is not None, timeout=WAIT)
    place.table.sortByColumn(2, Qt.SortOrder.AscendingOrder)
    qtbot.waitUntil(lambda: (row := place.model.result(0)) is not None and row.cells[1] == "1", timeout=WAIT)
    select_all(place)
    first = place.model.index(0, 0)
    place.table.selectionModel().select(
        first, QItemSelectionModel.SelectionFlag.Deselect | QItemSelectionModel.SelectionFlag.Rows
    )
    rows = export_selected(qtbot, window, tmp_path / "some.csv", 219)
    assert {int(row["days"]) for row in rows} == set(range(2, 221))


def test_rows_below_headings_are_exported_once(
    qtbot: QtBot, place: ResultsPlace, window: MainWindow, tmp_path: Path
) -> None:
    place.model.group_by("officer")
    qtbot.waitUntil(lambda: place.model.heading(0) is not None, timeout=WAIT)
    select_all(place)
    rows = export_selected(qtbot, window, tmp_path / "grouped.csv", MANY)
    assert len({row["days"] for row in rows}) == MANY


def test_all_that_is_selected_is_judged(qtbot: QtBot, place: ResultsPlace) -> None:
    select_all(place)
    place.review.judge("accept")
    qtbot.waitUntil(lambda: place.parts.progress.text() == "250 of 250 reviewed", timeout=WAIT)
    qtbot.waitUntil(lambda: place.parts.said.text() == "250 rows are accepted. Ctrl+Z takes that back.", timeout=WAIT)


def test_a_cell_that_is_judged_is_the_current_one(qtbot: QtBot, place: ResultsPlace) -> None:
    select_all(place)
    place.table.selectionModel().setCurrentIndex(place.model.index(3, 1), QItemSelectionModel.SelectionFlag.NoUpdate)
    place.review.judge("reject", cell=True)
    qtbot.waitUntil(lambda: (row := place.model.result(3)) is not None and row.verdict == "rejected", timeout=WAIT)
    qtbot.waitUntil(lambda: place.parts.progress.text() == "1 of 250 reviewed", timeout=WAIT)


def test_nothing_is_copied_or_merged_before_all_of_it_is_here(
    qtbot: QtBot, place: ResultsPlace, window: MainWindow
) -> None:
    QGuiApplication.clipboard().setText("before")
    select_all(place)
    place.table.setFocus()
    with qtbot.waitSignal(window.workspace.said, timeout=WAIT) as said:
        window.copy()
    assert "not here yet" in said.args[0]
    assert QGuiApplication.clipboard().text() == "before"
    with qtbot.waitSignal(window.workspace.said, timeout=WAIT) as said:
        place.merge_selected()
    assert "not here yet" in said.args[0]
    qtbot.waitUntil(lambda: place.model.row(MANY - 1) is not None, timeout=WAIT)
    qtbot.waitUntil(lambda: place.model.row(PAGE_ROWS) is not None, timeout=WAIT)
    window.copy()
    assert len(QGuiApplication.clipboard().text().splitlines()) == MANY


def test_rows_are_judged_in_the_run_in_which_they_were_selected(
    qtbot: QtBot, place: ResultsPlace, window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    edits: list[dict[str, Any]] = []
    held = Held(window, results.IDS)
    select_all(place)
    place.review.judge("accept")
    qtbot.waitUntil(lambda: bool(held.answers), timeout=WAIT)
    monkeypatch.setattr(window.workspace, "edit", lambda query, then=None, **given: edits.append(given))
    run, place.model.run = place.model.run, "77"
    held.answers.pop("many")()
    place.model.run = run
    assert [(each["run"], len(each["rows"])) for each in edits] == [(run, MANY)]


def test_the_list_of_groups_stays_where_it_is(qtbot: QtBot, place: ResultsPlace) -> None:
    groups, client = place.groups.list, place.workspace.client
    place.groups.choose("days")
    qtbot.waitUntil(lambda: groups.topLevelItemCount() == MANY + 1 and not client.waiting, timeout=WAIT)
    bar = groups.verticalScrollBar()
    bar.setValue(bar.maximum())
    assert bar.value() > 0
    last = groups.topLevelItem(MANY)
    assert last is not None
    groups.itemClicked.emit(last, 0)
    qtbot.waitUntil(lambda: place.model.selected == 1 and not client.waiting, timeout=WAIT)
    assert groups.topLevelItemCount() == MANY + 1
    assert bar.value() == bar.maximum()
    place.groups.choose("officer")
    assert groups.topLevelItemCount() == 0  # the values of the other column pick no rows of this one


def test_more_rows_than_can_be_kept_are_refused_and_not_fetched(
    qtbot: QtBot, place: ResultsPlace, window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("desktop.paged_model.KEPT_PAGES", 4)  # two of them are seen: 250 rows are three pages
    QGuiApplication.clipboard().setText("before")
    qtbot.waitUntil(lambda: not place.workspace.client.waiting, timeout=WAIT)
    select_all(place)
    for use in (window.copy, place.merge_selected):
        with qtbot.waitSignal(window.workspace.said, timeout=WAIT) as said:
            use()
        assert "too many for this" in said.args[0]
    assert not place.model._wanted
    assert QGuiApplication.clipboard().text() == "before"


def test_no_row_is_the_current_one_where_a_correction_was_sorted_far_away(qtbot: QtBot, place: ResultsPlace) -> None:
    place.table.sortByColumn(2, Qt.SortOrder.AscendingOrder)
    qtbot.waitUntil(lambda: (row := place.model.result(0)) is not None and row.cells[1] == "1", timeout=WAIT)
    qtbot.waitUntil(lambda: place.table.currentIndex().isValid(), timeout=WAIT)
    corrected = place.model.result(0)
    assert corrected is not None
    place.model.edited.emit(corrected.id, "days", "1000")
    qtbot.waitUntil(lambda: (row := place.model.result(0)) is not None and row.cells[1] == "2", timeout=WAIT)
    assert not place.table.currentIndex().isValid()
    assert not place.selection.count
