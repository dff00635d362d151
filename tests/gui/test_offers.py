"""Nothing that was dropped or added is lost: several files, folders while another one is read, offers beside runs."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from gui_dropping import drop
from gui_places import open_case, place_of
from gui_waiting import WAIT
from held_answers import Held
from PySide6.QtCore import QItemSelectionModel, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QLineEdit, QMessageBox, QPushButton
from pytestqt.qtbot import QtBot

from desktop.case_dialogs import ask_for_files
from desktop.documents_model import COLUMNS
from desktop.passphrase_dialogs import NewPassphraseDialog, PassphraseDialog
from desktop.places.documents import DocumentsPlace
from desktop.places.results import ResultsPlace
from desktop.places.run import RunPlace
from desktop.window import MainWindow
from engine.disk import questions_folder
from engine.worker.contract.ingest import ESTIMATE


def write(folder: Path, *names: str) -> list[Path]:
    folder.mkdir(exist_ok=True)
    files = [folder / f"{name}.txt" for name in names]
    for file in files:
        file.write_text(f"The letter {file.stem} of {folder.name}.\n", encoding="utf-8")
    return files


def start_reading(qtbot: QtBot, place: DocumentsPlace) -> None:
    qtbot.waitUntil(place.ingest.start.isVisible, timeout=WAIT)
    QTest.mouseClick(place.ingest.start, Qt.MouseButton.LeftButton)


def test_of_several_files_all_are_taken(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    files = write(tmp_path / "letters", "a", "b", "c")
    place = place_of(window, DocumentsPlace)
    drop(window, *files)
    qtbot.waitUntil(lambda: "3 files" in place.ingest.text, timeout=WAIT)
    assert Path(window.workspace.case) == tmp_path / "letters" / "letters.redwell"
    start_reading(qtbot, place)
    qtbot.waitUntil(lambda: place.model.rowCount() == 3, timeout=WAIT)
    qtbot.waitUntil(lambda: "3 files checked" in place.ingest.text, timeout=WAIT)


def test_the_top_of_a_disk_has_its_case_in_it(window: MainWindow, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[tuple[str, dict[str, object]]] = []
    monkeypatch.setattr(window.workspace, "open_case", lambda path, **given: opened.append((path, given)))
    monkeypatch.setattr("desktop.workspace.os.access", lambda path, mode: True)
    top = Path.cwd().anchor
    window.workspace.take_folder(top)
    assert opened == [(str(Path(top) / "records.redwell"), {"create": True, "folders": [top]})]


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    """A folder in a place that cannot be written to, as on a read-only stick."""
    stick = tmp_path / "stick"
    write(stick, "unused")
    write(stick / "records", "a", "b")
    if os.geteuid() != 0:
        stick.chmod(0o555)
        yield stick / "records"
        stick.chmod(0o755)
        return
    for options in (["--bind", str(stick), str(stick)], ["-o", "remount,bind,ro", str(stick)]):
        if shutil.which("mount") is None or subprocess.run(["mount", *options], check=False).returncode:
            pytest.skip("this machine does not allow root to mount a folder read-only")
    yield stick / "records"
    subprocess.run(["umount", str(stick)], check=True)


def test_a_folder_on_a_read_only_stick_is_read_into_a_case_elsewhere(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, read_only: Path
) -> None:
    place = place_of(window, DocumentsPlace)
    drop(window, read_only)
    qtbot.waitUntil(lambda: bool(window.findChildren(QMessageBox)), timeout=WAIT)
    box = window.findChildren(QMessageBox)[-1]
    assert box.text() == f"Nothing can be written to {read_only.parent}."
    choose = next(button for button in box.buttons() if button.text().replace("&", "") == "Choose where…")
    QTest.mouseClick(choose, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: bool(window.findChildren(QFileDialog)), timeout=WAIT)
    dialog = window.findChildren(QFileDialog)[-1]
    assert [Path(name).name for name in dialog.selectedFiles()] == ["records.redwell"]
    dialog.fileSelected.emit(str(tmp_path / "mine.redwell"))
    dialog.close()
    qtbot.waitUntil(lambda: "2 files" in place.ingest.text, timeout=WAIT)
    start_reading(qtbot, place)
    qtbot.waitUntil(lambda: place.model.rowCount() == 2, timeout=WAIT)
    assert Path(window.workspace.case) == tmp_path / "mine.redwell"


def test_a_folder_that_is_added_while_another_is_read_is_offered_after_it(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    write(tmp_path / "first", *map(str, range(12)))
    write(tmp_path / "second", "late")
    place = place_of(window, DocumentsPlace)
    drop(window, tmp_path / "first")
    start_reading(qtbot, place)
    qtbot.waitUntil(lambda: window.workspace.job.is_going, timeout=WAIT)
    drop(window, tmp_path / "second")
    qtbot.waitUntil(lambda: not window.workspace.job.is_going, timeout=WAIT)
    qtbot.waitUntil(lambda: place.ingest.text.startswith("second: 1 file"), timeout=WAIT)
    start_reading(qtbot, place)
    qtbot.waitUntil(lambda: place.model.rowCount() == 13, timeout=WAIT)


def test_what_is_left_of_a_case_is_offered_when_it_is_opened_again(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    folders = [tmp_path / name for name in ("first", "second", "third")]
    for folder in folders:
        write(folder, *map(str, range(6)))
    place, space = place_of(window, DocumentsPlace), window.workspace
    drop(window, *folders)
    qtbot.waitUntil(place.ingest.start.isVisible, timeout=WAIT)
    said: list[tuple[str, str]] = []
    space.said.connect(lambda *told: said.append(told))
    with qtbot.assertNotEmitted(place.ingest.read_to_ask):  # which would ask the other case
        place.ingest._start_to_ask()
        space.job.pause_or_resume()
        first = space.case
        with qtbot.waitSignal(space.case_opened, timeout=WAIT):
            space.open_case(str(tmp_path / "other.redwell"), create=True)
        left = f"2 folders or files were not read into {Path(first).stem} yet."
        assert (left, "What is left is offered when you open that case again.") in said
        space.job.pause_or_resume()
        qtbot.waitUntil(lambda: not space.job.is_going, timeout=WAIT)
    with qtbot.waitSignal(space.case_opened, timeout=WAIT):
        space.open_case(first)
    qtbot.waitUntil(lambda: place.ingest.text.startswith("2 folders or files (second, third): 12 files"), timeout=WAIT)
    start_reading(qtbot, place)
    qtbot.waitUntil(lambda: place.model.rowCount() == 18, timeout=WAIT)
    qtbot.waitUntil(lambda: not space.job.is_going, timeout=WAIT)


def test_what_is_read_into_another_case_is_not_shown_as_read_into_this_one(
    qtbot: QtBot, opened: MainWindow, tmp_path: Path
) -> None:
    write(tmp_path / "letters", "a")
    panel, job = place_of(opened, DocumentsPlace).ingest, opened.workspace.job
    job.name, job.state, job.given = "ingest", "going", {"case": str(tmp_path / "first.redwell")}
    job.changed.emit()
    assert panel.isHidden()
    panel.offer(str(tmp_path / "letters"))
    assert panel.text == "Files are being read into first. What you added is offered when that has ended."
    assert panel._bar.isHidden() and panel.cancel.isHidden()
    job.state = "none"
    job.finished.emit(0)
    qtbot.waitUntil(lambda: panel.text.startswith("letters: 1 file"), timeout=WAIT)


def test_an_offer_does_not_take_the_keyboard_from_who_types(qtbot: QtBot, opened: MainWindow, tmp_path: Path) -> None:
    (file,) = write(tmp_path / "letters", "a")
    place = place_of(opened, DocumentsPlace)
    opened.activateWindow()
    qtbot.waitUntil(opened.isActiveWindow, timeout=WAIT)
    place.names.setFocus()
    QTest.keyClicks(place.names, "order")
    place.ingest.offer(str(file))
    qtbot.waitUntil(place.ingest.start.isVisible, timeout=WAIT)
    assert place.names.hasFocus()
    place.names.clear()
    place.ingest.dismiss.click()
    place.ingest.offer(str(file))
    qtbot.waitUntil(place.ingest.start.hasFocus, timeout=WAIT)


def test_a_run_that_fails_leaves_the_offer(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    write(tmp_path / "first", "a")
    place = place_of(window, DocumentsPlace)
    drop(window, tmp_path / "first")
    qtbot.waitUntil(place.ingest.start.isVisible, timeout=WAIT)
    with qtbot.waitSignal(window.workspace.job.failed, timeout=WAIT):
        window.workspace.job.start("run", pipeline=str(tmp_path / "none.yaml"), case=window.workspace.case)
    assert place.ingest.isVisible()
    assert place.ingest.start.isVisible()
    place.ingest.dismiss.click()
    assert not place.ingest.isVisible()


def test_an_offer_is_put_off_and_all_else_is_closed(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    write(tmp_path / "about them", "a")
    place = place_of(window, DocumentsPlace)
    drop(window, tmp_path / "about them")
    qtbot.waitUntil(place.ingest.start.isVisible, timeout=WAIT)
    assert place.ingest.dismiss.text() == "Not now"
    start_reading(qtbot, place)
    qtbot.waitUntil(lambda: "1 file checked" in place.ingest.text, timeout=WAIT)
    drop(window, tmp_path / "about them")
    qtbot.waitUntil(lambda: place.ingest.text == "about them: it is already in the case.", timeout=WAIT)
    assert place.ingest.dismiss.text() == "Close"


def test_a_file_that_could_not_be_read_is_not_said_to_be_in_the_case(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    write(tmp_path / "letters", "a")
    broken = tmp_path / "letters" / "broken.pdf"
    broken.write_bytes(b"%PDF-1.7 nothing behind it")
    place = place_of(window, DocumentsPlace)
    drop(window, tmp_path / "letters")
    start_reading(qtbot, place)
    qtbot.waitUntil(lambda: "1 file could not be read" in place.ingest.text, timeout=WAIT)
    unread = "broken.pdf: it could not be read, and did not change since: see Not read."
    drop(window, broken)
    qtbot.waitUntil(lambda: place.ingest.text == unread, timeout=WAIT)
    some = "letters: 1 of 2 files are already in the case; the rest could not be read: see Not read."
    drop(window, tmp_path / "letters")
    qtbot.waitUntil(lambda: place.ingest.text == some, timeout=WAIT)
    broken.write_bytes(b"%PDF-1.7 something behind it")
    drop(window, broken)
    qtbot.waitUntil(lambda: place.ingest.text.startswith("broken.pdf: 1 file (1 pdf)"), timeout=WAIT)


def test_a_reading_that_failed_asks_no_question_after_the_next_one(qtbot: QtBot, opened: MainWindow) -> None:
    panel, job = place_of(opened, DocumentsPlace).ingest, opened.workspace.job
    panel._asks = True
    job.name, job.given = "ingest", {"case": opened.workspace.case}
    job.failed.emit("The disk is full.", "")
    with qtbot.assertNotEmitted(panel.read_to_ask):
        job.finished.emit(0)


def test_add_takes_files_as_well(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    files = write(tmp_path / "letters", "a", "b")
    dialog = ask_for_files(window, window.workspace)
    dialog.filesSelected.emit([str(file) for file in files])
    dialog.close()
    qtbot.waitUntil(lambda: "2 files" in place_of(window, DocumentsPlace).ingest.text, timeout=WAIT)


def test_the_selection_follows_the_document_while_files_are_read(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    write(tmp_path / "first", "m", "x")
    place = place_of(window, DocumentsPlace)
    drop(window, tmp_path / "first")
    start_reading(qtbot, place)
    qtbot.waitUntil(lambda: place.model.rowCount() == 2 and place.model.row(1) is not None, timeout=WAIT)
    qtbot.waitUntil(lambda: not window.workspace.job.is_going, timeout=WAIT)
    place.table.selectRow(1)
    assert [row.name for row in place.selected()] == ["x.txt"]
    write(tmp_path / "second", "a", "b", "p")  # before it in the table
    drop(window, tmp_path / "second")
    start_reading(qtbot, place)
    qtbot.waitUntil(lambda: place.model.rowCount() == 5 and place.model.row(4) is not None, timeout=WAIT)
    qtbot.waitUntil(lambda: [row.name for row in place.selected()] == ["x.txt"], timeout=WAIT)
    assert place.table.currentIndex().row() == 4
    place.table.selectionModel().select(place.model.index(0, 0), QItemSelectionModel.SelectionFlag.ClearAndSelect)
    assert [row.name for row in place.selected()] == []  # a cell alone is no row


def test_passphrase_dialogs_give_the_keyboard_to_their_first_field(qtbot: QtBot) -> None:
    for dialog in (PassphraseDialog("a.redwell"), NewPassphraseDialog("a.redwell", "New", "Make", has_one=True)):
        dialog.show()
        dialog.activateWindow()
        qtbot.waitUntil(dialog.isActiveWindow, timeout=WAIT)
        focus = QApplication.focusWidget()
        assert isinstance(focus, QLineEdit)
        assert focus is dialog.findChildren(QLineEdit)[0]
        dialog.close()


def test_closing_during_a_run_asks(
    qtbot: QtBot, start_window: Callable[[float], MainWindow], records: Path, tmp_path: Path
) -> None:
    window = start_window(0.0)
    write(tmp_path / "many", *map(str, range(60)))
    place = place_of(window, DocumentsPlace)
    drop(window, tmp_path / "many")
    start_reading(qtbot, place)
    qtbot.waitUntil(lambda: window.workspace.job.is_going, timeout=WAIT)
    window.workspace.job.pause_or_resume()
    window.close()
    assert window.isVisible()
    ask = window._leaving
    assert ask is not None
    assert "Documents are being read" in ask.text()
    stay, leave = (
        next(b for b in ask.findChildren(QPushButton) if b.text() == text) for text in ("Go on working", "Close")
    )
    stay.click()
    assert window.isVisible() and window.workspace.client.process_id
    window.close()
    ask = window._leaving
    assert ask is not None
    leave = next(button for button in ask.findChildren(QPushButton) if button.text() == "Close")
    leave.click()
    qtbot.waitUntil(lambda: not window.isVisible(), timeout=WAIT)
    assert not window.workspace.client.process_id


def test_new_files_of_a_watched_folder_are_offered(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    write(tmp_path / "letters", "a", "b")
    place = place_of(window, DocumentsPlace)
    drop(window, tmp_path / "letters")
    start_reading(qtbot, place)
    qtbot.waitUntil(lambda: "2 files checked" in place.ingest.text, timeout=WAIT)
    place.watched.watch(str(tmp_path / "letters"))
    assert place._watching.isVisibleTo(place)
    write(tmp_path / "letters" / "late", "c")  # in a folder that was not there
    qtbot.waitUntil(lambda: "1 new file of 3" in place.ingest.text, timeout=WAIT)
    start_reading(qtbot, place)
    qtbot.waitUntil(lambda: place.model.rowCount() == 3, timeout=WAIT)
    write(tmp_path / "letters", "d")
    qtbot.waitUntil(lambda: "1 new file of 4" in place.ingest.text, timeout=WAIT)
    start_reading(qtbot, place)
    qtbot.waitUntil(lambda: place.model.rowCount() == 4, timeout=WAIT)
    drop(window, tmp_path / "letters" / "a.txt")
    qtbot.waitUntil(lambda: "it is already in the case." in place.ingest.text, timeout=WAIT)
    place.watched.watch(str(tmp_path / "letters"), on=False)
    assert place.watched.folders == []
    assert not place._watching.isVisibleTo(place)
    shutil.rmtree(tmp_path / "letters")
    said: list[str] = []
    window.workspace.said.connect(lambda message, advice: said.append(message))
    place.watched.watch(str(tmp_path / "letters"))
    qtbot.waitUntil(lambda: len(said) == 1, timeout=WAIT)
    assert f"there is no folder {tmp_path / 'letters'}" in said[0]
    place.watched.look()
    qtbot.waitUntil(lambda: not window.workspace.client.waiting, timeout=WAIT)
    assert len(said) == 1


def test_a_file_that_still_grows_is_not_offered(
    qtbot: QtBot, opened: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (growing,) = write(tmp_path / "letters", "long")
    watched, ask = place_of(opened, DocumentsPlace).watched, opened.workspace.ask
    watched._settle.setInterval(50)
    asked: list[Any] = []

    def ask_while_it_grows(query: Any, *args: Any, **given: Any) -> str:
        if query is ESTIMATE and len(args) == 1:  # the panel asks, too, and takes failures
            asked.append(query)
            if len(asked) <= 3:
                with growing.open("a", encoding="utf-8") as file:
                    file.write("One more line.\n")
        return ask(query, *args, **given)

    monkeypatch.setattr(opened.workspace, "ask", ask_while_it_grows)
    with qtbot.waitSignal(watched.found, timeout=WAIT) as found:
        watched.watch(str(growing.parent))
    assert found.args == [str(growing.parent), 1]
    assert len(asked) == 4  # three sizes, and the last one again


def test_what_is_found_in_a_watched_folder_is_of_the_case_that_is_open(
    qtbot: QtBot, opened: MainWindow, case: Path, read_case: Path, tmp_path: Path
) -> None:
    write(tmp_path / "letters", "a")
    watched = place_of(opened, DocumentsPlace).watched
    held = Held(opened, ESTIMATE)
    watched.watch(str(tmp_path / "letters"))
    qtbot.waitUntil(lambda: "sample" in held.answers, timeout=WAIT)
    open_case(qtbot, opened, Path(shutil.copy(read_case, case.with_name("other.redwell"))))
    held.answers.pop("sample")()
    assert watched._seen == {}


def test_the_files_of_an_offer_are_counted_once(
    opened: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else an answer may come when the offers have been shown, and are none any more."""
    panel, space = place_of(opened, DocumentsPlace).ingest, opened.workspace
    asked: list[str] = []
    forgotten: list[str] = []

    def ask(query: Any, *args: Any, **given: Any) -> str:
        if "folder" in given:  # else the place asks what its list holds
            asked.append(Path(given["folder"]).name)
        return f"estimate {len(asked)}"

    monkeypatch.setattr(space, "ask", ask)
    monkeypatch.setattr(space.client, "forget", forgotten.append)
    panel.offer(str(tmp_path / "first"))
    panel.offer(str(tmp_path / "second"))
    assert asked == ["first", "first", "second"]
    assert forgotten == ["estimate 1"]


