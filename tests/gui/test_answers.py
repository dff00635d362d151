"""Answers beside the table of results, and questions back, with a real worker on a scripted model."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from answering_redwell import make_leases
from gui_places import open_case, place_of
from gui_waiting import WAIT, shut
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from desktop.places.results import ResultsPlace
from desktop.places.run import RunPlace
from desktop.window import MainWindow

ANSWERING = Path(__file__).resolve().parents[1] / "fixtures" / "answering_redwell.py"


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "calls"
    path.touch()
    monkeypatch.setenv("REDWELL_TEST_CALLS", str(path))
    return path


@pytest.fixture
def scripted_program() -> Path:
    return ANSWERING


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the folder of `home` is kept as the run has left it; not there until then."""
    return tmp_path_factory.mktemp("answers") / "kept"


@pytest.fixture
def home(kept: Path) -> Iterator[Path]:
    """The folder of the records, the pipeline and the case: always the same, for the case names its files."""
    folder = kept.with_name("home")
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def ran(qtbot: QtBot, start_window: Callable[[float], MainWindow], home: Path, calls: Path) -> MainWindow:
    """The window with two leases read, and four questions about them answered."""
    pipeline = make_leases(home)
    made = start_window(0.0)
    open_case(qtbot, made, home / "a.redwell", create=True)
    job = made.workspace.job
    with qtbot.waitSignal(job.finished, timeout=WAIT):
        job.start("ingest", folder=str(home / "records"), case=made.workspace.case)
    made.go_to("Run")
    place = place_of(made, RunPlace)
    place.queue.add(str(pipeline))
    qtbot.waitUntil(lambda: len(place.queue.entries) == 1, timeout=WAIT)
    with qtbot.waitSignal(made.workspace.run_finished, timeout=WAIT):
        place.start()
    return made


@pytest.fixture
def window(
    qtbot: QtBot,
    start_window: Callable[[float], MainWindow],
    home: Path,
    kept: Path,
    calls: Path,
    request: pytest.FixtureRequest,
) -> MainWindow:
    """A window with the case of `ran`, opened again: only the first test waits for the run."""
    if kept.exists():
        shutil.copytree(kept, home)
    else:
        shut(request.getfixturevalue("ran"))
        shutil.copytree(home, kept)
    made = start_window(0.0)
    open_case(qtbot, made, home / "a.redwell")
    qtbot.waitUntil(lambda: len(place_of(made, RunPlace).queue.entries) == 1, timeout=WAIT)
    return made


@pytest.fixture
def results(qtbot: QtBot, window: MainWindow) -> ResultsPlace:
    """Results, with the row of the long lease chosen and its answers open."""
    window.go_to("Results")
    place = place_of(window, ResultsPlace)
    qtbot.waitUntil(lambda: place.model.rowCount() == 2 and place.model.row(1) is not None, timeout=WAIT)
    open_answer(qtbot, place, "effective")
    return place


def open_answer(qtbot: QtBot, place: ResultsPlace, column: str) -> None:
    """Click a cell of the row that is in doubt."""
    names = [each.name for each in place.model.columns]
    row = next(n for n in range(2) if place.model.row(n).cells[names.index("effective_status")] == "conflict")
    place.table.go_to(row, names.index(column) + 1)
    place.table.clicked.emit(place.table.currentIndex())
    qtbot.waitUntil(lambda: (answer := place.answers.current()) is not None and answer.name == column, timeout=WAIT)


def test_what_contradicts_itself_stands_side_by_side_and_opens_its_pages(qtbot: QtBot, results: ResultsPlace) -> None:
    panel = results.answers
    assert results.parts.side is panel
    texts = [panel.tree.topLevelItem(n).text(1) for n in range(4)]
    assert texts == ["found, complete", "contradictory, 2 items", "found in part, 2 items", "asks you"]
    original, amended = panel.cards.cards
    assert (original.item.original, amended.item.original) == ("15 March 2024", "1 April 2024")
    assert original.geometry().right() < amended.geometry().left()
    assert "'15 March 2024' (line 2) or '1 April 2024' (line 9)" in panel.note.text()
    qtbot.waitUntil(lambda: (panel.viewer.page, panel.viewer.view.marked("evidence")) == (1, 1), timeout=WAIT)
    with qtbot.waitSignal(panel.viewer.page_shown, timeout=WAIT):
        QTest.mouseClick(amended, Qt.MouseButton.LeftButton)
    assert (panel.viewer.page, panel.viewer.line) == (2, 9)
    original.button.setFocus()
    with qtbot.waitSignal(panel.viewer.page_shown, timeout=WAIT):
        QTest.keyClick(original.button, Qt.Key.Key_Space)
    assert (panel.viewer.page, panel.viewer.line) == (1, 2)


def test_keys_of_the_page_are_for_the_page_in_sight(results: ResultsPlace, window: MainWindow) -> None:
    assert window._viewer() is results.answers.viewer
    results.parts.open_side(results.evidence)
    assert window._viewer() is results.evidence.viewer


