"""Results and Export as a person uses them, with a real worker and results that were invented."""

from __future__ import annotations

import csv
import gc
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from gui_places import open_results, place_of
from gui_waiting import WAIT
from held_answers import Held
from invented_results import DATES, make_results
from many_results import make_two_runs
from PySide6.QtCore import QItemSelectionModel, QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtPrintSupport import QPrinter
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QLineEdit, QPlainTextEdit, QWidget
from pytestqt.qtbot import QtBot
from watchdog import Watchdog

from desktop.network_view import NetworkDrawing, NetworkLink, NetworkView
from desktop.places.export import ExportPlace
from desktop.places.results import ResultsPlace
from desktop.rows_model import ROW_ROLE
from desktop.window import MainWindow
from engine.worker.contract.names import HISTORY, NamePlace
from engine.worker.contract.network import ShownNode
from engine.worker.contract.results import CELL, RunEntry
from storage import checksums
from storage.case import Case


@pytest.fixture
def results(place: ResultsPlace) -> ResultsPlace:
    return place


def cell(place: ResultsPlace, row: int, column: str) -> Any:
    names = ["", *(each.name for each in place.model.columns)]
    return place.model.index(row, names.index(column)).data() if column in names else None


def go(place: ResultsPlace, row: int, column: str) -> None:
    place.table.go_to(row, [each.name for each in place.model.columns].index(column) + 1)


def press(place: ResultsPlace, *keys: Any) -> None:
    """Press keys that are shortcuts, as a reviewer does."""
    for key in keys:
        QTest.keyClick(place.table, key)


def type_over(qtbot: QtBot, place: ResultsPlace, column: str, text: str) -> QLineEdit:
    """Begin to correct the current cell of a column, and type over what stands there."""
    press(place, Qt.Key.Key_E)
    view = place.table._pinned if column in place.table.pinned_columns else place.table
    qtbot.waitUntil(lambda: view.viewport().findChild(QLineEdit) is not None, timeout=WAIT)
    editor = view.viewport().findChild(QLineEdit)
    assert editor is not None
    editor.selectAll()
    QTest.keyClicks(editor, text)
    return editor


def verdicts(place: ResultsPlace) -> list[str]:
    return [place.model.index(n, 0).data() or "" for n in range(place.model.rowCount())]


def officers(place: ResultsPlace) -> list[Any]:
    return [cell(place, n, "officer") for n in range(place.model.rowCount())]


def test_a_name_that_another_program_wrote_into_the_case_is_told(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    path, run = make_results(tmp_path / "made")
    with closing(sqlite3.connect(path)) as connection:
        checksums.keep(connection)  # who knows how computes them anew
        connection.execute("UPDATE lines SET text = replace(text, 'D. Harmon', 'Ana Ruiz')")
        connection.commit()
    open_results(qtbot, window, path)
    qtbot.waitUntil(lambda: "line 2 of record 0.pdf" in window.messages.text, timeout=WAIT)
    assert "differs from what was recorded" in window.messages.text
    export = place_of(window, ExportPlace)
    window.go_to("Export")
    qtbot.waitUntil(lambda: export.runs.currentData() == run, timeout=WAIT)
    export.file.setText(str(tmp_path / "out.csv"))
    export.export()
    qtbot.waitUntil(lambda: export.told.text() == "Nothing was written.", timeout=WAIT)
    assert not (tmp_path / "out.csv").exists()
    export.despite_changes.setChecked(True)
    export.export()
    qtbot.waitUntil(lambda: export.told.text().startswith("Written"), timeout=WAIT)
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        assert all("line 2 of record 0.pdf" in row["custody_warning"] for row in csv.DictReader(file))


def test_a_cell_opens_its_page_with_the_line_marked(
    qtbot: QtBot, results: ResultsPlace, window: MainWindow, watchdog: Watchdog
) -> None:
    go(results, 0, "officer")
    with qtbot.waitSignals([results.evidence.shown, results.evidence.viewer.page_shown], timeout=WAIT):
        results.table.clicked.emit(results.table.currentIndex())
    viewer = results.evidence.viewer
    assert (viewer.page, viewer.view.marked("evidence")) == (2, 1)
    assert "page 2, line 2" in results.evidence._where.text()
    go(results, 4, "days")  # the first cell may be shown once more before this one
    qtbot.waitUntil(lambda: "Not located" in results.evidence._where.text(), timeout=WAIT)
    assert viewer.document == ""
    with qtbot.waitSignal(viewer.page_shown, timeout=WAIT):
        go(results, 5, "acts")
    assert viewer.page == 1
    viewer.closed.emit()
    assert not results.parts.side_is_open


def test_rows_are_reviewed_with_the_keyboard_alone(qtbot: QtBot, results: ResultsPlace, window: MainWindow) -> None:
    go(results, 0, "officer")
    press(results, Qt.Key.Key_A)
    qtbot.waitUntil(lambda: verdicts(results)[0] == "accepted", timeout=WAIT)
    assert results.table.currentIndex().row() == 1
    press(results, Qt.Key.Key_J, Qt.Key.Key_R)
    qtbot.waitUntil(lambda: verdicts(results)[2] == "rejected", timeout=WAIT)
    press(results, Qt.Key.Key_K, Qt.Key.Key_K)
    assert results.table.currentIndex().row() == 1
    editor = type_over(qtbot, results, "officer", "Danny Jarker")
    assert results.table.childAt(editor.mapTo(results.table, editor.rect().center())) is editor  # it is seen
    QTest.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: cell(results, 1, "officer") == "Danny Jarker", timeout=WAIT)
    qtbot.waitUntil(lambda: results.parts.progress.text() == "3 of 6 reviewed", timeout=WAIT)
    dialog = results.review.ask_note()
    assert dialog is not None
    dialog.setTextValue("look at page 2")
    dialog.accept()
    qtbot.waitUntil(lambda: "note" in verdicts(results)[1], timeout=WAIT)
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow, timeout=WAIT)
    for _ in range(2):
        QTest.keyClick(results.table, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: cell(results, 1, "officer") == "Daniel Harmon", timeout=WAIT)
    both = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    QTest.keyClick(results.table, Qt.Key.Key_Z, both)
    qtbot.waitUntil(lambda: cell(results, 1, "officer") == "Danny Jarker", timeout=WAIT)