QUESTION = """
datasets: {records: {type: case}}
operations:
  - {name: find, type: map, prompt: "{{ input.text }} Who?", output: {schema: {officer: string}}, drop_keys: [text]}
pipeline: {steps: [{name: s, input: records, operations: [find]}]}
"""


def ask_about_all(qtbot: QtBot, window: MainWindow) -> None:
    """Run QUESTION over all documents of the case, and wait for its end."""
    question = questions_folder(Path(window.workspace.case)) / "people.yaml"
    question.parent.mkdir(exist_ok=True)
    question.write_text(QUESTION, encoding="utf-8")
    with qtbot.waitSignal(window.workspace.run_finished, timeout=WAIT):
        window.workspace.answer_wanted.emit(str(question), "case:")


def marks(place: DocumentsPlace) -> dict[str, str]:
    keys = list(COLUMNS)
    cells = [[place.model.index(row, keys.index(key)).data() for key in ("name", "star")] for row in range(9)]
    return {name: mark for name, mark in cells if name}


def test_new_files_are_read_and_asked_about_alone(
    qtbot: QtBot, start_window: Callable[[float], MainWindow], tmp_path: Path
) -> None:
    window = start_window(0.0)
    place = place_of(window, DocumentsPlace)
    letters, (first, _) = tmp_path / "letters", write(tmp_path / "letters", "a", "b")
    drop(window, letters)
    start_reading(qtbot, place)
    qtbot.waitUntil(lambda: "2 files checked" in place.ingest.text, timeout=WAIT)
    assert not place.ingest.ask.isVisible()  # there is no question yet
    place.ask_new()
    qtbot.waitUntil(lambda: "No question has been asked" in window.messages.text, timeout=WAIT)
    ask_about_all(qtbot, window)

    window.go_to("Documents")
    place.watched.watch(str(letters))
    write(letters, "c", "d")
    first.unlink()
    qtbot.waitUntil(place.ingest.ask.isVisible, timeout=WAIT)
    assert place.ingest.ask.text() == "Read 2 new and ask"
    assert "people" in place.ingest.ask.toolTip()
    gone = "1 file that was read is not there any more (a.txt); the text and the results stay in the case."
    assert place.ingest.text.endswith(gone)
    assert place._watching.text().endswith(gone)
    with qtbot.waitSignal(window.workspace.run_finished, timeout=WAIT):
        QTest.mouseClick(place.ingest.ask, Qt.MouseButton.LeftButton)
    assert isinstance(window.current, RunPlace)
    qtbot.waitUntil(window.current.results.isVisible, timeout=WAIT)
    QTest.mouseClick(window.current.results, Qt.MouseButton.LeftButton)
    results = place_of(window, ResultsPlace)
    qtbot.waitUntil(lambda: results.model.rowCount() == 2, timeout=WAIT)
    qtbot.waitUntil(lambda: results.parts.boxes["only_new"].text() == "New since the last run (2)", timeout=WAIT)
    assert results.parts.runs.currentText().startswith("people")


