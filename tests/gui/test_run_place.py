"""The place Run with a real worker on a scripted model: queue, live rows, pause, cancel, a worker that dies."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from gui_places import open_case, place_of
from gui_waiting import WAIT, shut
from held_answers import Held
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot
from scripted_cases import make_folder
from watchdog import Watchdog

from desktop.places.documents import DocumentsPlace
from desktop.places.export import ExportPlace
from desktop.places.question import QuestionPlace
from desktop.places.results import ResultsPlace
from desktop.places.run import RunPlace
from desktop.run_queue import ALL_DOCUMENTS, STARRED, input_text, tagged, these_documents
from desktop.run_view import meters_text
from desktop.window import MainWindow
from engine.worker.contract import queue
from engine.worker.contract.run import AskedBack, RunProgress

CODE = """
datasets: {records: {type: case}}
operations:
  - name: long_ones
    type: code_filter
    code: |
      def transform(doc):
          return len(doc["text"]) > 10
pipeline: {steps: [{name: s, input: records, operations: [long_ones]}]}
"""


PROGRESS = RunProgress(
    run_id="1", elapsed_seconds=61.0, left_seconds=None, share_done=0.0, files_done=0, files_total=0,
    reading_left_seconds=None, operators=(), calls_made=0, calls_from_cache=0, read_per_second=0.0,
    written_per_second=0.0, loading="", model="", memory_bytes=0, reasons=(), other_reasons=0,
)  # fmt: skip


@pytest.fixture
def pipeline(tmp_path: Path) -> Path:
    return make_folder(tmp_path / "beside")


def open_run(qtbot: QtBot, window: MainWindow, case: Path) -> RunPlace:
    open_case(qtbot, window, case)
    window.go_to("Run")
    return place_of(window, RunPlace)


def states(place: RunPlace) -> list[str]:
    return [place.queue.state_of(entry) for entry in place.queue.entries]


def add(qtbot: QtBot, place: RunPlace, pipeline: Path, count: int = 1) -> None:
    before = len(place.queue.entries)
    for _ in range(count):
        place.queue.add(str(pipeline))
    qtbot.waitUntil(lambda: len(place.queue.entries) == before + count, timeout=WAIT)


def test_the_queue_is_said_to_be_empty_when_that_is_known(qtbot: QtBot, window: MainWindow, case: Path) -> None:
    held = Held(window, queue.SHOW)
    empty = open_run(qtbot, window, case).panel._empty
    qtbot.waitUntil(lambda: bool(held.answers), timeout=WAIT)
    assert not empty.isVisible()
    held.answers.pop("sample")()
    assert empty.isVisible()


def test_a_queue_runs_to_its_end_and_shows_rows(
    qtbot: QtBot,
    start_window: Callable[[float], MainWindow],
    watch: Callable[[MainWindow], Watchdog],
    case: Path,
    pipeline: Path,
) -> None:
    window = start_window(0.0)
    watch(window)
    place = open_run(qtbot, window, case)
    assert not place.go.isEnabled()
    with qtbot.waitSignal(window.workspace.place_wanted, timeout=WAIT):
        window.workspace.run_wanted.emit(str(pipeline))
    qtbot.waitUntil(lambda: states(place) == ["waiting"], timeout=WAIT)
    add(qtbot, place, pipeline)
    qtbot.waitUntil(lambda: place.panel.table.currentIndex().row() == 1, timeout=WAIT)  # the new one is chosen
    place.panel.table.selectRow(0)
    ended = place.queue.emptied, window.workspace.run_finished
    with qtbot.waitSignal(ended[0], timeout=WAIT), qtbot.waitSignal(ended[1], timeout=WAIT) as done:
        QTest.mouseClick(place.go, Qt.MouseButton.LeftButton)
    assert done.args[0] == place.queue.entries[0].run_id
    assert states(place) == ["finished", "finished"]
    assert len(place.notifier.told) == 2
    assert [row.name for row in place.view.operators.rows] == ["find", "keep"]
    qtbot.waitUntil(lambda: place.view.rows.rowCount() == 5 and place.view.rows.row(0) is not None, timeout=WAIT)
    assert "officer" in [column.title for column in place.view.rows.table_columns]
    assert "replies" in place.view.meters.text()
    qtbot.waitUntil(place.results.isVisible, timeout=WAIT)
    assert place.done.text() == "officers: finished; some files or rows failed. Next:"
    place.panel.table.selectRow(0)
    run = place.queue.entries[0].run_id
    place.export.click()
    export = place_of(window, ExportPlace)
    qtbot.waitUntil(lambda: window.current is export and export.runs.currentData() == run, timeout=WAIT)
    results = place_of(window, ResultsPlace)
    place.audit.click()
    qtbot.waitUntil(lambda: window.current is results and results.run == run, timeout=WAIT)
    assert results.parts.tabs.currentWidget() is results.parts.ledger
    with qtbot.waitSignal(window.workspace.results_wanted, timeout=WAIT):
        place.results.click()
    assert results.parts.tabs.currentIndex() == 0


def test_waiting_runs_are_moved_changed_and_removed(
    qtbot: QtBot, start_window: Callable[[float], MainWindow], case: Path, pipeline: Path, tmp_path: Path
) -> None:
    other = Path(shutil.copy(pipeline, tmp_path / "other.yaml"))
    window = start_window(0.0)
    place = open_run(qtbot, window, case)
    add(qtbot, place, pipeline)
    add(qtbot, place, other)
    place.panel.table.selectRow(1)
    place.panel.shift(-1)
    names = lambda: [Path(entry.pipeline).stem for entry in place.queue.entries]  # noqa: E731
    qtbot.waitUntil(lambda: names() == ["other", "officers"], timeout=WAIT)
    moved = place.panel.current()
    assert moved is not None and Path(moved.pipeline).stem == "other"  # and no other one: it is chosen still
    choices = place.panel.choices
    qtbot.waitUntil(lambda: choices.documents.findData(STARRED) >= 0, timeout=WAIT)
    choices.documents.setCurrentIndex(choices.documents.findData(STARRED))
    choices.documents.activated.emit(choices.documents.currentIndex())
    qtbot.waitUntil(lambda: place.queue.entries[0].input == STARRED, timeout=WAIT)
    assert place.panel.model.index(0, 1).data() == "starred"
    place.panel.remove()
    qtbot.waitUntil(lambda: names() == ["officers"], timeout=WAIT)


def test_the_entry_behind_one_that_is_removed_is_chosen(
    qtbot: QtBot, start_window: Callable[[float], MainWindow], case: Path, pipeline: Path
) -> None:
    place = open_run(qtbot, start_window(0.0), case)
    add(qtbot, place, pipeline, 3)
    first, second, third = (entry.id for entry in place.queue.entries)
    place.panel.select(second)
    for removed, chosen in ((second, third), (third, first)):
        place.panel.remove()
        qtbot.waitUntil(lambda removed=removed: place.queue.entry(removed) is None, timeout=WAIT)
        current = place.panel.current()
        assert current is not None and current.id == chosen


def test_a_run_pauses_goes_on_and_is_cancelled_at_once(
    qtbot: QtBot, start_window: Callable[[float], MainWindow], case: Path, pipeline: Path
) -> None:
    window = start_window(0.5)
    place = open_run(qtbot, window, case)
    add(qtbot, place, pipeline, 2)
    place.panel.table.selectRow(0)
    place.start()
    qtbot.waitUntil(lambda: bool(place.view.operators.rows), timeout=WAIT)
    place.workspace.job.pause_or_resume()
    assert place.pause.text() == "Continue"
    place.workspace.job.pause_or_resume()
    assert place.pause.text() == "Pause"
    with qtbot.waitSignal(place.queue.emptied, timeout=WAIT):
        place.cancel()
        assert "Stopping" in place.status.text()
    assert states(place) == ["cancelled", "waiting"]  # the others wait for a person
    place.panel.select(place.queue.entries[0].id)
    assert place.go.text() == "Continue"


def test_a_worker_that_dies_is_told_and_one_button_goes_on(
    qtbot: QtBot, start_window: Callable[[float], MainWindow], case: Path, pipeline: Path
) -> None:
    window = start_window(0.4)
    place = open_run(qtbot, window, case)
    add(qtbot, place, pipeline)
    place.start()
    qtbot.waitUntil(
        lambda: window.workspace.job.run is not None and window.workspace.job.run.calls_made >= 1, timeout=WAIT
    )
    with qtbot.waitSignal(window.workspace.client.ready, timeout=WAIT):
        os.kill(window.workspace.client.process_id, signal.SIGKILL)
    qtbot.waitUntil(lambda: states(place) == ["interrupted"], timeout=WAIT)
    assert "Choose Continue to go on from the last reply" in place._note.text()
    assert place.go.text() == "Continue"
    with qtbot.waitSignal(place.queue.emptied, timeout=WAIT):
        QTest.mouseClick(place.go, Qt.MouseButton.LeftButton)
    assert states(place) == ["finished"]
    assert window.workspace.job.run.calls_from_cache >= 1


def test_a_run_that_was_interrupted_is_offered_when_the_case_is_opened_again(
    qtbot: QtBot, start_window: Callable[[float], MainWindow], case: Path, pipeline: Path
) -> None:
    first = start_window(0.5)
    place = open_run(qtbot, first, case)
    add(qtbot, place, pipeline)
    place.start()
    qtbot.waitUntil(lambda: bool(place.view.operators.rows), timeout=WAIT)
    first.close()
    assert first.isVisible(), "closing during a run asks first"
    shut(first)
    second = start_window(0.0)
    place = open_run(qtbot, second, case)
    qtbot.waitUntil(lambda: states(place) == ["interrupted"], timeout=WAIT)
    assert "was interrupted" in place.status.text()
    assert place.go.text() == "Continue"
    place.queue.choose(place.queue.entries[0].id, STARRED)
    qtbot.waitUntil(lambda: states(place) == ["waiting"], timeout=WAIT)
    assert place.queue.entries[0].input == STARRED


def test_a_pipeline_that_cannot_run_fails_and_the_next_one_runs(
    qtbot: QtBot, start_window: Callable[[float], MainWindow], case: Path, pipeline: Path, tmp_path: Path
) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text("datasets: 3\n")
    window = start_window(0.0)
    place = open_run(qtbot, window, case)
    add(qtbot, place, bad)
    add(qtbot, place, pipeline)
    with qtbot.waitSignal(place.queue.emptied, timeout=WAIT):
        place.start()
    assert states(place) == ["failed", "finished"]
    assert place.queue.entries[0].told


def test_an_answer_that_is_overtaken_does_not_bring_back_what_was(
    qtbot: QtBot,
    start_window: Callable[[float], MainWindow],
    case: Path,
    pipeline: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    window = start_window(0.0)
    place = open_run(qtbot, window, case)
    add(qtbot, place, pipeline)
    client, job = window.workspace.client, window.workspace.job
    qtbot.waitUntil(lambda: not client.waiting, timeout=WAIT)
    asked: list[Callable[[object], None]] = []
    monkeypatch.setattr(client, "ask", lambda query, then, *rest, **given: asked.append(then))
    monkeypatch.setattr(job, "start", lambda name, **given: True)
    place.start()
    running = list(place.queue.entries)
    job.failed.emit("no model", "Install one.")
    failed = list(place.queue.entries)
    marks = asked[-2:]
    marks[0](running)
    assert states(place) == ["failed"]
    marks[1](failed)
    assert states(place) == ["failed"]


def test_python_of_a_question_runs_where_a_person_lets_it(
    qtbot: QtBot, start_window: Callable[[float], MainWindow], case: Path, tmp_path: Path
) -> None:
    pipeline = tmp_path / "code.yaml"
    pipeline.write_text(CODE, encoding="utf-8")
    window = start_window(0.0)
    place = open_run(qtbot, window, case)
    add(qtbot, place, pipeline)
    with qtbot.waitSignal(place.queue.emptied, timeout=WAIT):
        place.start()
    assert states(place) == ["failed"]
    assert "Python" in place.queue.entries[0].told
    place.panel.select(1)
    place.panel.choices.trust.click()
    qtbot.waitUntil(lambda: place.queue.entries[0].trust_code and states(place) == ["waiting"], timeout=WAIT)
    with qtbot.waitSignal(place.queue.emptied, timeout=WAIT):
        QTest.mouseClick(place.go, Qt.MouseButton.LeftButton)
    assert states(place) == ["finished"]


def test_another_job_is_refused_while_the_queue_runs_and_the_queue_goes_on(
    qtbot: QtBot, start_window: Callable[[float], MainWindow], case: Path, pipeline: Path, records: Path
) -> None:
    window = start_window(0.3)
    space = window.workspace
    place = open_run(qtbot, window, case)
    add(qtbot, place, pipeline, 2)
    documents = place_of(window, DocumentsPlace)
    with qtbot.waitSignal(place.queue.emptied, timeout=WAIT):
        place.queue.start()
        with qtbot.waitSignal(space.said, timeout=WAIT) as said:
            documents.ingest.read_again(str(next(records.glob("*.pdf"))), ocr="always")
        assert said.args[0] == "Redwell is busy with something else."
        space.convert_case(str(case), "", "secret")
        assert states(place) == ["running", "waiting"]
    assert states(place) == ["finished", "finished"]
    assert not space.client._passphrases  # the case was not encrypted


def test_a_run_makes_no_empty_case_where_the_open_one_was_moved_away(
    qtbot: QtBot, start_window: Callable[[float], MainWindow], case: Path, pipeline: Path, tmp_path: Path
) -> None:
    window = start_window(0.0)
    place = open_run(qtbot, window, case)
    add(qtbot, place, pipeline)
    moved = tmp_path / "moved"
    moved.mkdir()
    for file in case.parent.glob(f"{case.name}*"):
        file.rename(moved / file.name)
    with qtbot.waitSignal(window.workspace.said, timeout=WAIT) as said:
        place.start()
    assert said.args == [f"There is no case at {case} any more.", "Put it back, or open it where it is now."]
    assert not window.workspace.job.is_going and not place.queue.current
    assert not case.exists()
    for file in moved.iterdir():
        file.rename(case.parent / file.name)
    with qtbot.waitSignal(place.queue.emptied, timeout=WAIT):
        place.start()
    assert states(place) == ["finished"]


def test_a_run_that_goes_on_in_another_case_leaves_the_queue_of_this_one_alone(
    qtbot: QtBot, start_window: Callable[[float], MainWindow], case: Path, pipeline: Path, read_case: Path
) -> None:
    other = Path(shutil.copy(read_case, case.with_name("other.redwell")))
    window = start_window(0.5)
    place = open_run(qtbot, window, case)
    add(qtbot, place, pipeline)
    with qtbot.waitSignal(place.queue.emptied, timeout=WAIT):
        place.start()
        qtbot.waitUntil(lambda: bool(place.view.operators.rows), timeout=WAIT)
        open_run(qtbot, window, other)
        add(qtbot, place, pipeline)
        assert place.queue.entries[0].id == 1
        assert place.queue.current == 0
        assert place.stop.isVisible()
        assert "Running: officers in sample" in place.status.text()
    qtbot.wait(100)
    assert states(place) == ["waiting"]  # nobody asked for it
    assert not window.workspace.job.is_going
    assert not place.view.isVisible()  # its rows are another case's
    open_run(qtbot, window, case)
    qtbot.waitUntil(lambda: states(place) == ["finished"], timeout=WAIT)


def test_what_is_run_beside_another_job_begins_when_that_has_ended(
    qtbot: QtBot, start_window: Callable[[float], MainWindow], case: Path, pipeline: Path
) -> None:
    window = start_window(0.0)
    place = open_run(qtbot, window, case)
    begun: list[int] = []
    place.queue.began.connect(begun.append)
    job = window.workspace.job
    job.name, job.state = "try", "going"
    add(qtbot, place, pipeline, 2)
    window.workspace.answer_wanted.emit(str(pipeline), ALL_DOCUMENTS)
    qtbot.waitUntil(lambda: states(place) == ["waiting"] * 3, timeout=WAIT)
    place.panel.table.selectRow(0)
    with qtbot.waitSignal(window.workspace.said, timeout=WAIT) as said:
        place.start()
    assert said.args[1] == "The queue continues when that has finished."
    job.state = "none"
    with qtbot.waitSignal(place.queue.emptied, timeout=WAIT):
        job.finished.emit(0)
    assert begun == [3, 1, 2]  # what was asked for first, then the others


def test_a_question_back_is_not_answered_in_another_case(opened: MainWindow) -> None:
    view, job, case = place_of(opened, RunPlace).view, opened.workspace.job, opened.workspace.case
    asked = AskedBack("find", "Which year?", "The calendar year?", 2)
    job.name, job.run = "run", replace(PROGRESS, asked_back=(asked,))
    for there, is_shown in ((case, True), (f"{case}2", False)):
        job.given = {"case": there}
        job.changed.emit()
        assert view.tabs.isTabVisible(2) == is_shown
        assert bool(view.asked_back.model.rows) == is_shown


@pytest.mark.parametrize("job", ["", "try"])
def test_rows_of_a_run_are_not_shown_beside_another_case(
    qtbot: QtBot, start_window: Callable[[float], MainWindow], case: Path, pipeline: Path, read_case: Path, job: str
) -> None:
    other = Path(shutil.copy(read_case, case.with_name("other.redwell")))
    window = start_window(0.0)
    place = open_run(qtbot, window, case)
    add(qtbot, place, pipeline)
    with qtbot.waitSignal(place.queue.emptied, timeout=WAIT):
        place.start()
    qtbot.waitUntil(lambda: place.view.isVisible() and place.view.rows.rowCount() == 5, timeout=WAIT)
    if job:  # something else goes on
        window.workspace.job.name, window.workspace.job.state = job, "going"
    open_run(qtbot, window, other)
    window.workspace.job.state = "none"
    assert not place.view.isVisible()
    assert (place.view.rows.rowCount(), place.view.operators.rows, place.view.meters.text()) == (0, [], "")


def test_a_question_that_is_renamed_stays_in_the_queue(
    qtbot: QtBot, start_window: Callable[[float], MainWindow], case: Path, pipeline: Path
) -> None:
    window = start_window(0.0)
    place = open_run(qtbot, window, case)
    add(qtbot, place, pipeline)
    question = place_of(window, QuestionPlace)
    window.go_to("Question")
    with qtbot.waitSignal(question.document.opened, timeout=WAIT):
        question.open_file(str(pipeline))
    question.document.keeper.rename("who did it")
    renamed = pipeline.with_stem("who did it")
    qtbot.waitUntil(lambda: [entry.pipeline for entry in place.queue.entries] == [str(renamed)], timeout=WAIT)
    with qtbot.waitSignal(place.queue.emptied, timeout=WAIT):
        place.start()
    assert states(place) == ["finished"]


@pytest.mark.parametrize("name", ["Run", "Question"])
def test_documents_of_the_last_case_are_not_offered_in_the_next(
    qtbot: QtBot, opened: MainWindow, case: Path, read_case: Path, name: str
) -> None:
    question = place_of(opened, QuestionPlace)
    boxes = {"Run": place_of(opened, RunPlace).panel.choices.documents, "Question": question.begin.ask.documents.box}
    opened.go_to(name)
    qtbot.waitUntil(lambda: not opened.workspace.client.waiting, timeout=WAIT)
    boxes[name].addItem("Documents tagged gone", tagged("gone"))
    other = Path(shutil.copy(read_case, case.with_name("other.redwell")))
    open_case(qtbot, opened, other)
    assert opened.current is not None and opened.current.name == name
    qtbot.waitUntil(lambda: boxes[name].findData(tagged("gone")) < 0, timeout=WAIT)


@pytest.mark.parametrize(
    ("job", "said"),
    [
        ("ingest", "Documents are being read."),
        ("export", "A file is being written."),
        ("try", "A preview is being made."),
        ("convert", "The case is being encrypted or decrypted."),
    ],
)
def test_what_goes_on_beside_the_queue_is_said(opened: MainWindow, job: str, said: str) -> None:
    going = opened.workspace.job
    going.name, going.state = job, "going"
    going.changed.emit()
    assert place_of(opened, RunPlace).status.text() == said
    going.state = "none"
    going.changed.emit()
    assert place_of(opened, RunPlace).status.text() == ""


def test_keys_of_a_place_do_nothing_in_another_one(opened: MainWindow) -> None:
    by_keys = {action.shortcut().toString(): action for action in opened.actions_.all}
    for name, keys in (("Run", ("Alt+Up", "Alt+Down", "Shift+Del")), ("Documents", ("Del", "Ctrl+Shift+Del"))):
        for here in ("Start", "Documents", "Run"):
            opened.go_to(here)
            assert [by_keys[each].isEnabled() for each in keys] == [here == name] * len(keys)


def test_inputs_are_said_in_words() -> None:
    assert input_text("case:") == "all documents"
    assert input_text(STARRED) == "starred"
    assert input_text(tagged("to & fro = x")) == "tagged to & fro = x"
    assert input_text(these_documents(["a", "b"])) == "2 documents"
    assert input_text("") == "as the question says"


def test_meters_say_only_what_is_known() -> None:
    assert meters_text(PROGRESS) == "1 min so far"
    reading = replace(PROGRESS, files_done=50, files_total=300, reading_left_seconds=600.0)
    assert meters_text(reading) == "1 min so far, 50 of 300 files read (about 10 min left for reading)"
    busy = replace(PROGRESS, calls_made=1, read_per_second=120.0, memory_bytes=2_000_000_000)
    assert meters_text(busy) == "1 min so far, 1 reply, 120 tokens/s read, 0.0 written, 2.0 GB of memory"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("/Data/FOIA", "/Data/FOIA"),
        (tagged("FOIA"), "Tagged FOIA"),
        ("case:words=Officer+Smith", "With the words Officer Smith"),
    ],
)
def test_names_in_the_choice_of_documents_keep_their_capitals(window: MainWindow, given: str, told: str) -> None:
    choices = place_of(window, RunPlace).panel.choices
    choices.show_entry(queue.QueueEntry(1, "cars.yaml", given), can_change=True)
    assert choices.documents.currentText() == told