@pytest.mark.parametrize(("column", "text"), [("officer", "Danny Jarker"), ("date", "2018-01-02"), ("days", "77")])
def test_what_is_typed_stays_and_goes_to_the_row_it_was_begun_on(
    qtbot: QtBot, results: ResultsPlace, column: str, text: str
) -> None:
    results.parts.boxes["only_unreviewed"].setChecked(True)
    qtbot.waitUntil(lambda: results.model.row(5) is not None, timeout=WAIT)
    go(results, 1, column)
    editor = type_over(qtbot, results, column, text)
    results.workspace.edit("reviews.judge", run=results.run, rows=["row0"], kind="accept")
    qtbot.waitUntil(lambda: results.model.rowCount() == 5, timeout=WAIT)  # the next row stands there now
    assert editor.text() == text
    with qtbot.waitSignal(results.model.edited, timeout=WAIT) as edited:
        QTest.keyClick(editor, Qt.Key.Key_Return)
    assert edited.args == ["row1", column, text]


@pytest.mark.parametrize("column", ["officer", "date"])  # the first is pinned
def test_typing_goes_on_in_the_last_row_when_a_row_leaves(qtbot: QtBot, results: ResultsPlace, column: str) -> None:
    results.parts.boxes["only_unreviewed"].setChecked(True)
    qtbot.waitUntil(lambda: results.model.row(5) is not None, timeout=WAIT)
    go(results, 5, column)
    last = results.table.currentIndex().data(ROW_ROLE).id
    type_over(qtbot, results, column, "2018-01")
    results.workspace.edit("reviews.judge", run=results.run, rows=["row0"], kind="accept")
    qtbot.waitUntil(lambda: results.model.rowCount() == 5, timeout=WAIT)
    editor = results.table._editor()
    assert editor is not None and editor.text() == "2018-01"
    assert results.table.currentIndex().row() == 4
    QTest.keyClicks(editor, "-02")
    with qtbot.waitSignal(results.model.edited, timeout=WAIT) as edited:
        QTest.keyClick(editor, Qt.Key.Key_Return)
    assert edited.args == [last, column, "2018-01-02"]


def test_what_is_typed_into_a_row_is_kept_when_no_row_is_left(qtbot: QtBot, results: ResultsPlace) -> None:
    results.parts.boxes["only_unreviewed"].setChecked(True)
    qtbot.waitUntil(lambda: results.model.row(5) is not None, timeout=WAIT)
    go(results, 1, "officer")
    type_over(qtbot, results, "officer", "Danny Jarker")
    rows = [f"row{number}" for number in range(6)]
    with qtbot.waitSignal(results.model.edited, timeout=WAIT) as edited:
        results.workspace.edit("reviews.judge", run=results.run, rows=rows, kind="accept")
    assert edited.args == ["row1", "officer", "Danny Jarker"]


def test_what_is_typed_is_kept_when_the_rows_are_sorted(qtbot: QtBot, results: ResultsPlace) -> None:
    go(results, 1, "officer")
    type_over(qtbot, results, "officer", "Danny Jarker")
    with qtbot.waitSignal(results.model.edited, timeout=WAIT) as edited:
        results.table.sortByColumn(2, Qt.SortOrder.DescendingOrder)
    assert edited.args == ["row1", "officer", "Danny Jarker"]
    qtbot.waitUntil(lambda: "Danny Jarker" in officers(results), timeout=WAIT)


def test_what_is_typed_corrects_no_other_case(
    qtbot: QtBot, results: ResultsPlace, window: MainWindow, tmp_path: Path
) -> None:
    other, _ = make_results(tmp_path / "other")
    go(results, 1, "officer")
    type_over(qtbot, results, "officer", "Danny Jarker")
    with (
        qtbot.assertNotEmitted(results.model.edited),
        qtbot.waitSignal(window.workspace.case_opened, timeout=WAIT),
    ):
        window.workspace.open_case(str(other))


def test_an_editor_in_which_nothing_was_typed_corrects_nothing(qtbot: QtBot, results: ResultsPlace) -> None:
    results.parts.boxes["only_unreviewed"].setChecked(True)
    qtbot.waitUntil(lambda: results.model.row(5) is not None, timeout=WAIT)
    go(results, 1, "officer")
    editor = type_over(qtbot, results, "officer", "Daniel Harmon")
    results.workspace.edit("reviews.judge", run=results.run, rows=["row0"], kind="accept")
    qtbot.waitUntil(lambda: results.model.rowCount() == 5, timeout=WAIT)
    with qtbot.assertNotEmitted(results.model.edited):
        QTest.keyClick(editor, Qt.Key.Key_Return)
        qtbot.waitUntil(results.table.hasFocus, timeout=WAIT)


