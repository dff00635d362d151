"""The window as a person uses it, without a screen and with a real worker."""

from __future__ import annotations

import os
import re
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from gui_dropping import drop
from gui_places import open_case, place_of
from gui_waiting import UNFORKED, WAIT
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QLineEdit, QMessageBox, QWidget
from pytestqt.qtbot import QtBot
from watchdog import Watchdog

from desktop.places.documents import DocumentsPlace
from desktop.places.start import StartPlace
from desktop.window import MainWindow
from engine.worker.contract.documents import Removal
from storage.case import Case


@pytest.fixture
def leaks(records: Path, tmp_path: Path) -> Path:
    """A folder of records that is nobody else's, copied before a watchdog looks on."""
    return Path(shutil.copytree(records, tmp_path / "leaks"))


def test_a_dropped_folder_becomes_a_case_and_is_read(
    qtbot: QtBot, window: MainWindow, leaks: Path, watchdog: Watchdog
) -> None:
    place = place_of(window, DocumentsPlace)
    drop(window, leaks)
    qtbot.waitUntil(place.ingest.start.isVisible, timeout=WAIT)
    assert "5 files" in place.ingest.text
    assert window.current is place
    assert Path(window.workspace.case) == leaks.with_name("leaks.redwell")
    with qtbot.waitSignal(window.workspace.job.finished, timeout=WAIT):
        QTest.mouseClick(place.ingest.start, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: place.model.rowCount() == 5, timeout=WAIT)
    qtbot.waitUntil(lambda: place.failures.model.rowCount() == 1, timeout=WAIT)
    assert window.workspace.job.progress.failed == 1
    assert "1 file could not be read" in place.ingest.text


def test_reading_is_cancelled_and_what_was_read_is_kept(
    qtbot: QtBot, window: MainWindow, records: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(records, tmp_path / "many"))
    place = place_of(window, DocumentsPlace)
    drop(window, folder)
    qtbot.waitUntil(place.ingest.start.isVisible, timeout=WAIT)
    QTest.mouseClick(place.ingest.start, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: window.workspace.job.progress.done >= 1, timeout=WAIT)
    with qtbot.waitSignal(window.workspace.job.finished, timeout=WAIT) as finished:
        window.workspace.job.cancel()
    assert finished.args[0] in (1, 130)
    qtbot.waitUntil(lambda: place.model.rowCount() >= 1 or window.workspace.summary.failures == 1, timeout=WAIT)


def test_a_dropped_case_is_opened_and_remembered(
    qtbot: QtBot, new_window: Callable[[], MainWindow], case: Path
) -> None:
    first = new_window()
    with qtbot.waitSignal(first.workspace.case_opened, timeout=WAIT):
        drop(first, case)
    qtbot.waitUntil(lambda: place_of(first, DocumentsPlace).model.rowCount() == 5, timeout=WAIT)
    first.close()
    second = new_window()
    start = place_of(second, StartPlace)
    assert second.current is start
    item = start._recent.item(0)
    assert item.data(Qt.ItemDataRole.UserRole) == str(case)
    with qtbot.waitSignal(second.workspace.case_opened, timeout=WAIT):
        start._recent.itemActivated.emit(item)


def test_a_case_is_known_by_its_suffix_in_large_letters_too(qtbot: QtBot, window: MainWindow, case: Path) -> None:
    with qtbot.waitSignal(window.workspace.case_opened, timeout=WAIT) as opened:
        drop(window, case.rename(case.with_name("SAMPLE.REDWELL")))
    assert Path(opened.args[0]).name == "SAMPLE.REDWELL"


def test_words_lead_to_the_line_on_its_page(qtbot: QtBot, opened: MainWindow, watchdog: Watchdog) -> None:
    place = place_of(opened, DocumentsPlace)
    QTest.keyClicks(place.words, "settlement")
    qtbot.waitUntil(lambda: place.hits.hits.rowCount() > 0, timeout=WAIT)
    with qtbot.waitSignal(place.viewer.page_shown, timeout=WAIT):
        place.hits.activated.emit(place.hits.hits.index(0, 0))
    assert place.viewer.view.marked("evidence") == 1
    if not place.viewer._is_text:
        qtbot.waitSignal(place.viewer.picture_shown, timeout=WAIT).wait()


