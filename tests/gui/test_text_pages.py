"""Files without pages are shown as readable pages: wrapped, with the words marked, and left as they were."""

from __future__ import annotations

import asyncio
import shutil
import time
from pathlib import Path

import pytest
from gui_places import open_case, place_of
from gui_waiting import WAIT
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QRunnable, Qt, QThreadPool
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from desktop.page_view import PageView, lay_out, stretches_of, wrapped
from desktop.places.documents import DocumentsPlace
from desktop.viewer import PictureLoader
from desktop.window import MainWindow
from engine.documents.options import ParseOptions
from engine.executor.sources import ingest
from storage.case import Case

RECORDS = Path(__file__).resolve().parents[2] / "examples" / "police" / "records"
SENTENCE = "On 4 March 2019 I saw Officer Daniel Harmon strike a man, who had both hands above his head. "
PARAGRAPH = (SENTENCE * 6).strip()


@given(st.text(alphabet="ab -\u00e9", max_size=60), st.integers(1, 12))
def test_parts_are_the_text_and_fit(text: str, most: int) -> None:
    parts = wrapped(text, most)
    assert "".join(parts) == text
    assert all(len(part.rstrip()) <= most for part in parts)


def test_words_are_cut_behind_spaces() -> None:
    assert wrapped("one two three", 7) == ["one two ", "three"]
    assert wrapped("abcdefghij", 4) == ["abcd", "efgh", "ij"]


def test_words_are_found_as_they_are_written_or_in_part() -> None:
    text = "saw Officer D. Harmon, and  Ana\u00a0Ruiz"
    assert [text[a:b] for a, b in stretches_of(text, "ana ruiz")] == ["Ana\u00a0Ruiz"]
    assert [text[a:b] for a, b in stretches_of(text, "Daniel Harmon")] == ["Harmon"]
    assert stretches_of(text, "42") == stretches_of(text, "") == []


def test_a_paragraph_is_wrapped_and_copied_as_one_line(qtbot: QtBot) -> None:
    view = PageView()
    qtbot.addWidget(view)
    lines, width, height = lay_out([(1, PARAGRAPH, None), (2, "The end.", None)], 400.0)
    assert len(lines) > 6
    assert [line.goes_on for line in lines].count(False) == 2
    assert max(line.box[2] for line in lines) <= width <= 400.0 + 1
    view.show_page(width, height, lines, is_text=True)
    view.select_all()
    assert view.selected_text() == f"{PARAGRAPH}\nThe end."
    marked = view.boxes_of_words([1], "Daniel Harmon")
    assert len(marked) >= 6  # one in each sentence; two where it is cut
    longest = lines[0].box[2] - lines[0].box[0]
    assert all(x1 - x0 < longest / 2 for x0, _, x1, _ in marked)
    assert view.boxes_of_words([2], "nothing like it") == [lines[-1].box]


@pytest.fixture
def letters(tmp_path: Path) -> Path:
    folder = tmp_path / "letters"
    folder.mkdir()
    for name in ("one", "two"):
        (folder / f"{name}.txt").write_text(f"LETTER {name}\n\n" + f"{PARAGRAPH}\n\n" * 30, encoding="utf-8")
    path = tmp_path / "letters.redwell"
    with Case(path) as case:
        asyncio.run(ingest(folder, case, lambda event: None, dataset="r", options=ParseOptions(), workers=1))
    return path


def documents_of(qtbot: QtBot, window: MainWindow, case: Path) -> DocumentsPlace:
    """Open a case and go to its documents."""
    open_case(qtbot, window, case)
    window.go_to("Documents")
    return place_of(window, DocumentsPlace)


def test_zoom_and_place_belong_to_the_document_and_a_click_changes_an_open_viewer(
    qtbot: QtBot, window: MainWindow, letters: Path
) -> None:
    place = documents_of(qtbot, window, letters)
    qtbot.waitUntil(lambda: place.model.row(1) is not None, timeout=WAIT)
    first, second = (str(place.model.row(number).id) for number in (0, 1))  # type: ignore[index]
    viewer = place.viewer
    place.table.clicked.emit(place.model.index(0, 1))
    assert not viewer.isVisible()  # a click alone opens nothing
    with qtbot.waitSignal(viewer.page_shown, timeout=WAIT):
        place.show_document(first)
    letters_high = viewer.view.transform().m11() * 11
    assert letters_high > 9  # pixels: it can be read
    assert viewer._hint.isHidden()
    viewer.zoom_by(1.5)
    viewer.view.verticalScrollBar().setValue(240)
    zoom = viewer.view.transform().m11()
    with qtbot.waitSignal(viewer.page_shown, timeout=WAIT):
        place.table.clicked.emit(place.model.index(1, 1))
    assert viewer.document == second
    assert viewer.view.transform().m11() != pytest.approx(zoom)
    with qtbot.waitSignal(viewer.page_shown, timeout=WAIT):
        place.table.clicked.emit(place.model.index(0, 1))
    assert (viewer.document, viewer.view.verticalScrollBar().value()) == (first, 240)
    assert viewer.view.transform().m11() == pytest.approx(zoom)