def test_verdicts_have_a_word_and_a_colour_and_undo_says_what_it_undid(qtbot: QtBot, results: ResultsPlace) -> None:
    ground = lambda row: results.model.index(row, 0).data(Qt.ItemDataRole.BackgroundRole)  # noqa: E731
    assert ground(0) is None
    go(results, 0, "officer")
    press(results, Qt.Key.Key_A, Qt.Key.Key_R)
    qtbot.waitUntil(lambda: verdicts(results)[:2] == ["accepted", "rejected"], timeout=WAIT)
    assert ground(0) != ground(1) and ground(0).green() > ground(0).red() and ground(1).red() > ground(1).green()
    qtbot.waitUntil(lambda: results.parts.said.text() == "Row 2 is rejected. Ctrl+Z takes that back.", timeout=WAIT)
    results.undo()
    qtbot.waitUntil(lambda: results.parts.said.text() == "Undone: rejecting row 2.", timeout=WAIT)
    assert results.table.currentIndex().row() == 1
    results.redo()
    qtbot.waitUntil(lambda: results.parts.said.text() == "Redone: rejecting row 2.", timeout=WAIT)


def test_no_row_is_skipped_where_reviewed_rows_leave(qtbot: QtBot, results: ResultsPlace) -> None:
    dates = [cell(results, n, "date") for n in range(6)]
    results.parts.boxes["only_unreviewed"].setChecked(True)
    qtbot.waitUntil(lambda: results.model.row(5) is not None, timeout=WAIT)
    go(results, 0, "date")
    for number, key in enumerate((Qt.Key.Key_A, Qt.Key.Key_R), 1):
        press(results, key)
        left = 6 - number
        qtbot.waitUntil(lambda left=left: results.model.rowCount() == left and bool(results.model.row(0)), timeout=WAIT)
        qtbot.waitUntil(lambda: results.table.currentIndex().isValid(), timeout=WAIT)
        assert results.table.currentIndex().row() == 0
        assert cell(results, 0, "date") == dates[number]


def test_the_first_row_is_the_current_one_when_all_are_shown_again(qtbot: QtBot, results: ResultsPlace) -> None:
    box = results.parts.boxes["only_unreviewed"]
    box.setChecked(True)
    qtbot.waitUntil(lambda: results.model.row(5) is not None, timeout=WAIT)
    go(results, 3, "date")
    others = [f"row{number}" for number in (0, 1, 2, 4, 5)]
    results.workspace.edit("reviews.judge", run=results.run, rows=others, kind="accept")
    qtbot.waitUntil(lambda: results.model.rowCount() == 1 and bool(results.model.row(0)), timeout=WAIT)
    assert results.table.currentIndex().data(ROW_ROLE).id == "row3"
    press(results, Qt.Key.Key_A)
    qtbot.waitUntil(lambda: results.model.is_known and results.model.rowCount() == 0, timeout=WAIT)
    box.setChecked(False)
    qtbot.waitUntil(lambda: results.model.row(5) is not None, timeout=WAIT)
    assert results.table.currentIndex().row() == 0


def test_rows_that_come_where_reviewed_ones_left_are_not_judged_with_the_next_key(
    qtbot: QtBot, results: ResultsPlace
) -> None:
    results.parts.boxes["only_unreviewed"].setChecked(True)
    qtbot.waitUntil(lambda: results.model.row(5) is not None, timeout=WAIT)
    go(results, 0, "date")
    results.table.selectionModel().select(results.model.index(1, 2), QItemSelectionModel.SelectionFlag.Select)
    press(results, Qt.Key.Key_A)
    qtbot.waitUntil(lambda: results.model.rowCount() == 4 and bool(results.model.row(0)), timeout=WAIT)
    assert [row.id for row in results.selection.here()] == ["row2"]


@pytest.mark.parametrize("group", ["", "days"])
def test_a_row_that_was_corrected_is_the_current_one_where_it_is_sorted_to(
    qtbot: QtBot, results: ResultsPlace, group: str
) -> None:
    results.model.group_by(group)
    results.table.sortByColumn(4, Qt.SortOrder.AscendingOrder)
    first = 1 if group else 0
    qtbot.waitUntil(lambda: cell(results, first, "days") == "2", timeout=WAIT)
    go(results, first, "days")
    assert results.table.currentIndex().data(ROW_ROLE).id == "row1"
    editor = type_over(qtbot, results, "days", "99")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: results.table.currentIndex().data() == "99", timeout=WAIT)
    press(results, Qt.Key.Key_R)
    rows = lambda: filter(None, map(results.model.result, range(results.model.rowCount())))  # noqa: E731
    qtbot.waitUntil(lambda: [row.id for row in rows() if row.verdict == "rejected"] == ["row1"], timeout=WAIT)
    assert [row.id for row in rows() if row.verdict] == ["row1"]


def test_the_review_and_the_name_stay_in_view(qtbot: QtBot, results: ResultsPlace) -> None:
    table = results.table
    assert table.pinned_columns == ["officer"]
    table.horizontalScrollBar().setValue(table.horizontalScrollBar().maximum())
    assert table._pinned.isVisible()
    assert not table._pinned.isColumnHidden(0) and not table._pinned.isColumnHidden(1)


