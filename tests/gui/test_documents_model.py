"""The table's model against a list in memory: whatever happens, it shows the rows that list has."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from paged_worker import PagedWorker
from PySide6.QtCore import Qt
from PySide6.QtTest import QAbstractItemModelTester
from pytestqt.qtbot import QtBot

from desktop.documents_model import COLUMNS, DocumentsModel, text_source
from desktop.paged_model import PAGE_ROWS
from desktop.rows_model import ROW_ROLE
from engine.worker.contract.documents import DocumentsPage, ListedDocument


def row(number: int) -> ListedDocument:
    return ListedDocument(
        id=f"{number:064x}",
        name=f"file {number}.pdf",
        kind="pdf",
        pages=1 + number % 3,
        lines=10,
        size_bytes=1000 * number,
        ocr_pages=number % 2,
        language="en",
        year=2000 + number % 20,
        copies=1,
        tags=(),
        starred=False,
        path=f"/records/file {number}.pdf",
    )


def select(rows: list[ListedDocument], given: dict[str, Any]) -> list[ListedDocument]:
    return rows[::-1] if given["descending"] else rows


def worker_of(count: int) -> PagedWorker:
    return PagedWorker([row(number) for number in range(count)], select, DocumentsPage)


steps = st.lists(
    st.one_of(
        st.tuples(st.just("look"), st.integers(0, 96)),
        st.tuples(st.just("answer"), st.integers(0, 5)),
        st.tuples(st.just("size"), st.integers(0, 96)),
        st.tuples(st.just("sort"), st.integers(0, 1)),
        st.tuples(st.just("refresh"), st.just(0)),
        st.tuples(st.just("turn"), st.just(0)),
    ),
    max_size=25,
)


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(count=st.integers(0, 80), steps=steps)
def test_whatever_happens_the_rows_are_those_of_the_worker(
    qtbot: QtBot, small_pages: None, count: int, steps: list[tuple[str, int]]
) -> None:
    worker = worker_of(count)
    model = DocumentsModel(worker.ask, worker.forget)
    tester = QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    model.begin()
    for name, value in steps:
        match name:
            case "look":
                model.data(model.index(value, 1))
            case "answer":
                worker.answer(value)
            case "size":
                worker.rows = [row(number) for number in range(value)]
            case "sort":
                model.sort(1, Qt.SortOrder(value))
            case "refresh":
                model.refresh()
            case "turn":
                model._asking.timeout.emit()
    model.refresh()
    worker.settle(model)
    assert model.rowCount() == len(worker.rows)
    ordered = worker.rows[::-1] if model._descending else worker.rows
    for number in {0, len(ordered) // 2, len(ordered) - 1} - {-1}:
        if number < len(ordered):
            model.data(model.index(number, 1))
            worker.settle(model)
            assert model.data(model.index(number, 0), ROW_ROLE) == ordered[number]
    assert tester.model() is model


def test_only_what_is_looked_at_is_fetched(qtbot: QtBot) -> None:
    worker = worker_of(10_000)
    model = DocumentsModel(worker.ask, worker.forget)
    model.begin()
    worker.settle(model)
    model.data(model.index(9_950, 1))
    worker.settle(model)
    assert worker.count == 2
    assert model.data(model.index(9_950, 1)) == "file 9950.pdf"
    assert model.data(model.index(5_000, 1)) is None
    assert len(model._pages) * PAGE_ROWS == 200


@pytest.mark.parametrize(
    ("before", "after", "stay"),
    [
        ({}, {"text": ""}, True),  # no filter is no filter
        ({"text": ""}, {"text": "", "asked_in": ("7",)}, True),  # this only marks what is new
        ({"new": True}, {"new": True, "asked_in": ("7",)}, False),
        ({"text": ""}, {"text": "a"}, False),
    ],
)
def test_rows_stay_until_the_answer_where_the_filter_lets_the_same_documents_through(
    qtbot: QtBot, before: dict[str, Any], after: dict[str, Any], stay: bool
) -> None:
    worker = worker_of(3)
    model = DocumentsModel(worker.ask, worker.forget)
    model.show_only(before)
    model.begin()
    worker.settle(model)
    model.show_only(after)
    assert (model.row(0) is not None) == stay
    worker.settle(model)
    assert model.row(0) == worker.rows[0]
    assert model.question()["only"] == after


def test_that_there_is_no_row_is_told_when_it_is_known(qtbot: QtBot) -> None:
    worker = worker_of(3)
    model = DocumentsModel(worker.ask, worker.forget)
    told: list[int] = []
    model.total_changed.connect(told.append)
    model.begin()
    assert (told, model.is_known) == ([], False)
    worker.settle(model)
    assert (told, model.is_known) == ([3], True)
    worker.rows = []
    model.sort(1, Qt.SortOrder.DescendingOrder)
    assert (told, model.is_known, model.rowCount()) == ([3], False, 0)
    worker.settle(model)
    model.refresh()
    worker.settle(model)
    assert (told, model.is_known) == ([3, 0], True)
    model.end()
    assert told == [3, 0, 0]


@pytest.mark.parametrize(
    ("pages", "ocr", "lines", "said"),
    [(3, 0, 9, "text"), (3, 3, 9, "OCR"), (3, 1, 9, "OCR on 1 of 3"), (3, 0, 0, "no text"), (3, None, 5, "")],
)
def test_where_text_comes_from(pages: int, ocr: int | None, lines: int, said: str) -> None:
    assert text_source(replace(row(1), pages=pages, ocr_pages=ocr, lines=lines)) == said


def test_cells_are_written_for_people() -> None:
    shown = replace(row(12), copies=2, tags=("a", "b"), starred=True, size_bytes=1_234_567)
    assert [column.text(shown) for column in COLUMNS.values()][:2] == ["★", "file 12.pdf"]
    assert COLUMNS["size"].text(shown) == "1.2 MB"
    assert (COLUMNS["copies"].text(shown), COLUMNS["copies"].text(row(1))) == ("2", "")
    assert COLUMNS["tags"].text(shown) == "a, b"