def test_items_are_walked_through_with_the_keyboard(qtbot: QtBot, results: ResultsPlace) -> None:
    open_answer(qtbot, results, "paid_for")
    panel = results.answers
    assert "'Annex 3'" in panel.note.text()
    assert not panel.cards.isVisible()
    with qtbot.waitSignal(panel.viewer.page_shown, timeout=WAIT):
        QTest.keyClick(panel.tree, Qt.Key.Key_Down)
    assert panel.viewer.line == 5
    with qtbot.waitSignal(panel.viewer.page_shown, timeout=WAIT):
        QTest.keyClick(panel.tree, Qt.Key.Key_Down)
    assert panel.viewer.line == 6
    assert panel.current() == panel.answers[2]


def test_the_cell_stays_in_sight_and_an_answer_without_lines_shows_no_page(qtbot: QtBot, results: ResultsPlace) -> None:
    table = results.table
    qtbot.waitUntil(
        lambda: table.viewport().rect().contains(table.visualRect(table.currentIndex()).center()), timeout=WAIT
    )
    qtbot.waitUntil(results.answers.viewer.view.isVisible, timeout=WAIT)
    open_answer(qtbot, results, "rent")
    viewer = results.answers.viewer
    assert (viewer.document, viewer.view.isVisible(), viewer.sections.isVisible()) == ("", False, False)
    open_answer(qtbot, results, "landlord")
    assert viewer.view.isVisible()


def test_a_question_back_is_answered_and_only_it_is_asked_again(
    qtbot: QtBot, results: ResultsPlace, window: MainWindow, calls: Path
) -> None:
    open_answer(qtbot, results, "rent")
    panel, first = results.answers, results.run
    assert panel.ask_back.isVisible()
    assert panel.ask_back.question.text() == "The rent of a month, or of a year?"
    assert not panel.ask_back.send.isEnabled()
    before = len(calls.read_text().splitlines())
    QTest.keyClicks(panel.ask_back.answer, "that of a year")
    with qtbot.waitSignal(window.workspace.run_finished, timeout=WAIT):
        QTest.keyClick(panel.ask_back.answer, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: results.run != first, timeout=WAIT)
    assert calls.read_text().splitlines()[before:] == ["answer rent round 1"] * 2
    qtbot.waitUntil(lambda: results.model.rowCount() == 2 and results.model.row(1) is not None, timeout=WAIT)
    open_answer(qtbot, results, "rent")
    qtbot.waitUntil(lambda: panel.answers[3].status == "found", timeout=WAIT)
    assert "You said: that of a year" in panel.question.text()
    assert not panel.ask_back.isVisible()


def test_the_question_that_was_answered_is_asked_again_and_no_other_that_waits(
    qtbot: QtBot, results: ResultsPlace, window: MainWindow, tmp_path: Path
) -> None:
    queue = place_of(window, RunPlace).queue
    (done,) = queue.entries
    queue.add(done.pipeline)
    queue.add(done.pipeline, "case:starred=1")
    qtbot.waitUntil(lambda: len(queue.entries) == 3, timeout=WAIT)
    begun: list[int] = []
    queue.began.connect(begun.append)
    open_answer(qtbot, results, "rent")
    QTest.keyClicks(results.answers.ask_back.answer, "that of a year")
    with qtbot.waitSignal(window.workspace.run_finished, timeout=WAIT):
        QTest.keyClick(results.answers.ask_back.answer, Qt.Key.Key_Return)
    assert begun[0] == queue.entries[1].id


def test_an_answer_can_hold_for_one_document_alone(
    qtbot: QtBot, results: ResultsPlace, window: MainWindow, calls: Path
) -> None:
    open_answer(qtbot, results, "rent")
    ask_back = results.answers.ask_back
    before = len(calls.read_text().splitlines())
    assert ask_back.only_here.isVisible()
    ask_back.only_here.setChecked(True)
    QTest.keyClicks(ask_back.answer, "that of a year")
    with qtbot.waitSignal(window.workspace.run_finished, timeout=WAIT):
        QTest.keyClick(ask_back.answer, Qt.Key.Key_Return)
    assert calls.read_text().splitlines()[before:] == ["answer rent round 1"]
    written = Path(place_of(window, RunPlace).queue.entries[0].pipeline).read_text(encoding="utf-8")
    assert "lease.pdf: that of a year" in written


def test_the_run_shows_what_is_asked_back_and_goes_on(qtbot: QtBot, ran: MainWindow) -> None:
    place = place_of(ran, RunPlace)
    view = place.view
    assert view.tabs.isTabVisible(2)
    assert view.tabs.tabText(2) == "Questions to you (1)"
    view.tabs.setCurrentIndex(2)
    asked = view.asked_back
    assert [asked.model.index(0, n).data() for n in range(3)] == ["2", "rent", "The rent of a month, or of a year?"]
    QTest.keyClicks(asked.ask_back.answer, "of a year")
    with qtbot.waitSignal(ran.workspace.run_finished, timeout=WAIT):
        asked.ask_back.send.click()
    assert [entry.state for entry in place.queue.entries] == ["finished", "finished"]
    assert not view.tabs.isTabVisible(2)


def test_rows_in_doubt_come_first(qtbot: QtBot, results: ResultsPlace) -> None:
    names = [each.name for each in results.model.columns]
    results.parts.boxes["least_agreed_first"].setChecked(True)
    status = names.index("effective_status")
    qtbot.waitUntil(
        lambda: results.model.row(0) is not None and results.model.row(0).cells[status] == "conflict", timeout=WAIT
    )
    assert "the answer is conflict" in results.model.row(0).doubts["effective"]