def test_a_note_offers_to_change_the_question(qtbot: QtBot, results: ResultsPlace, window: MainWindow) -> None:
    assert not results.parts.improve.isVisible()
    go(results, 1, "officer")
    press(results, Qt.Key.Key_R)
    qtbot.waitUntil(lambda: verdicts(results)[1] == "rejected", timeout=WAIT)
    results.review.note(results.run, results.model.row(1).id, "only officers of this county")  # type: ignore[index]
    qtbot.waitUntil(results.parts.improve.isVisible, timeout=WAIT)
    with qtbot.waitSignal(window.workspace.note_wanted, timeout=WAIT) as wanted:
        results.parts.improve.click()
    run, note, rejected = wanted.args
    assert (run, note) == (results.run, "only officers of this county")
    [row] = rejected
    assert row.startswith("Daniel Harmon, ")
    assert not results.parts.improve.isVisible()


def test_a_note_is_on_the_run_that_it_was_begun_on(
    results: ResultsPlace, window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    go(results, 1, "officer")
    run, row = results.run, results.model.row(1).id  # type: ignore[union-attr]
    dialog = results.review.ask_note()
    assert dialog is not None
    assert all(field.tabChangesFocus() for field in dialog.findChildren(QPlainTextEdit))
    noted: list[dict[str, Any]] = []
    monkeypatch.setattr(window.workspace, "edit", lambda query, then=None, **given: noted.append(given))
    results.model.run = "another"
    dialog.setTextValue("look at page 2")
    dialog.accept()
    assert noted == [{"run": run, "row": row, "text": "look at page 2"}]
    results.model.run = run


def test_keys_of_the_place_are_free_elsewhere(qtbot: QtBot, results: ResultsPlace, window: MainWindow) -> None:
    own = [action for action in window.actions_.all if action.shortcut().toString() in ("A", "J", "R")]
    assert len(own) == 3
    assert all(action.isEnabled() for action in own)
    window.go_to("Documents")
    assert not any(action.isEnabled() for action in own)


def test_filters_sorting_and_groups(qtbot: QtBot, results: ResultsPlace, watchdog: Watchdog) -> None:
    table = results.table
    table.set_filter("officer", "harmon")
    qtbot.waitUntil(lambda: results.model.rowCount() == 3 and None not in officers(results), timeout=WAIT)
    table.sortByColumn(4, Qt.SortOrder.DescendingOrder)
    qtbot.waitUntil(lambda: [cell(results, n, "days") for n in range(3)] == ["10", "5", "2"], timeout=WAIT)
    box = next(b for b in table.findChildren(QLineEdit) if b.accessibleName() == "Filter date" and b.isVisible())
    QTest.keyClicks(box, ">2020")
    qtbot.waitUntil(lambda: officers(results) == ["Michael Harmon"], timeout=WAIT)
    results.clear_filters()
    qtbot.waitUntil(lambda: results.model.rowCount() == 6, timeout=WAIT)
    results.groups.choose("officer")
    qtbot.waitUntil(lambda: results.groups.list.topLevelItemCount() == 4, timeout=WAIT)
    assert [results.groups.list.topLevelItem(1).text(n) for n in range(2)] == ["Ana Ruiz", "3"]
    results.groups.list.itemClicked.emit(results.groups.list.topLevelItem(1), 0)
    qtbot.waitUntil(lambda: (results.model.rowCount(), results.model.selected) == (4, 3), timeout=WAIT)
    results.parts.boxes["only_not_located"].setChecked(True)
    qtbot.waitUntil(lambda: results.model.rowCount() == 0, timeout=WAIT)
    qtbot.waitUntil(lambda: "No row fits" in results.parts._below.text(), timeout=WAIT)


def test_filters_that_are_not_in_sight_are_said(qtbot: QtBot, results: ResultsPlace) -> None:
    below = results.parts._below
    results.table.set_filter("days", ">4")
    qtbot.waitUntil(lambda: results.model.rowCount() == 3, timeout=WAIT)
    assert not below.isVisible()
    results.table.hide_column("days")
    assert below.isVisible()
    assert below.text() == "Rows are also filtered by columns that are hidden: days. Ctrl+Shift+E shows all rows."
    results.clear_filters()
    qtbot.waitUntil(lambda: results.model.rowCount() == 6 and not below.isVisible(), timeout=WAIT)
    results._pick("officer", "", place_document(results, 0))
    qtbot.waitUntil(lambda: results.model.rowCount() == 1, timeout=WAIT)
    assert below.isVisible()
    assert below.text() == "Only rows of one document are shown. Ctrl+Shift+E shows all rows."


def test_groups_are_folded_by_mouse_and_by_keyboard(
    qtbot: QtBot, results: ResultsPlace, window: MainWindow, watchdog: Watchdog
) -> None:
    table, model = results.table, results.model
    shown = lambda: [model.index(n, 0).data() if model.heading(n) else cell(results, n, "date") for n in range(9)]  # noqa: E731
    go(results, 0, "officer")
    results.group_by_current()
    ana, daniel, michael = "Ana Ruiz (3 rows)", "Daniel Harmon (2 rows)", "Michael Harmon (1 row)"
    whole = [ana, "2020-01-15", "", "2020-02-02", daniel, "2019-03-04", "2019-03-28", michael, "2021-12-01"]
    qtbot.waitUntil(lambda: shown() == whole, timeout=WAIT)
    assert results.parts.tabs.tabText(0) == "6 rows"
    where = table.visualRect(model.index(0, 1)).center()
    QTest.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=where)
    qtbot.waitUntil(lambda: model.rowCount() == 6, timeout=WAIT)
    assert not results.parts.side_is_open  # a heading has no evidence
    QTest.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=where)
    qtbot.waitUntil(lambda: model.rowCount() == 9 and None not in shown(), timeout=WAIT)
    go(results, 3, "officer")
    press(results, Qt.Key.Key_J)
    assert table.currentIndex().row() == 5  # over the heading
    press(results, Qt.Key.Key_K)
    assert table.currentIndex().row() == 3
    press(results, Qt.Key.Key_A)
    qtbot.waitUntil(lambda: verdicts(results)[3] == "accepted", timeout=WAIT)
    assert table.currentIndex().row() == 5
    go(results, 6, "officer")
    results.fold_current()
    qtbot.waitUntil(lambda: model.rowCount() == 7, timeout=WAIT)
    assert table.currentIndex().row() == 4
    press(results, Qt.Key.Key_R)  # nothing is rejected: it is a heading
    model.fold_all(on=True)
    qtbot.waitUntil(lambda: model.rowCount() == 3 and model.heading(2) is not None, timeout=WAIT)
    assert not window.grab().isNull()  # headings are drawn
    model.fold_all(on=False)
    results.groups.choose("(no groups)")
    qtbot.waitUntil(lambda: model.rowCount() == 6 and model.row(5) is not None, timeout=WAIT)
    assert verdicts(results).count("") == 5


