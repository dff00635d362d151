"""What a question from a stranger is refused, and "Allow this once", with a real worker on a scripted model."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from gui_places import open_case, place_of
from gui_waiting import WAIT
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMessageBox
from pytestqt.qtbot import QtBot

from desktop.places.export import ExportPlace
from desktop.places.question import QuestionPlace
from desktop.places.run import RunPlace
from desktop.window import MainWindow
from engine.worker.contract.events import CommandFailed, Event, ResultsWritten

STRANGE = """
datasets: {{rows: {{type: file, path: {path}}}}}
operations:
  - {{name: double, type: compute, fields: {{twice: input.n * 2}}}}
pipeline:
  steps: [{{name: all, input: rows, operations: [double]}}]
  output: {{type: file, path: {output}}}
"""


@pytest.fixture
def strange(tmp_path: Path) -> Path:
    """A question that reads a file elsewhere, and writes over one that is there."""
    (tmp_path / "private").mkdir()
    rows = tmp_path / "private" / "<img src=file:___x><b>rows.json"
    rows.write_text(json.dumps([{"n": 4}]))
    (tmp_path / "mail").mkdir()
    (tmp_path / "mail" / "notes.jsonl").write_text("mine")
    pipeline = tmp_path / "mail" / "strange.yaml"
    pipeline.write_text(STRANGE.format(path=json.dumps(str(rows)), output="notes.jsonl"))
    return pipeline


def question(qtbot: QtBot, window: MainWindow) -> QMessageBox:
    """Wait for the question, and return it."""
    qtbot.waitUntil(lambda: bool(window.findChildren(QMessageBox)), timeout=WAIT)
    return window.findChildren(QMessageBox)[-1]


def answer(qtbot: QtBot, window: MainWindow, text: str) -> str:
    """Press the button with this text; return what was asked about."""
    box = question(qtbot, window)
    assert box.textFormat() == Qt.TextFormat.PlainText
    asked = box.text()
    qtbot.mouseClick(next(b for b in box.buttons() if b.text().replace("&", "") == text), Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not window.findChildren(QMessageBox), timeout=WAIT)
    return asked


def state(place: RunPlace) -> str:
    return place.queue.state_of(place.queue.entries[0])


def with_question(
    qtbot: QtBot, start_window: Callable[[float], MainWindow], case: Path, question: Path
) -> tuple[MainWindow, RunPlace]:
    """Open the case with one question in the queue."""
    window = start_window(0.0)
    open_case(qtbot, window, case)
    window.go_to("Run")
    place = place_of(window, RunPlace)
    place.queue.add(str(question), "")
    qtbot.waitUntil(lambda: len(place.queue.entries) == 1, timeout=WAIT)
    return window, place


def test_a_question_asks_before_it_reads_or_overwrites(
    qtbot: QtBot, start_window: Callable[[float], MainWindow], case: Path, strange: Path
) -> None:
    window, place = with_question(qtbot, start_window, case, strange)
    notes = strange.with_name("notes.jsonl")

    place.start()
    assert str(strange.parent.parent / "private") in answer(qtbot, window, "Cancel")
    assert (state(place), notes.read_text()) == ("failed", "mine")

    place.start()
    assert "wants to read" in answer(qtbot, window, "Allow this once")
    assert "would replace a file" in answer(qtbot, window, "Allow this once")
    qtbot.waitUntil(lambda: state(place) == "finished", timeout=WAIT)
    assert json.loads(notes.read_text())["twice"] == 8

    place.queue.choose(place.queue.entries[0].id, "")
    qtbot.waitUntil(lambda: state(place) == "waiting", timeout=WAIT)
    place.start()
    assert "wants to read" in answer(qtbot, window, "Cancel"), "it was allowed once"


def test_what_was_allowed_once_is_not_allowed_to_the_next_question(
    qtbot: QtBot, start_window: Callable[[float], MainWindow], case: Path, strange: Path
) -> None:
    window, place = with_question(qtbot, start_window, case, strange)
    queue = place.queue
    place.start()
    answer(qtbot, window, "Allow this once")
    assert "would replace a file" in answer(qtbot, window, "Cancel")

    first = queue.entries[0].id
    queue.remove(first)
    qtbot.waitUntil(lambda: not queue.entries, timeout=WAIT)
    queue.add(str(strange), "")
    qtbot.waitUntil(lambda: len(queue.entries) == 1, timeout=WAIT)
    assert queue.entries[0].id == first
    place.start()
    assert "wants to read" in answer(qtbot, window, "Cancel"), "another question was allowed it"


def test_a_permission_that_comes_late_is_for_the_question_that_was_refused(
    qtbot: QtBot, start_window: Callable[[float], MainWindow], case: Path, strange: Path
) -> None:
    window, place = with_question(qtbot, start_window, case, strange)
    queue = place.queue
    place.start()
    question(qtbot, window)
    queue.remove(queue.entries[0].id)
    qtbot.waitUntil(lambda: not queue.entries, timeout=WAIT)
    other = Path(shutil.copy(strange, strange.with_name("other.yaml")))
    queue.add(str(other), "")
    qtbot.waitUntil(lambda: len(queue.entries) == 1, timeout=WAIT)
    answer(qtbot, window, "Allow this once")
    assert not window.workspace.job.is_going
    place.start()
    assert "wants to read" in answer(qtbot, window, "Cancel"), "another question was allowed it"


@pytest.mark.parametrize("is_other", [False, True])
def test_a_permission_is_for_the_trial_that_was_refused(
    qtbot: QtBot, start_window: Callable[[float], MainWindow], case: Path, is_other: bool
) -> None:
    window = start_window(0.0)
    open_case(qtbot, window, case)
    window.go_to("Question")
    place = place_of(window, QuestionPlace)
    job = window.workspace.job
    place.document.begin("a: 1\n", "Mine")
    place.trial.try_now()
    window.workspace.client.told.emit(
        CommandFailed(job._id, "try", "It reads /private", "", exit_code=2, need="read", path="/private")
    )
    question(qtbot, window)
    if is_other:
        place.document.begin("a: 2\n", "Other")
    answer(qtbot, window, "Allow this once")
    assert ("allow_path" in job.given) != is_other
    qtbot.waitUntil(lambda: not job.is_going, timeout=WAIT)


def ready_to_export(qtbot: QtBot, window: MainWindow, case: Path, strange: Path) -> ExportPlace:
    """Run the question in the case and return Export with its run chosen."""
    open_case(qtbot, window, case)
    with qtbot.waitSignal(window.workspace.job.finished, timeout=WAIT):
        allowed = [str(strange.parent.parent / "private")]
        window.workspace.job.start(
            "run", pipeline=str(strange), case=str(case), allow_path=allowed, out=[str(case.with_suffix(".jsonl"))]
        )
    window.go_to("Export")
    place = place_of(window, ExportPlace)
    qtbot.waitUntil(lambda: place.runs.count() == 1, timeout=WAIT)
    return place


def test_an_export_asks_before_it_overwrites(
    qtbot: QtBot, start_window: Callable[[float], MainWindow], case: Path, strange: Path
) -> None:
    window = start_window(0.0)
    place = ready_to_export(qtbot, window, case, strange)
    target = case.with_name("mine.csv")
    target.write_text("mine")
    place.file.setText(str(target))
    place.export()
    assert str(target) in answer(qtbot, window, "Cancel")
    assert target.read_text() == "mine"
    place.export()
    answer(qtbot, window, "Allow this once")
    qtbot.waitUntil(lambda: place.told.text().startswith("Written"), timeout=WAIT)
    assert "twice" in target.read_text()
    qtbot.waitUntil(lambda: not window.workspace.job.is_going, timeout=WAIT)
    place.export()
    assert place.told.text() == "Writing…", "our own file is replaced without a question"
    qtbot.waitUntil(lambda: place.told.text().startswith("Written"), timeout=WAIT)


def test_an_export_does_not_begin_while_another_is_ending(
    qtbot: QtBot, start_window: Callable[[float], MainWindow], case: Path, strange: Path
) -> None:
    window = start_window(0.0)
    place = ready_to_export(qtbot, window, case, strange)
    place.file.setText(str(case.with_name("mine.csv")))
    was_going = []

    def export_again(event: Event) -> None:
        if isinstance(event, ResultsWritten):
            was_going.append(window.workspace.job.is_going)
            place.export()

    window.workspace.client.told.connect(export_again)
    with qtbot.waitSignal(window.workspace.job.finished, timeout=WAIT):
        place.export()
    assert was_going == [True]
    assert place.told.text().startswith("Written"), "what is said of the first export stays true"
    assert place.open_file.isVisibleTo(place)