def test_filters_tags_and_stars(qtbot: QtBot, opened: MainWindow) -> None:
    place = place_of(opened, DocumentsPlace)
    qtbot.waitUntil(lambda: place.model.rowCount() == 5 and place.model.row(0) is not None, timeout=WAIT)
    place.table.selectRow(0)
    place.tag("to read")
    place.toggle_star()
    qtbot.waitUntil(lambda: (row := place.model.row(0)) is not None and row.tags == ("to read",), timeout=WAIT)
    qtbot.waitUntil(lambda: (row := place.model.row(0)) is not None and row.starred, timeout=WAIT)
    starred = lambda: [box for box in place.facets._boxes() if "Starred" in box.text(0)]  # noqa: E731
    qtbot.waitUntil(lambda: bool(starred()), timeout=WAIT)
    starred()[0].setCheckState(0, Qt.CheckState.Checked)
    qtbot.waitUntil(lambda: place.model.rowCount() == 1, timeout=WAIT)
    place.clear_filters()
    qtbot.waitUntil(lambda: place.model.rowCount() == 5, timeout=WAIT)
    QTest.keyClicks(place.names, "order")
    qtbot.waitUntil(lambda: place.model.rowCount() == 1, timeout=WAIT)


def test_a_document_is_removed_after_a_question_and_put_back(qtbot: QtBot, opened: MainWindow) -> None:
    place = place_of(opened, DocumentsPlace)
    qtbot.waitUntil(lambda: place.model.rowCount() > 1, timeout=WAIT)
    count = place.model.rowCount()
    place.table.selectRow(0)
    place.ask_removal()
    qtbot.waitUntil(lambda: bool(opened.findChildren(QMessageBox)), timeout=WAIT)
    box = opened.findChildren(QMessageBox)[-1]
    assert "It can be put back" in box.informativeText()
    next(button for button in box.buttons() if button.text() == "Remove").click()
    qtbot.waitUntil(lambda: place.model.rowCount() == count - 1, timeout=WAIT)
    qtbot.waitUntil(lambda: opened.workspace.summary.documents == count - 1, timeout=WAIT)
    removed = lambda: [box for box in place.facets._boxes() if box.text(0) == "Removed from the case"]  # noqa: E731
    qtbot.waitUntil(lambda: bool(removed()), timeout=WAIT)
    removed()[0].setCheckState(0, Qt.CheckState.Checked)
    qtbot.waitUntil(lambda: place.model.rowCount() == 1, timeout=WAIT)
    place.table.selectRow(0)
    place.put_back()
    qtbot.waitUntil(lambda: place.model.rowCount() == 0, timeout=WAIT)
    place.clear_filters()
    qtbot.waitUntil(lambda: place.model.rowCount() == count, timeout=WAIT)


def test_the_question_before_a_removal_counts_rows_and_reviews(opened: MainWindow) -> None:
    place = place_of(opened, DocumentsPlace)
    for reviewed in (0, 2):
        place._ask_removal(["a"], Removal(documents=1, rows=3, reviewed=reviewed))
        box = opened.findChildren(QMessageBox)[-1]
        assert "3 rows of results show them and will go on doing so." in box.informativeText()
        assert ("Reviews were made in 2 of these, and stay." in box.informativeText()) == bool(reviewed)
        box.reject()