def test_new_documents_are_marked_and_shown_alone(
    qtbot: QtBot, start_window: Callable[[float], MainWindow], tmp_path: Path
) -> None:
    window = start_window(0.0)
    place = place_of(window, DocumentsPlace)
    write(tmp_path / "letters", "a", "b")
    drop(window, tmp_path / "letters")
    start_reading(qtbot, place)
    qtbot.waitUntil(lambda: "2 files checked" in place.ingest.text, timeout=WAIT)
    ask_about_all(qtbot, window)
    window.go_to("Documents")
    write(tmp_path / "letters", "c")
    drop(window, tmp_path / "letters")
    start_reading(qtbot, place)
    qtbot.waitUntil(lambda: marks(place) == {"a.txt": "", "b.txt": "", "c.txt": "new"}, timeout=WAIT)
    new = lambda: [box for box in place.facets._boxes() if box.text(0).startswith("New")]  # noqa: E731
    qtbot.waitUntil(
        lambda: [(box.text(0), box.text(1)) for box in new()] == [("New since the last run", "1")], timeout=WAIT
    )
    new()[0].setCheckState(0, Qt.CheckState.Checked)
    qtbot.waitUntil(lambda: marks(place) == {"c.txt": "new"}, timeout=WAIT)
    new()[0].setCheckState(0, Qt.CheckState.Unchecked)
    with qtbot.waitSignal(window.workspace.run_finished, timeout=WAIT):
        place.ask_new()
    window.go_to("Documents")
    qtbot.waitUntil(lambda: marks(place) == {"a.txt": "", "b.txt": "", "c.txt": ""}, timeout=WAIT)
    place.ask_new()
    qtbot.waitUntil(lambda: window.messages.text.startswith("There are no new documents for people."), timeout=WAIT)


def test_what_could_not_be_read_into_a_case_that_was_moved_away_is_still_offered(
    qtbot: QtBot, opened: MainWindow, case: Path, tmp_path: Path
) -> None:
    place = place_of(opened, DocumentsPlace)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.txt").write_text(f"Officer {name}")
        opened.workspace.take_folder(str(tmp_path / name))
    qtbot.waitUntil(place.ingest.start.isVisible, timeout=WAIT)
    moved = tmp_path / "moved"
    moved.mkdir()
    for file in case.parent.glob(f"{case.name}*"):
        file.rename(moved / file.name)
    place.ingest.start.click()
    assert opened.messages.text.startswith("There is no case at ")
    for file in moved.iterdir():
        file.rename(case.parent / file.name)
    assert place.ingest.start.isVisible()
    place.ingest.start.click()
    qtbot.waitUntil(lambda: place.ingest.text == "2 files checked.", timeout=WAIT)