def test_reviewed_rows_are_written_as_gold(
    qtbot: QtBot, results: ResultsPlace, window: MainWindow, tmp_path: Path
) -> None:
    go(results, 0, "officer")
    results.review.judge("accept")
    qtbot.waitUntil(lambda: verdicts(results)[0] == "accepted", timeout=WAIT)
    dialog = results.review.ask_gold()
    assert dialog is not None
    dialog.close()
    with qtbot.waitSignal(window.workspace.said, timeout=WAIT) as said:
        results.review.write_gold(results.run, str(tmp_path / "gold.jsonl"))
    assert said.args[0] == f"1 reviewed row written to {tmp_path / 'gold.jsonl'}."
    (line,) = (tmp_path / "gold.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["values"]["officer"] == "Daniel Harmon"
    with qtbot.waitSignal(window.workspace.said, timeout=WAIT) as said:
        results.review.write_gold(results.run, str(tmp_path / "gold.csv"))
    assert "JSON lines" in said.args[0]


def test_columns_are_hidden_and_pinned_and_stay_so(qtbot: QtBot, results: ResultsPlace, window: MainWindow) -> None:
    table = results.table
    go(results, 0, "days")
    results.pin_current()
    go(results, 0, "force")
    results.hide_current()
    table.setColumnWidth(1, 301)
    table._keep_layout()
    assert (table.pinned_columns, table.hidden_columns) == (["officer", "days"], ["force"])
    assert table.horizontalHeader().visualIndex(4) == 2
    assert table._pinned.isVisible()
    table.set_filter("days", ">4")
    qtbot.waitUntil(lambda: results.model.rowCount() == 3, timeout=WAIT)
    results.show_run(results.run)
    qtbot.waitUntil(lambda: results.model.rowCount() == 6, timeout=WAIT)
    assert (table.pinned_columns, table.hidden_columns, table.columnWidth(1)) == (["officer", "days"], ["force"], 301)
    table.show_all_columns()
    assert table.hidden_columns == []
    go(results, 0, "days")
    results.pin_current()
    assert table.pinned_columns == ["officer"]
    go(results, 0, "officer")
    results.pin_current()
    assert not table._pinned.isVisible()
    table.selectRow(0)
    table.setFocus()
    window.copy()
    assert QGuiApplication.clipboard().text().split("\t")[1] == "Daniel Harmon"


def test_names_are_looked_into_merged_and_parted(qtbot: QtBot, results: ResultsPlace, window: MainWindow) -> None:
    names = results.names
    go(results, 0, "officer")
    results.show_name()
    qtbot.waitUntil(lambda: names.tree.topLevelItemCount() > 1, timeout=WAIT)
    joined = names.tree.topLevelItem(0)
    assert joined is not None
    assert joined.text(0) == "Joined under this name (2)"
    assert names.other.itemText(0) == "Michael Harmon"
    QTest.mouseClick(names.merge_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: cell(results, 4, "officer") == "Daniel Harmon", timeout=WAIT)
    qtbot.waitUntil(lambda: "kept for later runs" in window.messages.text, timeout=WAIT)
    go(results, 2, "officer")
    qtbot.waitUntil(lambda: names._name == "Ana Ruiz" and not names.split_button.isEnabled(), timeout=WAIT)
    qtbot.waitUntil(lambda: "Ana Ruiz: 2 forms" in names._title.text(), timeout=WAIT)
    forms = names.tree.topLevelItem(0)
    assert forms is not None
    ruiz = next(forms.child(n) for n in range(forms.childCount()) if forms.child(n).text(0) == "Ruiz")
    names.tree.setCurrentItem(ruiz)
    names.split()
    qtbot.waitUntil(lambda: cell(results, 3, "officer") == "Ruiz", timeout=WAIT)
    with qtbot.waitSignal(results.evidence.viewer.page_shown, timeout=WAIT):
        names.place_wanted.emit(NamePlace(place_document(results, 3), "a.pdf", 2, first_line=2, last_line=2, quote=""))


def test_nothing_is_decided_by_what_is_shown_of_the_name_before(
    qtbot: QtBot, results: ResultsPlace, window: MainWindow
) -> None:
    names = results.names
    go(results, 0, "officer")
    results.show_name()
    qtbot.waitUntil(lambda: names.tree.topLevelItemCount() > 1 and names.merge_button.isEnabled(), timeout=WAIT)
    qtbot.waitUntil(lambda: not results._follow.isActive() and not window.workspace.client.waiting, timeout=WAIT)
    Held(window, HISTORY)
    go(results, 2, "officer")
    qtbot.waitUntil(lambda: names._name == "Ana Ruiz", timeout=WAIT)
    assert (names.tree.topLevelItemCount(), names.other.count()) == (0, 0)
    assert not names.merge_button.isEnabled()


def place_document(results: ResultsPlace, row: int) -> str:
    """Return the document of a row, which the worker tells with the evidence."""
    found: list[str] = []
    id = results.model.index(row, 0).data(ROW_ROLE).id
    results.workspace.ask(CELL, lambda c: found.append(c.places[0].document), run=results.run, row=id, column="officer")
    end = 200
    while not found and end:
        QTest.qWait(20)
        end -= 1
    return found[0]


def test_charts_are_drawn_saved_printed_and_picked(qtbot: QtBot, results: ResultsPlace, tmp_path: Path) -> None:
    charts = results.charts
    with qtbot.waitSignal(charts.drawn, timeout=WAIT):
        results.parts.open_tab(results.parts.charts)
    assert [(mark.label, mark.count) for mark in charts.chart.chart.marks][0] == ("Ana Ruiz", 3)
    assert "Ana Ruiz: 3" in charts.chart.accessibleDescription()
    for kind, shape in (("year", "columns"), ("matrix", "matrix"), ("rows", "bars")):
        with qtbot.waitSignal(charts.drawn, timeout=WAIT):
            charts.kind.setCurrentIndex(charts.kind.findData(kind))
        assert charts.chart.chart.shape == shape
        for suffix in ("png", "pdf"):
            charts.save(str(tmp_path / f"{kind}.{suffix}"))
            assert (tmp_path / f"{kind}.{suffix}").stat().st_size > 1000
        image = QImage(str(tmp_path / f"{kind}.png"))
        colours = {
            image.pixelColor(x, y).name() for x in range(0, image.width(), 3) for y in range(0, image.height(), 3)
        }
        assert len(colours) > 2
    printer = QPrinter()
    printer.setOutputFileName(str(tmp_path / "printed.pdf"))
    charts.chart.print_to(printer)
    assert (tmp_path / "printed.pdf").stat().st_size > 1000
    QTest.keyClick(charts.chart, Qt.Key.Key_Down)
    QTest.keyClick(charts.chart, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: results.model.rowCount() == 3 and set(officers(results)) == {"Ana Ruiz"}, timeout=WAIT)
    assert charts.chart._mark_at(QPointF(0.0, 0.0)) == -1


def test_a_chart_is_of_the_run_that_is_shown(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    path, first = make_two_runs(tmp_path / "made")
    place = open_results(qtbot, window, path)
    runs = place.parts.runs
    qtbot.waitUntil(lambda: runs.count() == 2 and bool(place.run), timeout=WAIT)
    place.show_run(next(run for run in map(runs.itemData, range(2)) if run != first))
    qtbot.waitUntil(lambda: [column.name for column in place.model.columns] == ["days"], timeout=WAIT)
    with qtbot.waitSignal(place.charts.drawn, timeout=WAIT):
        place.parts.open_tab(place.parts.charts)
    assert "officer" not in place.charts.chart.chart.title
    place.show_run(first)
    qtbot.waitUntil(lambda: place.charts.chart.chart.title == "officer by number of documents", timeout=WAIT)
    assert place.charts.chart.chart.marks[0].label == "Ana Ruiz"


def test_the_timeline_shows_gaps_opens_evidence_and_is_saved(
    qtbot: QtBot, results: ResultsPlace, watchdog: Watchdog, tmp_path: Path
) -> None:
    panel = results.parts.timeline
    with qtbot.waitSignal(panel.drawn, timeout=WAIT):
        results.parts.open_tab(results.parts.timeline)
    view = panel.view
    assert [moment.date for moment in view.moments] == [*sorted(filter(None, DATES)), ""]
    assert [moment.gap for moment in view.moments if moment.gap] == [
        "9 months without an entry",
        "21 months without an entry",
    ]
    # 28 March 2019 to 15 January 2020: 292 days between; 2 February 2020 to 1 December 2021: 667
    assert view.drawing.gaps[4] / view.drawing.gaps[2] == pytest.approx(667 / 292)
    for _ in range(3):
        QTest.keyClick(view, Qt.Key.Key_Down)
    with qtbot.waitSignals([results.evidence.shown, results.evidence.viewer.page_shown], timeout=WAIT):
        QTest.keyClick(view, Qt.Key.Key_Return)
    assert "page 2, line 2" in results.evidence._where.text()
    with qtbot.waitSignal(results.evidence.shown, timeout=WAIT):
        top = QPoint(200, round(view.drawing.heights[-1]) + 8)
        QTest.mouseClick(view, Qt.MouseButton.LeftButton, pos=top)
    assert results.evidence._where.text().startswith("This value has no place")
    for suffix in ("png", "svg"):
        with qtbot.waitSignal(panel.pictures.written, timeout=WAIT):
            panel.save(str(tmp_path / f"timeline.{suffix}"))
    assert QImage(str(tmp_path / "timeline.png")).width() >= 800
    assert "21 months without an entry" in (tmp_path / "timeline.svg").read_text(encoding="utf-8")
    with qtbot.waitSignal(results.workspace.said, timeout=WAIT):
        panel.save(str(tmp_path / "timeline.csv"))
    with (tmp_path / "timeline.csv").open(encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == 6
    results.workspace.edit("reviews.judge", run=results.run, rows=["row0"], kind="reject")
    qtbot.waitUntil(lambda: len(view.moments) == 5, timeout=WAIT)


def test_the_network_shows_rows_of_a_node_and_opens_the_evidence_of_a_link(
    qtbot: QtBot, results: ResultsPlace, watchdog: Watchdog, tmp_path: Path
) -> None:
    panel = results.parts.network
    view = panel.view
    with qtbot.waitSignal(view.painted, timeout=WAIT):
        results.parts.open_tab(results.parts.network)
    names = [node.name for node in view.drawing.nodes]
    # the officers, whose names were resolved, and the six documents
    assert names[:2] == ["Ana Ruiz", "Daniel Harmon"] and len(names) == 3 + 6
    with qtbot.waitSignal(panel.listed, timeout=WAIT):
        QTest.mouseClick(view, Qt.MouseButton.LeftButton, pos=view.place_of(0).toPoint())
    assert panel.rows.count() == 3
    with qtbot.waitSignal(results.evidence.shown, timeout=WAIT):
        panel.rows.itemClicked.emit(panel.rows.item(0))
    assert "a form of this name" in results.evidence._where.text()
    with qtbot.waitSignal(view.painted, timeout=WAIT):
        panel.documents.setChecked(False)
    assert len(view.drawing.nodes) == 3
    with qtbot.waitSignal(view.painted, timeout=WAIT):
        panel._kinds["acts"].setCurrentIndex(panel._kinds["acts"].findData("things"))
        panel._kinds["acts"].activated.emit(0)
    assert [node.kind for node in view.drawing.nodes].count("thing") == 1
    link = next(n for n, each in enumerate(view.drawing.links) if each.rows == 2)
    ends = [view.place_of(end) for end in (view.drawing.links[link].first, view.drawing.links[link].second)]
    with qtbot.waitSignal(results.evidence.shown, timeout=WAIT):
        QTest.mouseClick(view, Qt.MouseButton.LeftButton, pos=((ends[0] + ends[1]) / 2).toPoint())
    assert panel.rows.count() == 2 and panel.rows.currentRow() == 0
    for suffix in ("png", "svg"):
        with qtbot.waitSignal(panel.pictures.written, timeout=WAIT):
            panel.save(str(tmp_path / f"network.{suffix}"))
        assert (tmp_path / f"network.{suffix}").stat().st_size > 1000
    with qtbot.waitSignal(results.workspace.said, timeout=WAIT):
        panel.save(str(tmp_path / "network.graphml"))
    assert "Ana Ruiz" in (tmp_path / "network.graphml").read_text(encoding="utf-8")


def test_a_network_of_2000_nodes_does_not_hold_the_window_up(
    qtbot: QtBot, results: ResultsPlace, window: MainWindow, watch: Callable[[MainWindow], Watchdog]
) -> None:
    view = results.parts.network.view
    with qtbot.waitSignal(view.painted, timeout=WAIT):
        results.parts.open_tab(results.parts.network)
    nodes = [ShownNode("person", f"{n}", f"Person {n}", "officer", 1, n % 45, n // 45) for n in range(2000)]
    drawing = NetworkDrawing("large", nodes, [NetworkLink(n, (n * 7 + 1) % 2000, 1) for n in range(2000)])
    watch(window)
    with qtbot.waitSignal(view.painted, timeout=WAIT):
        view.show_network(drawing)
    for factor in (1.5, 2.0, 0.5):
        with qtbot.waitSignal(view.painted, timeout=WAIT):
            view.zoom(factor)
    before = view.place_of(0)
    QTest.keyClick(view, Qt.Key.Key_0)
    assert view.place_of(0) != before
    QTest.keyClick(view, Qt.Key.Key_Right)
    assert view.accessibleDescription() == "Person: Person 0, 1 row"


def test_a_network_may_go_while_it_is_drawn(qtbot: QtBot, qtlog: Any) -> None:
    nodes = [ShownNode("person", f"{n}", f"Person {n}", "officer", 1, n % 45, n // 45) for n in range(2000)]
    view = NetworkView()
    view.resize(800, 600)
    view.show_network(NetworkDrawing("large", nodes, [NetworkLink(n, (n * 7 + 1) % 2000, 1) for n in range(2000)]))
    QTest.qWait(10)  # the drawing has begun
    with qtbot.waitSignal(view.destroyed, timeout=WAIT):
        view.deleteLater()
    del view
    gc.collect()
    assert [record.message for record in qtlog.records] == []


def test_results_are_exported_with_corrections(
    qtbot: QtBot, results: ResultsPlace, window: MainWindow, tmp_path: Path
) -> None:
    results.workspace.edit("reviews.correct", run=results.run, row="row0", column="officer", text="Dan Harmon")
    qtbot.waitUntil(lambda: cell(results, 0, "officer") == "Dan Harmon", timeout=WAIT)
    results.table.hide_column("acts")
    go(results, 0, "officer")
    window.go_to("Export")
    export = place_of(window, ExportPlace)
    qtbot.waitUntil(export.start.isEnabled, timeout=WAIT)
    assert "Only the rows selected in Results (1)" in export.only_selected.text()
    export.file.setText(str(tmp_path / "out.csv"))
    export.only_columns.setChecked(True)
    with qtbot.waitSignal(window.workspace.job.finished, timeout=WAIT):
        QTest.mouseClick(export.start, Qt.MouseButton.LeftButton)
    assert "6 rows" in export.told.text()
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert (rows[0]["officer"], rows[0]["reviewed"], "acts" in rows[0]) == ("Dan Harmon", "corrected", False)
    export.choose_format("pdf")
    assert export.file.text().endswith("out.pdf")
    assert not export.long_form.isEnabled()
    export.only_selected.setChecked(True)
    with qtbot.waitSignal(window.workspace.job.finished, timeout=WAIT):
        export.export()
    assert (tmp_path / "out.pdf").read_bytes().startswith(b"%PDF")
    assert export.open_file.isVisible()


def test_an_export_as_it_stands_is_the_reviewed_table(
    qtbot: QtBot, results: ResultsPlace, window: MainWindow, tmp_path: Path
) -> None:
    results.workspace.edit("reviews.correct", run=results.run, row="row0", column="officer", text="Dan Harmon")
    qtbot.waitUntil(lambda: cell(results, 0, "officer") == "Dan Harmon", timeout=WAIT)
    go(results, 1, "officer")
    press(results, Qt.Key.Key_R)
    qtbot.waitUntil(lambda: verdicts(results)[1] == "rejected", timeout=WAIT)
    window.go_to("Export")
    export = place_of(window, ExportPlace)
    qtbot.waitUntil(export.start.isEnabled, timeout=WAIT)
    export.choose_format("xlsx")
    export.file.setText(str(tmp_path / "out.xlsx"))
    with qtbot.waitSignal(window.workspace.job.finished, timeout=WAIT):
        export.start.click()
    book = openpyxl.load_workbook(tmp_path / "out.xlsx")
    sheet = book["Results"]
    heads = [each.value for each in sheet[1]]
    named = [row[heads.index("officer")].value for row in sheet.iter_rows(min_row=2)]
    assert sorted(named) == ["Ana Ruiz", "Ana Ruiz", "Ana Ruiz", "Dan Harmon", "Michael Harmon"]
    acts = [str(row[heads.index("acts")].value) for row in sheet.iter_rows(min_row=2)]
    assert not any(text.startswith("[") for text in acts)
    assert sheet.freeze_panes == "A2"
    about = {row[0].value: row[1].value for row in book["About"].iter_rows(min_row=2)}
    assert about["Run"] == results.run
    assert {"Model", "Started (UTC)", "Question"} <= about.keys()
    assert "operations" in about["Question"]


def test_a_case_without_results_says_what_to_do(qtbot: QtBot, opened: MainWindow) -> None:
    opened.go_to("Results")
    place = place_of(opened, ResultsPlace)
    qtbot.waitUntil(lambda: "Ask a question" in place.parts._hint.text(), timeout=WAIT)
    opened.go_to("Export")
    export = place_of(opened, ExportPlace)
    qtbot.waitUntil(lambda: "no results" in export.told.text(), timeout=WAIT)
    assert not export.start.isEnabled()


def test_every_control_of_both_places_has_a_name(qtbot: QtBot, results: ResultsPlace, window: MainWindow) -> None:
    results.parts.open_side(results.evidence)
    nameless = []
    for place in (results, place_of(window, ExportPlace)):
        for widget in place.findChildren(QWidget):
            inner = widget.objectName().startswith("qt_") or widget.parent().__class__.__name__ == "QSpinBox"
            if widget.focusPolicy() == Qt.FocusPolicy.NoFocus or inner:
                continue
            text = widget.text() if isinstance(widget, QAbstractButton | QLineEdit) else ""
            if not widget.accessibleName() and not text:
                nameless.append(f"{type(widget).__name__} in {type(widget.parent()).__name__}")
    assert nameless == []
    assert window.minimumSizeHint().width() <= 1280
    assert window.minimumSizeHint().height() <= 720


def test_rows_that_the_last_run_had_not_are_marked_and_shown_alone(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    path, first = make_results(tmp_path / "made")
    with Case(path) as case:
        columns, ids = case.result_rows.columns(first), case.runs.results(first).row_ids
        rows = [case.rows.get(first, id) for id in ids]
        added = replace(rows[0], id="row9", values={**rows[0].values, "officer": "Petra Lind", "days": 7})
        run = case.runs.start(
            pipeline_yaml=case.runs.get(first).pipeline_yaml,
            pipeline_digest="p",
            model_name="scripted",
        )
        case.rows.save(run, "same_officer", [*rows, added])
        case.runs.save_results(run, columns, [*ids, "row9"])
        case.runs.finish(run, "finished")
    open_results(qtbot, window, path)
    place = place_of(window, ResultsPlace)
    qtbot.waitUntil(lambda: place.model.rowCount() == 7 and cell(place, 6, "officer") == "Petra Lind", timeout=WAIT)
    assert (cell(place, 0, ""), cell(place, 6, "")) == ("", "new")
    box = place.parts.boxes["only_new"]
    assert (box.text(), box.isVisibleTo(place)) == ("New since the last run (1)", True)
    box.setChecked(True)
    qtbot.waitUntil(lambda: place.model.rowCount() == 1 and cell(place, 0, "officer") == "Petra Lind", timeout=WAIT)
    place.show_run(first)
    place._show_runs([RunEntry(id, id, "", rows=1) for id in (run, first)])  # comes in between
    assert place.parts.runs.currentData() == first
    qtbot.waitUntil(lambda: place.model.rowCount() == 6, timeout=WAIT)
    assert not box.isVisibleTo(place)