def test_the_viewer_turns_pages_zooms_finds_and_copies(qtbot: QtBot, opened: MainWindow, watchdog: Watchdog) -> None:
    place, viewer = place_of(opened, DocumentsPlace), place_of(opened, DocumentsPlace).viewer
    qtbot.waitUntil(lambda: place.model.row(0) is not None, timeout=WAIT)
    order = next(row for n in range(5) if (row := place.model.row(n)) and row.kind == "pdf")
    with qtbot.waitSignals([viewer.page_shown, viewer.picture_shown], timeout=WAIT):
        place.show_document(order.id)
    assert viewer.page == 1
    qtbot.waitUntil(lambda: viewer.sections.box.count() > 0, timeout=WAIT)
    with qtbot.waitSignal(viewer.page_shown, timeout=WAIT):
        viewer.sections.box.activated.emit(viewer.sections.box.count() - 1)
    assert (viewer.page, viewer.view.marked("evidence")) == (3, 1)
    for page in (1, 3):
        with qtbot.waitSignal(viewer.page_shown, timeout=WAIT):
            viewer.go_to_page(page)
    viewer.go_to_page(4)
    assert viewer.page == 3
    viewer.zoom_by(2.0)
    viewer.rotate()
    viewer.fit()
    viewer.layer.setChecked(True)
    viewer.view.select_all()
    viewer.view.copy()
    assert QGuiApplication.clipboard().text() == "\n".join(line.text for line in viewer.view.lines)
    first = viewer.view.lines[0].number
    with qtbot.waitSignal(viewer.page_shown, timeout=WAIT):
        viewer.show_document(order.id, 2, lines=[first - 2, first - 1])
    assert viewer.view.marked("evidence") == 2
    viewer.look_for("Larkmoor")
    qtbot.waitUntil(lambda: bool(viewer._found), timeout=WAIT)
    with qtbot.waitSignal(viewer.page_shown, timeout=WAIT):
        viewer.show_document(next(place.model.row(n) for n in range(5) if place.model.row(n).kind == "text").id)
    assert viewer._is_text
    assert viewer.view.lines


def test_a_picture_that_comes_late_is_not_put_on_another_page(qtbot: QtBot, opened: MainWindow) -> None:
    place, viewer = place_of(opened, DocumentsPlace), place_of(opened, DocumentsPlace).viewer
    qtbot.waitUntil(lambda: place.model.row(0) is not None, timeout=WAIT)
    order = next(row for n in range(5) if (row := place.model.row(n)) and row.kind == "pdf")
    with qtbot.waitSignals([viewer.page_shown, viewer.picture_shown], timeout=WAIT):
        place.show_document(order.id)
    file = viewer._file
    viewer.go_to_page(2)
    with qtbot.assertNotEmitted(viewer.picture_shown):
        viewer._picture_loaded(file, QImage(file))
    qtbot.waitSignal(viewer.picture_shown, timeout=WAIT).wait()


def test_a_line_found_is_in_sight_though_the_document_was_left_elsewhere(qtbot: QtBot, opened: MainWindow) -> None:
    place, viewer = place_of(opened, DocumentsPlace), place_of(opened, DocumentsPlace).viewer
    qtbot.waitUntil(lambda: place.model.row(0) is not None, timeout=WAIT)
    rows = [row for n in range(5) if (row := place.model.row(n))]
    order, letter = (next(row.id for row in rows if row.kind == kind) for kind in ("pdf", "text"))

    def show(document: str, page: int = 1) -> str:
        with qtbot.waitSignal(viewer.page_shown, timeout=WAIT):
            place.show_document(document, page)
        return " ".join(line.text for line in viewer.view.lines)

    last, others = show(order, 3), f"{show(order, 2)} {show(order)}".lower()
    word = next(word for word in re.findall("[A-Za-z]{6,}", last) if word.lower() not in others)
    viewer.zoom_by(3.0)
    bar = viewer.view.verticalScrollBar()
    bar.setValue(bar.maximum() - 100)  # the end itself moves when a message above the page comes or goes
    left = bar.value()
    show(letter)
    show(order)
    assert (viewer.page, bar.value()) == (1, left)
    viewer.look_for(word)
    qtbot.waitUntil(lambda: viewer.page == 3 and viewer.view.marked("found") > 0, timeout=WAIT)
    x0, y0, x1, y1 = viewer.view._marks["found"]._boxes[0]
    box = viewer.view.mapFromScene(QRectF(x0, y0, x1 - x0, y1 - y0)).boundingRect()
    assert viewer.view.viewport().rect().intersects(box)


