"""The model of results against rows in memory, whatever is sorted, filtered, refreshed, and in whatever order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from paged_worker import PagedWorker
from PySide6.QtCore import QSettings, Qt
from PySide6.QtTest import QAbstractItemModelTester
from pytestqt.qtbot import QtBot

from desktop.results_model import HEADING_ROLE, MANY_ROWS, NOT_LOCATED, ResultsModel
from desktop.results_table import ResultsTable
from desktop.rows_model import ROW_ROLE
from engine.worker.contract.results import ColumnInfo, RowsPage, ShownHeading, ShownRow

COLUMNS = (ColumnInfo("name", "text", ""), ColumnInfo("days", "number", ""))


def row(number: int, **said: Any) -> ShownRow:
    usual = ShownRow(
        id=f"r{number}",
        number=number + 1,
        cells=(f"name {number % 7}", f"{number}"),
        missing=(1,) if number % 3 == 0 else (),
        corrected=(),
        cut=(),
        verdict="",
        note="",
        doubts={},
        is_new=False,
    )
    return replace(usual, **said)


def page(total: int, rows: tuple[ShownRow | ShownHeading, ...]) -> RowsPage:
    return RowsPage(total, total, rows)


def select(rows: list[ShownRow], given: dict[str, Any]) -> list[ShownRow]:
    only = given["only"]
    chosen = [r for r in rows if not only.get("only_not_located") or r.missing]
    if only["sort"] == "name":
        return sorted(chosen, key=lambda r: r.cells[0], reverse=only["descending"])
    return sorted(chosen, key=lambda r: int(r.cells[1]), reverse=only["descending"]) if only["sort"] else chosen


def worker_of(count: int) -> PagedWorker:
    return PagedWorker([row(number) for number in range(count)], select, page)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("look"), st.integers(0, 27)),
        st.tuples(st.just("answer"), st.integers(0, 5)),
        st.tuples(st.just("sort"), st.integers(-1, 5)),
        st.tuples(st.just("filter"), st.integers(0, 1)),
        st.tuples(st.just("refresh"), st.just(0)),
        st.tuples(st.just("grow"), st.integers(-7, 7)),
    ),
    max_size=12,
)


@hypothesis_settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS, st.integers(0, 28))
def test_the_model_shows_what_is_selected(
    qtbot: QtBot, small_pages: None, steps: list[tuple[str, int]], count: int
) -> None:
    worker = worker_of(count)
    model = ResultsModel(worker.ask, worker.forget)
    tester = QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    model.show_run("1", COLUMNS)
    for what, number in steps:
        match what:
            case "look":
                model.data(model.index(number, 1))
            case "answer":
                qtbot.wait(1)
                worker.answer(number)
            case "sort":
                order = Qt.SortOrder.DescendingOrder if number % 2 else Qt.SortOrder.AscendingOrder
                model.sort(number // 2, order)
            case "filter":
                model.show_only({"only_not_located": True} if number else {})
            case "refresh":
                model.refresh()
            case _:
                worker.rows = [row(n) for n in range(max(len(worker.rows) + number, 0))]
                model.refresh()
    worker.settle(model)
    for first in range(0, model.rowCount(), 8):
        model.row(first)
    worker.settle(model)
    expected = worker.selected({"only": model.selection})
    assert model.rowCount() == len(expected)
    shown = [model.index(n, 0).data(ROW_ROLE).id for n in range(model.rowCount())]
    assert shown == [r.id for r in expected]
    del tester


def test_cells_tell_what_is_remarkable_about_them(qtbot: QtBot) -> None:
    worker = worker_of(2)
    worker.rows[1] = row(1, corrected=(0,), missing=(0,), verdict="corrected", note="see page 2", cut=(1,))
    model = ResultsModel(worker.ask, worker.forget)
    model.show_run("1", COLUMNS)
    worker.settle(model)
    missing, corrected, review = model.index(0, 2), model.index(1, 1), model.index(1, 0)
    assert missing.data(Qt.ItemDataRole.ToolTipRole).endswith(NOT_LOCATED)
    assert missing.data(Qt.ItemDataRole.AccessibleTextRole) == "0 (not located)"
    assert not missing.data(Qt.ItemDataRole.DecorationRole).isNull()
    assert missing.data(Qt.ItemDataRole.TextAlignmentRole) & Qt.AlignmentFlag.AlignRight
    assert corrected.data(Qt.ItemDataRole.AccessibleTextRole) == "name 1 (corrected)"
    assert (review.data(), review.data(Qt.ItemDataRole.ToolTipRole)) == ("corrected; note", "see page 2")
    assert corrected.flags() & Qt.ItemFlag.ItemIsEditable
    assert not model.index(1, 2).flags() & Qt.ItemFlag.ItemIsEditable  # there is more text than is here
    with qtbot.waitSignal(model.edited) as edited:
        model.setData(corrected, "Ana")
    assert edited.args == ["r1", "name", "Ana"]
    with qtbot.assertNotEmitted(model.edited):
        model.setData(corrected, "name 1")
    model.can_edit = False
    assert not corrected.flags() & Qt.ItemFlag.ItemIsEditable
    assert model.data(model.index(0, 0), Qt.ItemDataRole.FontRole) is None
    model.clear()
    assert (model.rowCount(), model.columnCount()) == (0, 0)


def test_many_rows_are_read_whole_while_the_first_are_looked_at(qtbot: QtBot) -> None:
    few, many = worker_of(MANY_ROWS), worker_of(MANY_ROWS + 1)
    for worker, told in ((few, []), (many, [{"run": "1"}])):
        model = ResultsModel(worker.ask, worker.forget)
        model.show_run("1", COLUMNS)
        worker.settle(model)
        model.sort(1)
        worker.settle(model)
        assert worker.asked_besides == [("results.prepare", given) for given in told]


def test_headings_are_no_rows_of_the_results(qtbot: QtBot) -> None:
    worker = PagedWorker([ShownHeading("Ana", 2, is_folded=False), row(1), row(2)], lambda rows, given: rows, page)
    model = ResultsModel(worker.ask, worker.forget)
    model.show_run("1", COLUMNS)
    model.group_by("name")
    worker.settle(model)
    heading, below = model.index(0, 0), model.index(1, 1)
    assert heading.data() == "Ana (2 rows)"
    assert heading.data(Qt.ItemDataRole.AccessibleTextRole) == "Group Ana (2 rows), unfolded"
    assert heading.data(HEADING_ROLE).count == 2
    assert heading.data(ROW_ROLE) is None
    assert model.index(0, 1).data() is None
    assert not model.index(0, 1).flags() & Qt.ItemFlag.ItemIsEditable
    assert not model.setData(model.index(0, 1), "x")
    assert below.data(HEADING_ROLE) is None
    assert below.data(ROW_ROLE).id == "r1"
    assert (model.heading_above(2), model.heading_above(0)) == (0, 0)


def test_folding_asks_for_the_lines_that_are_left(qtbot: QtBot) -> None:
    worker = PagedWorker([ShownHeading("Ana", 1, is_folded=False), row(1)], lambda rows, given: rows, page)
    model = ResultsModel(worker.ask, worker.forget)
    model.show_run("1", COLUMNS)
    assert "grouping" not in model.question()
    model.group_by("name")
    worker.settle(model)
    model.fold(1)  # no heading
    assert model.question()["grouping"] == {"column": "name", "all_folded": False, "others": []}
    model.fold(0)
    assert model.question()["grouping"]["others"] == ["Ana"]
    worker.rows = [ShownHeading("Ana", 1, is_folded=True)]
    worker.settle(model)
    assert model.rowCount() == 1
    model.fold(0)
    assert model.question()["grouping"]["others"] == []
    model.fold_all(on=True)
    assert model.question()["grouping"] == {"column": "name", "all_folded": True, "others": []}
    model.group_by("")
    model.fold_all(on=True)
    assert "grouping" not in model.question()


def test_what_was_on_its_way_before_a_refresh_is_asked_for_again(qtbot: QtBot) -> None:
    worker = worker_of(2)
    model = ResultsModel(worker.ask, worker.forget)
    model.show_run("1", COLUMNS)
    model._asking.timeout.emit()
    before = list(worker.rows)
    model.refresh()  # something has changed since the worker was asked
    worker.rows, after = before, [row(0, note="new"), row(1)]
    worker.answer()
    assert model.index(0, 0).data(ROW_ROLE).note == ""
    worker.rows = after
    worker.settle(model)
    assert model.index(0, 0).data(ROW_ROLE).note == "new"


def test_how_sure_a_model_was_is_hidden_until_somebody_wants_to_see_it(qtbot: QtBot, settings: QSettings) -> None:
    model = ResultsModel(lambda *given, **known: "", lambda id: None)
    table = ResultsTable(model, settings)
    qtbot.addWidget(table)
    model.show_run(
        "1", [ColumnInfo("officer", "text", ""), ColumnInfo("p_wrong", "number", ""), ColumnInfo("p_o_box", "text", "")]
    )
    table.show_columns()
    assert table.hidden_columns == ["p_wrong"]
    table.show_all_columns()
    assert table.hidden_columns == []