def test_lines_found_are_gone_through_one_by_one(qtbot: QtBot, window: MainWindow, letters: Path) -> None:
    place = documents_of(qtbot, window, letters)
    qtbot.waitUntil(lambda: place.model.row(0) is not None, timeout=WAIT)
    viewer = place.viewer
    with qtbot.waitSignal(viewer.page_shown, timeout=WAIT):
        place.show_document(str(place.model.row(0).id))  # type: ignore[index]
    viewer.sought.setText("Harmon")
    viewer.next_found.click()  # which looks for what was typed, as Return does
    qtbot.waitUntil(lambda: len(viewer._found) > 1, timeout=WAIT)
    for page, line in sorted(viewer._found)[:2]:
        with qtbot.waitSignal(viewer.page_shown, timeout=WAIT):
            viewer.next_found.click()
        assert (viewer.page, viewer.line) == (page, line)
        assert viewer.view.marked("evidence") > 0


def test_enter_leads_from_line_to_line_and_looks_through_another_document_anew(
    qtbot: QtBot, window: MainWindow, letters: Path
) -> None:
    place = documents_of(qtbot, window, letters)
    qtbot.waitUntil(lambda: place.model.row(1) is not None, timeout=WAIT)
    first, second = (str(place.model.row(number).id) for number in (0, 1))  # type: ignore[union-attr]
    viewer = place.viewer
    with qtbot.waitSignal(viewer.page_shown, timeout=WAIT):
        place.show_document(first)
    viewer.sought.setText("Harmon")
    QTest.keyClick(viewer.sought, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: len(viewer._found) > 1, timeout=WAIT)
    count = viewer._count.text()
    assert count == f"{len(viewer._found)} lines"
    for page, line in sorted(viewer._found)[:2]:
        with qtbot.waitSignal(viewer.page_shown, timeout=WAIT):
            QTest.keyClick(viewer.sought, Qt.Key.Key_Return)
        assert (viewer.page, viewer.line) == (page, line)
    with qtbot.waitSignal(viewer.page_shown, timeout=WAIT):
        place.show_document(second)
    assert viewer._count.text() == ""
    QTest.keyClick(viewer.sought, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: viewer._count.text() == count, timeout=WAIT)
    viewer.clear()
    assert viewer._count.text() == ""


def test_a_line_found_that_is_not_among_those_shown_of_a_long_text_is_shown(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    folder, path = tmp_path / "long", tmp_path / "long.redwell"
    folder.mkdir()
    (folder / "long.txt").write_text("A line.\n" * 2_500 + "Larkmoor was there.\n", encoding="utf-8")
    with Case(path) as case:
        asyncio.run(ingest(folder, case, lambda event: None, dataset="r", options=ParseOptions(), workers=1))
    place = documents_of(qtbot, window, path)
    qtbot.waitUntil(lambda: place.model.row(0) is not None, timeout=WAIT)
    viewer = place.viewer
    with qtbot.waitSignal(viewer.page_shown, timeout=WAIT):
        place.show_document(str(place.model.row(0).id))  # type: ignore[union-attr]
    assert viewer.view.lines[-1].number < 2_501
    with qtbot.waitSignal(viewer.page_shown, timeout=WAIT):
        viewer.look_for("Larkmoor")
    assert (viewer.line, viewer.view.marked("found")) == (2_501, 1)


class Slow(QRunnable):
    """A picture that somebody else draws."""

    def __init__(self, drawn: list[bool]) -> None:
        super().__init__()
        self._drawn = drawn

    def run(self) -> None:
        time.sleep(1.0)
        self._drawn.append(True)


def test_a_page_that_is_left_waits_for_no_pictures_but_its_own(qtbot: QtBot) -> None:
    drawn: list[bool] = []
    QThreadPool.globalInstance().start(Slow(drawn))
    PictureLoader().wait()
    assert drawn == []


def test_a_file_that_was_moved_shows_the_text_that_was_read(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    folder = tmp_path / "orders"
    folder.mkdir()
    moved = Path(shutil.copy(next(RECORDS.glob("03_order*")), folder))
    path = tmp_path / "orders.redwell"
    with Case(path) as case:
        asyncio.run(ingest(folder, case, lambda event: None, dataset="r", options=ParseOptions(), workers=1))
    moved.rename(tmp_path / "elsewhere.pdf")
    open_case(qtbot, window, path)
    window.go_to("Documents")
    place = place_of(window, DocumentsPlace)
    qtbot.waitUntil(lambda: place.model.row(0) is not None, timeout=WAIT)
    place.show_document(str(place.model.row(0).id))  # type: ignore[index]
    qtbot.waitUntil(lambda: str(moved) in place.viewer._hint.text(), timeout=WAIT)
    assert "The text below is what was read from it" in place.viewer._hint.text()
    assert place.viewer.view._text is not None  # laid over the page that cannot be drawn


def test_words_that_a_reader_of_scans_may_have_misread_are_found(
    qtbot: QtBot, window: MainWindow, letters: Path
) -> None:
    place = documents_of(qtbot, window, letters)
    place.words.setText("Larkmoor")
    qtbot.waitUntil(lambda: place.hits.hits.rowCount() == 0 and "nor similar" in window.messages.text, timeout=WAIT)
    place.words.setText("Harrnon")
    qtbot.waitUntil(lambda: place.hits.hits.rowCount() > 0, timeout=WAIT)
    qtbot.waitUntil(lambda: "similar words" in window.messages.text, timeout=WAIT)