def test_dragging_selects_words(qtbot: QtBot, opened: MainWindow) -> None:
    place, viewer = place_of(opened, DocumentsPlace), place_of(opened, DocumentsPlace).viewer
    qtbot.waitUntil(lambda: place.model.row(0) is not None, timeout=WAIT)
    with qtbot.waitSignal(viewer.page_shown, timeout=WAIT):
        place.show_document(place.model.row(0).id)
    view, port = viewer.view, viewer.view.viewport()
    middle = [view.mapFromScene((x0 + x1) / 2, (y0 + y1) / 2) for x0, y0, x1, y1 in (ln.box for ln in view.lines[:3])]
    QTest.mousePress(port, Qt.MouseButton.LeftButton, pos=middle[0])
    QTest.mouseMove(port, middle[2])
    QTest.mouseRelease(port, Qt.MouseButton.LeftButton, pos=middle[2])
    qtbot.waitUntil(lambda: view.selection is not None and view.selection.last.line == 2, timeout=WAIT)
    first, between, last = view.selected_text().split("\n")
    texts = [line.text for line in view.lines[:3]]
    assert between == texts[1]
    assert first
    assert last
    assert texts[0].endswith(f" {first}") or texts[0] == first  # whole words
    assert texts[2].startswith(f"{last} ") or texts[2] == last


def test_the_palette_finds_and_does_an_action(qtbot: QtBot, opened: MainWindow) -> None:
    opened.go_to("Start")
    palette = opened.show_palette()
    QTest.keyClicks(palette.findChild(QLineEdit), "documents")
    names = [palette._list.item(n).text() for n in range(palette._list.count())]
    assert any(name.startswith("Documents") for name in names)
    chosen = next(n for n, name in enumerate(names) if name.startswith("Documents"))
    palette._list.setCurrentRow(chosen)
    QTest.keyClick(palette.findChild(QLineEdit), Qt.Key.Key_Return)
    assert opened.current is place_of(opened, DocumentsPlace)


def test_every_control_has_a_name_and_every_action_a_shortcut(qtbot: QtBot, opened: MainWindow) -> None:
    place_of(opened, DocumentsPlace).viewer.show()
    nameless = []
    for widget in opened.findChildren(QWidget):
        inner = widget.objectName().startswith("qt_") or widget.parent().__class__.__name__ == "QSpinBox"
        if widget.focusPolicy() == Qt.FocusPolicy.NoFocus or inner:
            continue
        text = getattr(widget, "text", lambda: "")
        if not widget.accessibleName() and not (callable(text) and text()):
            nameless.append(f"{type(widget).__name__} in {type(widget.parent()).__name__}")
    assert nameless == []
    actions = opened.actions_.all
    assert all(action.shortcut().toString() for action in actions)
    assert len({action.shortcut().toString() for action in actions}) == len(actions)
    in_menus = {action for menu in opened.actions_._menus.values() for action in menu.actions()}
    assert set(actions) <= in_menus


def test_what_a_label_says_is_part_of_its_name(qtbot: QtBot, opened: MainWindow) -> None:
    """Else a screen reader is told the name alone."""
    for place in opened.places:
        opened.go_to(place.name)
        qtbot.waitUntil(lambda: not opened.workspace.client.waiting, timeout=WAIT)
    unheard = [
        f"{label.accessibleName()}: {label.text()}"
        for label in opened.findChildren(QLabel)
        if label.accessibleName() and label.text() not in label.accessibleName()
    ]
    assert unheard == []


def test_no_key_is_one_that_a_desktop_takes_for_itself(window: MainWindow) -> None:
    """A console, the end of the session, the locked screen, the desktop, another desktop, a terminal, a recording.

    And a letter by its number: IBus takes Ctrl+Shift+U.
    """
    keys = {action.shortcut().toString() for action in window.actions_.all}
    desktops = r"Ctrl\+Alt\+(F\d+|(Shift\+)?Del|Backspace|Up|Down|Left|Right|D|L|T|Shift\+R)"
    taken = [key for key in keys if re.fullmatch(rf"{desktops}|Ctrl\+Shift\+U", key)]
    assert taken == []


