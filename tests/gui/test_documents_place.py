"""The table of documents: what is selected beyond the rows that are here, and what another case leaves behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from gui_places import open_case, place_of
from gui_waiting import WAIT
from held_answers import Held
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QInputDialog, QMessageBox
from pytestqt.qtbot import QtBot

from desktop.failures_view import outer_file
from desktop.paged_model import PAGE_ROWS
from desktop.places.documents import DocumentsPlace
from desktop.window import MainWindow
from engine.documents.codec import document_to_json
from engine.documents.document import Document, Line, Page, Span
from engine.executor.case_documents import save_document
from engine.rows import DocumentId
from engine.worker.contract import documents
from engine.worker.contract.documents import REMOVAL
from engine.worker.contract.events import DocumentRead
from storage.case import Case
from storage.documents import LineRecord
from storage.listing import DocumentFilter

MANY = 2 * PAGE_ROWS + 50


def make_case(path: Path, count: int) -> Path:
    with Case(path) as case, case.transaction():
        for number in range(count):
            id = f"{number:064x}"
            page = Page(1, 0.0, 0.0, "text", "", Span(1, 1))
            line = Line(1, 1, "An officer struck a man.")
            document = Document(DocumentId(id), f"record {number:05}.txt", "text", 1000, (page,), (line,))
            case.documents.save(
                id,
                filename=document.filename,
                kind="text",
                size_bytes=1000,
                page_count=1,
                body=document_to_json(document),
                lines=[LineRecord(line.number, line.page, line.text)],
            )
            case.documents.add_path(id, f"/records/{document.filename}")
    return path


def open_documents(qtbot: QtBot, window: MainWindow, path: Path, count: int) -> DocumentsPlace:
    open_case(qtbot, window, path)
    window.go_to("Documents")
    place = place_of(window, DocumentsPlace)
    qtbot.waitUntil(lambda: place.model.rowCount() == count and place.model.row(0) is not None, timeout=WAIT)
    return place


@pytest.fixture
def many(tmp_path: Path) -> Path:
    return make_case(tmp_path / "many.redwell", MANY)


@pytest.fixture
def reading(many: Path) -> Iterator[Case]:
    with Case(many, read_only=True) as case:
        yield case


@pytest.fixture
def place(qtbot: QtBot, window: MainWindow, many: Path) -> DocumentsPlace:
    """The table of more documents than come at once."""
    return open_documents(qtbot, window, many, MANY)


def count(case: Case, **wanted: object) -> int:
    return case.listing.count_documents(DocumentFilter(**wanted))  # type: ignore[arg-type]


def select_all(place: DocumentsPlace) -> None:
    place.table.setFocus()
    QTest.keyClick(place.table, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)


def test_selected_documents_are_copied_when_all_are_here(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    place = open_documents(qtbot, window, make_case(tmp_path / "many.redwell", MANY), MANY)
    QGuiApplication.clipboard().setText("before")
    place.table.setFocus()
    place.table.selectAll()
    with qtbot.waitSignal(window.workspace.said, timeout=WAIT) as said:
        window.copy()
    assert "not here yet" in said.args[0]
    assert QGuiApplication.clipboard().text() == "before"
    qtbot.waitUntil(lambda: all(place.model.row(n) is not None for n in (0, PAGE_ROWS, MANY - 1)), timeout=WAIT)
    window.copy()
    lines = QGuiApplication.clipboard().text().splitlines()
    assert len(lines) == MANY
    assert "record 00000.txt" in lines[0].split("\t")


def test_all_that_is_selected_is_tagged_starred_and_offered(qtbot: QtBot, place: DocumentsPlace, reading: Case) -> None:
    select_all(place)
    place.tag("all")
    place.toggle_star()
    qtbot.waitUntil(lambda: count(reading, tags=("all",)) > 0 and count(reading, starred=True) > 0, timeout=WAIT)
    assert (count(reading, tags=("all",)), count(reading, starred=True)) == (MANY, MANY)
    qtbot.waitUntil(lambda: len(set(place.workspace.selected_documents)) == MANY, timeout=WAIT)
    place.toggle_star()
    qtbot.waitUntil(lambda: count(reading, starred=True) == 0, timeout=WAIT)


def test_what_is_selected_stays_so_when_its_rows_come(qtbot: QtBot, place: DocumentsPlace) -> None:
    select_all(place)
    qtbot.waitUntil(lambda: len(place.workspace.selected_documents) == MANY, timeout=WAIT)
    place.model.row(MANY - 1)
    qtbot.waitUntil(lambda: place.model.row(MANY - 1) is not None, timeout=WAIT)
    assert place.table.selectionModel().isRowSelected(MANY - 1)
    assert place.table.selectionModel().isRowSelected(PAGE_ROWS)
    place.deactivate()
    assert len(place.workspace.selected_documents) == MANY


def test_a_selection_from_here_to_a_row_far_down_is_of_these_rows(
    qtbot: QtBot, place: DocumentsPlace, reading: Case
) -> None:
    place.table.selectRow(1)
    place.table.scrollToBottom()
    qtbot.waitUntil(lambda: place.model.row(MANY - 1) is not None, timeout=WAIT)  # and none of those between
    last = place.table.visualRect(place.model.index(MANY - 1, 1)).center()
    shift = Qt.KeyboardModifier.ShiftModifier
    QTest.mouseClick(place.table.viewport(), Qt.MouseButton.LeftButton, shift, last)
    place.tag("all but the first")
    qtbot.waitUntil(lambda: count(reading, tags=("all but the first",)) > 0, timeout=WAIT)
    assert count(reading, tags=("all but the first",)) == MANY - 1


def test_a_tag_is_taken_off_all_that_is_selected(qtbot: QtBot, place: DocumentsPlace, reading: Case) -> None:
    select_all(place)
    place.tag("all")
    qtbot.waitUntil(lambda: count(reading, tags=("all",)) == MANY, timeout=WAIT)
    place.ask_untag()
    qtbot.waitUntil(lambda: bool(place.findChildren(QInputDialog)), timeout=WAIT)
    dialog = place.findChildren(QInputDialog)[-1]
    assert f"{MANY} documents" in dialog.labelText()
    assert dialog.comboBoxItems() == ["all"]
    dialog.accept()
    qtbot.waitUntil(lambda: count(reading, tags=("all",)) == 0, timeout=WAIT)


def test_all_that_is_selected_is_removed_and_put_back(
    qtbot: QtBot, window: MainWindow, place: DocumentsPlace, reading: Case
) -> None:
    select_all(place)
    place.ask_removal()
    qtbot.waitUntil(lambda: bool(window.findChildren(QMessageBox)), timeout=WAIT)
    box = window.findChildren(QMessageBox)[-1]
    assert f"Remove {MANY} documents" in box.text()
    next(button for button in box.buttons() if button.text() == "Remove").click()
    qtbot.waitUntil(lambda: count(reading) == 0, timeout=WAIT)
    qtbot.waitUntil(lambda: place.model.rowCount() == 0, timeout=WAIT)
    place.facets.choose({"removed": True})
    qtbot.waitUntil(lambda: place.model.rowCount() == MANY and place.model.row(0) is not None, timeout=WAIT)
    select_all(place)
    place.put_back()
    qtbot.waitUntil(lambda: count(reading) == MANY, timeout=WAIT)


def test_too_many_documents_to_name_are_refused(
    qtbot: QtBot, place: DocumentsPlace, reading: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("desktop.selected_rows.MOST_SELECTED", MANY - 1)
    select_all(place)
    assert place.workspace.selected_documents == []
    with qtbot.waitSignal(place.workspace.said, timeout=WAIT) as said:
        place.tag("all")
    assert "249" in said.args[0]
    assert count(reading, tags=("all",)) == 0


def test_what_has_no_tag_is_not_said_to_be_not_selected(
    qtbot: QtBot, window: MainWindow, place: DocumentsPlace
) -> None:
    place.table.clearSelection()
    place.ask_untag()
    assert window.messages.text.startswith("No document is selected.")
    place.table.selectRow(0)
    place.ask_untag()
    assert window.messages.text == "These documents have no tag."


def test_documents_that_nobody_sees_are_not_asked_for(
    qtbot: QtBot, window: MainWindow, place: DocumentsPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    window.go_to("Start")
    qtbot.waitUntil(lambda: not window.workspace.client.waiting, timeout=WAIT)
    asked: list[object] = []

    def listen(query: object, *rest: object, **given: object) -> str:
        asked.append(query)
        return ""

    with monkeypatch.context() as patch:
        patch.setattr(window.workspace.client, "ask", listen)
        window.workspace.case_changed.emit("reviews.judge")
        qtbot.wait(50)
    assert [query for query in asked if query in (documents.PAGE, documents.FAILURES, documents.FACETS)] == []
    window.go_to("Documents")
    qtbot.waitUntil(lambda: place.model.row(0) is not None, timeout=WAIT)


def test_no_file_is_said_to_be_read_before_that_is_known(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    held = Held(window, documents.FAILURES)
    failures = open_documents(qtbot, window, make_case(tmp_path / "three.redwell", 3), 3).failures
    qtbot.waitUntil(lambda: bool(held.answers), timeout=WAIT)
    assert failures._hint.text() == ""
    held.answers.pop("three")()
    assert failures._hint.text() == "Every file could be read."
    failures.model.begin()
    assert failures._hint.text() == ""


def test_the_files_that_were_not_read_are_counted_as_the_summary_has_them(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    path = make_case(tmp_path / "three.redwell", 3)
    place = open_documents(qtbot, window, path, 3)
    assert place.tabs.tabText(2) == "Not read"
    qtbot.waitUntil(lambda: not window.workspace.client.waiting, timeout=WAIT)
    with Case(path, beside=True) as case:
        case.documents.save_failure("/records/bad.pdf", None, "corrupt", "damaged")
    window.workspace._tell_change()
    qtbot.waitUntil(lambda: place.tabs.tabText(2) == "Not read (1)", timeout=WAIT)


def test_the_next_case_is_not_said_to_be_empty_before_that_is_known(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    open_case(qtbot, window, make_case(tmp_path / "empty.redwell", 0))
    window.go_to("Documents")
    empty = place_of(window, DocumentsPlace)._empty
    qtbot.waitUntil(empty.isVisible, timeout=WAIT)
    held = Held(window, documents.PAGE)
    open_case(qtbot, window, make_case(tmp_path / "three.redwell", 3))
    qtbot.waitUntil(lambda: "three" in held.answers, timeout=WAIT)
    assert not empty.isVisible()


def test_no_line_and_no_page_of_the_last_case_stays(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    place = open_documents(qtbot, window, make_case(tmp_path / "three.redwell", 3), 3)
    hits = place.hits.hits
    place.words.setText("officer")
    qtbot.waitUntil(lambda: hits.rowCount() == 3, timeout=WAIT)
    with qtbot.waitSignal(place.viewer.page_shown, timeout=WAIT):
        place.hits.clicked.emit(hits.index(0, 0))
    open_case(qtbot, window, make_case(tmp_path / "four.redwell", 4))
    assert (hits.rowCount(), place.viewer.document) == (0, "")


def test_lines_found_are_those_of_documents_that_are_not_removed(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    place = open_documents(qtbot, window, make_case(tmp_path / "three.redwell", 3), 3)
    place.words.setText("officer")
    qtbot.waitUntil(lambda: place.tabs.tabText(1) == "Lines found (3)", timeout=WAIT)
    place.tabs.setCurrentIndex(0)
    window.workspace.edit("documents.remove", documents=[f"{0:064x}"])
    qtbot.waitUntil(lambda: place.tabs.tabText(1) == "Lines found (2)", timeout=WAIT)
    assert place.hits.hits.rowCount() == 2


def test_a_document_that_is_read_again_is_shown_as_it_is_now(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    path, id = make_case(tmp_path / "three.redwell", 3), DocumentId(f"{0:064x}")
    place = open_documents(qtbot, window, path, 3)
    with qtbot.waitSignal(place.viewer.page_shown, timeout=WAIT):
        place.show_document(id)
    qtbot.waitUntil(lambda: not window.workspace.client.waiting, timeout=WAIT)
    page, line = Page(1, 0.0, 0.0, "text", "", Span(1, 1)), Line(1, 1, "He ran.")
    with Case(path, beside=True) as case:
        save_document(case, Document(id, "record 00000.txt", "text", 1000, (page,), (line,)))
    read = DocumentRead("records", "record 00000.txt", id, "parsed", 1, 0, 0.1, 1, 1)
    with qtbot.waitSignal(place.viewer.page_shown, timeout=WAIT):
        window.workspace.client.told.emit(read)
    assert [line.text for line in place.viewer.view.lines] == ["He ran."]


def test_a_password_is_for_the_file_that_it_was_asked_for(
    qtbot: QtBot, opened: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = place_of(opened, DocumentsPlace).failures
    qtbot.waitUntil(lambda: failures.model.row(0) is not None, timeout=WAIT)
    failures.table.selectRow(0)
    file = failures._path()
    read: list[tuple[str, str]] = []
    monkeypatch.setattr(failures, "_read_again", lambda path, password: read.append((path, password)))
    failures._ask_password()
    dialog = failures.findChild(QInputDialog)
    assert dialog is not None
    failures.model.end()  # other files may be listed by now
    dialog.setTextValue("secret")
    dialog.accept()
    assert read == [(outer_file(file), "secret")]


def test_lines_that_were_given_up_come_when_the_place_is_seen_again(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    place = open_documents(qtbot, window, make_case(tmp_path / "three.redwell", 3), 3)
    hits = place.hits.hits
    hits.look_for("officer", {})
    window.go_to("Start")
    qtbot.waitUntil(lambda: not window.workspace.client.waiting, timeout=WAIT)
    assert not hits.rowCount()
    window.go_to("Documents")
    qtbot.waitUntil(lambda: hits.rowCount() == 3, timeout=WAIT)
    window.go_to("Start")
    window.go_to("Documents")
    qtbot.waitUntil(lambda: not window.workspace.client.waiting, timeout=WAIT)
    assert hits.rowCount() == 3, "what is here is not asked for again"


def test_filters_of_the_last_case_do_not_hide_the_documents_of_the_next(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    first = make_case(tmp_path / "first.redwell", 3)
    with Case(first) as case:
        case.labels.tag([f"{0:064x}"], "seen")
        case.labels.remove_documents([f"{1:064x}"])
    place = open_documents(qtbot, window, first, 2)
    place.facets.choose({"removed": True, "tags": ["seen"]})
    place.names.setText("no such name")
    qtbot.waitUntil(lambda: place.model.rowCount() == 0 and place._nothing.isVisible(), timeout=WAIT)
    asked: list[dict[str, object]] = []
    ask = window.workspace.client.ask

    def listen(query: object, *args: object, **given: object) -> str:
        if query is not REMOVAL and "only" in given and given["case"] != str(first):
            asked.append(given["only"])  # type: ignore[arg-type]
        return ask(query, *args, **given)  # type: ignore[call-overload,no-any-return]

    window.workspace.client.ask = listen  # type: ignore[assignment,method-assign]
    open_documents(qtbot, window, make_case(tmp_path / "second.redwell", 4), 4)
    assert place.facets.chosen() == {}
    assert asked and not any(only.get("removed") or only.get("tags") or only.get("text") for only in asked)
