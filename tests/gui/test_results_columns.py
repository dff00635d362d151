"""Columns of results that are moved, hidden, pinned or far to the right: kept, copied, sorted by and filtered."""

from __future__ import annotations

import json

import pytest
from PySide6.QtCore import QPoint, QSettings, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from desktop.places.results import ResultsPlace
from desktop.results_model import ResultsModel
from desktop.results_table import FilterHeader, ResultsTable
from desktop.tables import copy_cells
from desktop.window import MainWindow
from engine.worker.contract.results import ColumnInfo

OWN = ["officer", "date", "force", "days", "acts"]


def order(table: ResultsTable) -> list[str]:
    """Return the columns from left to right, without the review."""
    header = table.horizontalHeader()
    return [table._title(header.logicalIndex(place)) for place in range(1, header.count())]


def move(table: ResultsTable, name: str, place: int) -> None:
    """Move a column as a person does who drags its title."""
    header = table.horizontalHeader()
    header.moveSection(header.visualIndex(table._number(name)), place)


def make_table(qtbot: QtBot, settings: QSettings) -> ResultsTable:
    table = ResultsTable(ResultsModel(lambda *given, **known: "", lambda id: None), settings)
    qtbot.addWidget(table)
    return table


def show(table: ResultsTable, *names: str, kind: str = "date") -> None:
    table._results.show_run("1", [ColumnInfo(name, kind, "") for name in names])  # type: ignore[arg-type]
    table.show_columns()


def test_columns_that_were_moved_stay_there_and_those_of_another_question_are_not(
    qtbot: QtBot, settings: QSettings
) -> None:
    table = make_table(qtbot, settings)
    show(table, "a", "b", "c", "d", "e")
    move(table, "d", 2)
    move(table, "a", 5)
    assert order(table) == ["d", "b", "c", "e", "a"]
    table._keep_layout()
    show(table, "v", "w", "x", "y", "z")
    assert order(table) == ["v", "w", "x", "y", "z"]
    show(table, "b", "x", "c")
    assert order(table) == ["b", "x", "c"]  # which were not moved themselves
    again = make_table(qtbot, settings)
    show(again, "a", "b", "c", "d", "e")
    assert order(again) == ["d", "b", "c", "e", "a"]


def test_columns_that_are_pinned_stand_before_those_that_were_moved(qtbot: QtBot, settings: QSettings) -> None:
    table = make_table(qtbot, settings)
    show(table, "a", "b", "c", "d", "e")
    table.pin_column("c")
    move(table, "e", 2)
    assert order(table) == ["c", "e", "a", "b", "d"]
    table.pin_column("d")
    assert order(table) == ["c", "d", "e", "a", "b"]
    table.pin_column("c", on=False)
    assert order(table) == ["d", "e", "a", "b", "c"]
    table._keep_layout()
    show(table, "a", "b", "c", "d", "e")
    assert order(table) == ["d", "e", "a", "b", "c"]


def test_a_column_that_is_dropped_on_a_pinned_one_stands_beside_it(qtbot: QtBot, settings: QSettings) -> None:
    table = make_table(qtbot, settings)
    show(table, "a", "b", "c", "d")
    table.pin_column("c")
    move(table, "d", 1)
    assert order(table) == ["c", "d", "a", "b"]


def test_the_columns_that_were_kept_last_are_forgotten_last(
    qtbot: QtBot, settings: QSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("desktop.results_table._MOST_KEPT", 4)
    table = make_table(qtbot, settings)
    for names in (("a", "b"), ("c",), ("a", "b")):  # and the review
        show(table, *names)
        table._keep_layout()
    show(table, "d")
    table._keep_layout()
    assert set(json.loads(str(settings.value("results_columns")))) == {"", "a", "b", "d"}


def test_what_is_copied_is_what_is_shown_in_its_order(qtbot: QtBot, place: ResultsPlace) -> None:
    table = place.table
    assert order(table) == OWN
    table.hide_column("force")
    move(table, "acts", 2)
    table.selectRow(0)
    assert copy_cells(table) is None
    assert QGuiApplication.clipboard().text() == "\tDaniel Harmon\tstruck a man\t2019-03-04\t10"


def click_title(header: FilterHeader, number: int) -> None:
    where = QPoint(header.sectionViewportPosition(number) + header.sectionSize(number) // 2, 6)
    QTest.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=where)


@pytest.mark.parametrize("column", ["officer", "date"])  # the first is pinned
def test_a_third_click_on_a_title_sorts_by_nothing(qtbot: QtBot, place: ResultsPlace, column: str) -> None:
    table, number = place.table, OWN.index(column) + 1
    header = table._over if column in table.pinned_columns else table._header
    assert table._over.isSortIndicatorShown()
    assert table._over.sortIndicatorSection() == -1
    sorted_by = []
    for _ in range(4):
        click_title(header, number)
        shown = {(each.sortIndicatorSection(), each.sortIndicatorOrder()) for each in (table._over, table._header)}
        assert len(shown) == 1
        sorted_by.append((place.model.selection["sort"], place.model.selection["descending"]))
        QTest.qWait(QGuiApplication.styleHints().mouseDoubleClickInterval() + 50)
    assert sorted_by == [(column, False), (column, True), ("", False), (column, False)]


def test_the_filter_of_a_column_out_of_sight_is_brought_into_view(
    qtbot: QtBot, place: ResultsPlace, window: MainWindow
) -> None:
    table = place.table
    table.setColumnWidth(2, 3000)
    qtbot.wait(50)  # the range of the scroll bar follows
    table.go_to(0, OWN.index("acts") + 1)
    table.horizontalScrollBar().setValue(0)
    box = table._header._boxes[OWN.index("acts")]
    assert not box.isVisible()
    table.focus_filter()
    assert box.isVisible()
    assert window.focusWidget() is box
    table.hide_column("acts")
    qtbot.wait(50)
    table.focus_filter()
    assert window.focusWidget() is table._header._boxes[OWN.index("days")]


def test_a_column_that_was_hidden_last_stays_so_when_another_run_comes_or_the_window_goes(
    qtbot: QtBot, settings: QSettings
) -> None:
    table = make_table(qtbot, settings)
    show(table, *OWN)
    table.hide_column("acts")
    table.show()
    show(table, "officer", "days")
    assert json.loads(str(settings.value("results_columns")))["acts"]["hidden"]
    table.hide_column("days")
    table.close()
    assert json.loads(str(settings.value("results_columns")))["days"]["hidden"]