@pytest.mark.parametrize("name", ["Documents", "Run", "Export"])
def test_another_case_leaves_the_keyboard_in_the_place_that_is_shown(
    qtbot: QtBot, opened: MainWindow, case: Path, read_case: Path, name: str
) -> None:
    opened.go_to(name)
    other = Path(shutil.copy(read_case, case.with_name("other.redwell")))
    open_case(qtbot, opened, other)
    assert opened.current is not None and opened.current.name == name
    assert opened.current.isAncestorOf(opened.focusWidget())


def test_it_fits_a_small_screen_with_large_letters(qtbot: QtBot, opened: MainWindow) -> None:
    opened.set_theme("dark")
    opened.scale_font(1)
    opened.scale_font(0)
    opened.set_theme("light")
    place_of(opened, DocumentsPlace).viewer.show()
    assert opened.minimumSizeHint().width() <= 1280
    assert opened.minimumSizeHint().height() <= 720


def test_a_case_that_is_not_there_is_said_and_nothing_opens(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    with qtbot.waitSignal(window.workspace.said, timeout=WAIT):
        window.workspace.open_case(str(tmp_path / "none.redwell"))
    assert "there is no case" in window.messages.text
    assert window.workspace.case == ""
    window.go_to("Documents")
    assert isinstance(window.current, StartPlace)


def test_the_watchdog_notices(qtbot: QtBot) -> None:
    dog = Watchdog(limit_milliseconds=20.0)
    dog.start()
    qtbot.wait(50)
    with qtbot.waitSignal(dog.blocked, timeout=WAIT):
        QTest.qSleep(200)
    dog.stop()
    assert max(dog.blocks) > 150


def test_the_window_waits_until_changes_are_kept(qtbot: QtBot, opened: MainWindow, case: Path) -> None:
    with Case(case, read_only=True) as read:
        ids = [entry.id for entry in read.documents.entries()]
    for number in range(60):
        opened.workspace.edit("documents.tag", documents=ids, tag=f"tag {number}")
    assert not opened.close()
    qtbot.waitUntil(lambda: not opened.isVisible(), timeout=WAIT)
    with Case(case, read_only=True) as read:
        assert len(read.labels.tags()) == 60


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
@UNFORKED
def test_the_window_asks_before_it_leaves_changes_that_take_long(
    qtbot: QtBot, opened: MainWindow, case: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("desktop.window._KEEPING_MILLISECONDS", 100)
    monkeypatch.setattr("desktop.client.CLOSING_MILLISECONDS", 100)
    os.kill(opened.workspace.client.process_id, signal.SIGSTOP)
    opened.workspace.edit("documents.tag", documents=[], tag="tag")
    assert not opened.close()
    qtbot.waitUntil(lambda: bool(opened.findChildren(QMessageBox)), timeout=WAIT)
    box = opened.findChildren(QMessageBox)[-1]
    assert "still being kept" in box.text()
    assert opened.isVisible()
    with qtbot.waitSignal(opened.closing, timeout=WAIT):
        next(button for button in box.buttons() if button.text() == "Close").click()


def test_what_is_copied_is_selected_where_the_keyboard_is(qtbot: QtBot, opened: MainWindow) -> None:
    place = place_of(opened, DocumentsPlace)
    place.words.setText("settlement")
    qtbot.waitUntil(lambda: place.hits.hits.rowCount() > 0, timeout=WAIT)
    first = place.hits.hits.index(0, 0)
    with qtbot.waitSignal(place.viewer.page_shown, timeout=WAIT):
        place.hits.clicked.emit(first)
    place.viewer.view.select_all()
    place.hits.setCurrentIndex(first)
    place.hits.setFocus()
    QTest.keyClick(place.hits, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == " ".join(first.data().split())
    place.facets.setFocus()
    box = place.facets._boxes()[0]
    place.facets.setCurrentItem(box)
    opened.copy()
    assert QGuiApplication.clipboard().text() == f"{box.text(0)}\t{box.text(1)}"
    place.words.setFocus()
    place.words.selectAll()
    opened.copy()  # as from the menu: the key is taken by the box itself
    assert QGuiApplication.clipboard().text() == "settlement"
    place.viewer.view.setFocus()
    opened.copy()
    assert QGuiApplication.clipboard().text() == place.viewer.view.selected_text()
