"""The place Improve with a real worker on a scripted model: the growing tree, the choice, stop and go on."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from cut_off import cut_off_when_laid_out
from gui_places import open_case, place_of
from gui_waiting import WAIT, breathe, shut
from PySide6.QtCore import Qt
from PySide6.QtGui import QDesktopServices
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot
from scripted_cases import make_folder
from watchdog import Watchdog

from desktop.improve.build_form import MINUTES
from desktop.improve.plan_lines import PlanLine, PlanLines
from desktop.improve.plans_view import GROUNDS
from desktop.improve.told import can_rate, folder_text, gold_text, verdict_text
from desktop.places.improve import ImprovePlace
from desktop.places.question import QuestionPlace
from desktop.places.run import RunPlace
from desktop.run_queue import ALL_DOCUMENTS, tagged
from desktop.window import MainWindow
from engine.documents.options import ParseOptions
from engine.executor.sources import ingest
from engine.optimizer.signals import COMPLETED, POOLED, WEIGHED, WEIGHTS
from engine.worker.contract import queue
from engine.worker.contract.build import LAST, BuildSetup, LastBuild
from engine.worker.contract.events import BuildStarted, CandidateFound, CandidateRated
from engine.worker.contract.queue import QueueEntry
from storage.case import Case

PROGRAM = Path(__file__).resolve().parents[1] / "fixtures" / "building_redwell.py"
PIPELINE = """
datasets: {records: {type: case}}
default_model: scripted
operations:
  - {name: find, type: map, prompt: "Find what was done. {{ input.text }}", output: {schema: {acts: "list[string]"}}}
pipeline: {steps: [{name: s, input: records, operations: [find]}]}
"""


@pytest.fixture
def short_case(tmp_path: Path) -> Path:
    """A case of three short records with one question."""
    make_folder(tmp_path)
    path = tmp_path / "short.redwell"
    with Case(path) as case:
        asyncio.run(
            ingest(tmp_path / "records", case, lambda event: None, dataset="r", options=ParseOptions(), workers=1)
        )
    questions = tmp_path / "short questions"
    questions.mkdir()
    (questions / "acts.yaml").write_text(PIPELINE, encoding="utf-8")
    return path


@pytest.fixture
def scripted_program() -> Path:
    return PROGRAM


@pytest.fixture
def window(qtbot: QtBot, start_window: Callable[[], MainWindow], short_case: Path) -> MainWindow:
    """The window that the watchdog looks at, with the case open."""
    made = start_window()
    opened(qtbot, made, short_case)
    return made


def opened(qtbot: QtBot, window: MainWindow, case: Path) -> ImprovePlace:
    """Open the case and the place, and wait until all is known that is known before a build."""
    open_case(qtbot, window, case)
    window.go_to("Improve")
    place = place_of(window, ImprovePlace)
    assert window.current is place
    qtbot.waitUntil(lambda: bool(place.improvement.setup), timeout=WAIT)
    qtbot.waitUntil(lambda: not window.workspace.client.waiting, timeout=WAIT)
    return place


def choose_small(place: ImprovePlace) -> None:
    place.before.form.minutes.setValue(MINUTES.index(5))
    place.before.form.sample.setValue(3)


def names(place: ImprovePlace) -> dict[int, str]:
    tree = place.improvement.tree
    return {line.id: tree.name(line) for line in tree.lines.lines.values()}


def choose_in_the_chart(qtbot: QtBot, place: ImprovePlace) -> None:
    """Walk over the chart with the keyboard."""
    assert place.tabs.currentWidget() is place.choice
    assert "was chosen" in place.choice.verdict.text()
    last = place.improvement.last
    assert last is not None
    assert place.choice.current == last.chosen != last.own
    assert len(place.choice.model.rows) == len([point for point in last.points if point.score])
    chart = place.choice.chart
    chart.setFocus()
    QTest.keyClick(chart, Qt.Key.Key_Home)
    breathe(qtbot)
    first = place.choice.current
    QTest.keyClick(chart, Qt.Key.Key_End)
    assert place.choice.current != first
    row = place.choice.table.currentIndex().row()
    assert place.choice.model.rows[row].point.plan == place.choice.current
    assert chart.accessibleDescription().startswith(f"{names(place)[place.choice.current]}: rated")
    breathe(qtbot)
    chart.go_to(last.chosen)
    breathe(qtbot)


def look_at_the_plan(qtbot: QtBot, place: ImprovePlace) -> None:
    """See what the chosen plan changes, and what it writes."""
    last, client = place.improvement.last, place.workspace.client
    assert last is not None
    QTest.mouseClick(place.choice.see, Qt.MouseButton.LeftButton)
    assert place.plans.current == last.chosen
    qtbot.waitUntil(lambda: "\n+" in place.plans.change.diff.toPlainText(), timeout=WAIT)
    assert place.plans.change.words.text().startswith("It ")
    assert place.plans.change.ratings.topLevelItemCount() >= 1
    place.plans.tabs.setCurrentWidget(place.plans.outputs)
    qtbot.waitUntil(lambda: "acts" in place.plans.outputs.right.toPlainText(), timeout=WAIT)
    outputs = place.plans.outputs
    assert outputs.left.toPlainText() != outputs.right.toPlainText()
    assert sorted(outputs.document.itemText(n) for n in range(3)) == ["alpha.txt", "beta.txt", "gamma.txt"]
    outputs.document.setCurrentIndex(2)
    outputs.document.activated.emit(2)
    qtbot.waitUntil(lambda: not client.waiting, timeout=WAIT)
    assert outputs.document.currentIndex() == 2


def see_all_of_it(qtbot: QtBot, window: MainWindow, place: ImprovePlace) -> None:
    """Nothing is cut off, also in larger letters."""
    for letters in (1.15, 1.0):
        window.set_font_scale(letters)
        for view in (place.before, place.plans, place.choice):
            place.tabs.setCurrentWidget(view)
            qtbot.waitUntil(lambda: not window.workspace.client.waiting, timeout=WAIT)
            assert cut_off_when_laid_out(qtbot, window) == []


def use_the_plan(qtbot: QtBot, window: MainWindow, place: ImprovePlace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Open the report, and the chosen plan as a question."""
    urls: list[str] = []
    questions = Path(window.workspace.case).with_name("short questions")
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: urls.append(url.toLocalFile()) is None)
    QTest.mouseClick(place.report, Qt.MouseButton.LeftButton)
    assert urls == [str(questions / "improved" / "acts.html")]
    question = place_of(window, QuestionPlace)
    place.tabs.setCurrentWidget(place.choice)
    with qtbot.waitSignal(question.document.opened, timeout=WAIT):
        QTest.mouseClick(place.choice.use, Qt.MouseButton.LeftButton)
    assert window.current is question
    assert question.document.file.name == "acts improved"


def test_a_question_is_improved_and_the_chosen_plan_is_used(
    qtbot: QtBot,
    start_window: Callable[[], MainWindow],
    window: MainWindow,
    watchdog: Watchdog,
    short_case: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = place_of(window, ImprovePlace)
    assert place.questions.currentText() == "acts"
    assert "No row is reviewed" in place.before.gold.text()
    assert "3 calls" in place.before.folder.text()
    choose_small(place)

    with qtbot.waitSignal(place.improvement.ended, timeout=WAIT):
        QTest.mouseClick(place.go, Qt.MouseButton.LeftButton)
        qtbot.waitUntil(place.halt.isVisible, timeout=WAIT)
        assert place.tabs.currentWidget() is place.plans
    breathe(qtbot)
    choose_in_the_chart(qtbot, place)
    look_at_the_plan(qtbot, place)
    watchdog.stop()
    files = sorted(path.name for path in (short_case.with_name("short questions") / "improved").iterdir())
    assert files == ["acts.html", "acts.json", "acts.yaml"]
    see_all_of_it(qtbot, window, place)  # other letters draw the whole window anew, which takes its time
    use_the_plan(qtbot, window, place, monkeypatch)

    last = place.improvement.last
    # another window shows the last build
    shut(window)
    place = opened(qtbot, start_window(), short_case)
    qtbot.waitUntil(lambda: place.improvement.last is not None, timeout=WAIT)
    assert len(place.improvement.tree.lines.lines) == len(last.plans if last else ())
    assert "was chosen" in place.choice.verdict.text()


def test_a_build_that_is_stopped_keeps_its_best_and_goes_on(
    qtbot: QtBot, start_window: Callable[[float], MainWindow], short_case: Path
) -> None:
    window = start_window(0.01)
    place = opened(qtbot, window, short_case)
    choose_small(place)
    place.start()
    tree = place.improvement.tree
    qtbot.waitUntil(lambda: any(line.score for line in tree.lines.lines.values()), timeout=WAIT)
    place.plans.choose(1)
    qtbot.waitUntil(lambda: "find" in place.plans.change.words.text(), timeout=WAIT)
    place.start()
    assert "already" in window.messages.text
    with qtbot.waitSignal(place.improvement.ended, timeout=WAIT):
        QTest.mouseClick(place.halt, Qt.MouseButton.LeftButton)
        assert "Stopping" in place.status.text()
    assert "Stopped; the best plan so far is kept" in place.choice.verdict.text()
    qtbot.waitUntil(lambda: place.go.text() == "Continue", timeout=WAIT)
    run = place_of(window, RunPlace)
    assert run.queue.entries[0].state == "cancelled"
    assert run.panel.model.index(0, 0).data() == "Improve acts"


def test_a_worker_that_dies_leaves_what_was_tried(
    qtbot: QtBot, start_window: Callable[[float], MainWindow], short_case: Path
) -> None:
    window = start_window(0.01)
    place = opened(qtbot, window, short_case)
    choose_small(place)
    place.start()
    tree = place.improvement.tree
    qtbot.waitUntil(lambda: any(line.score for line in tree.lines.lines.values()), timeout=WAIT)
    with qtbot.waitSignals([window.workspace.client.ready, place.improvement.ended], timeout=WAIT):
        os.kill(window.workspace.client.process_id, signal.SIGKILL)
    qtbot.waitUntil(lambda: "interrupted" in place.status.text(), timeout=WAIT)
    assert place.go.text() == "Continue"
    with qtbot.waitSignal(place.improvement.ended, timeout=WAIT):
        QTest.mouseClick(place.go, Qt.MouseButton.LeftButton)
    assert place.improvement.last is not None
    assert place.improvement.last.outputs_reused > 0
    assert "were there from before" in place.choice.verdict.text()


def test_what_is_said_late_of_a_build_does_not_end_the_next(
    qtbot: QtBot, start_window: Callable[[float], MainWindow], short_case: Path
) -> None:
    window = start_window(0.2)
    place = opened(qtbot, window, short_case)
    choose_small(place)
    with qtbot.waitSignal(place.improvement.began, timeout=WAIT):
        place.start()
    ended: list[None] = []
    answered: list[object] = []
    place.improvement.ended.connect(lambda: ended.append(None))
    place.improvement._look_at_last(is_end=True)  # as when the worker of an earlier build has died
    window.workspace.ask(LAST, answered.append, pipeline=place.improvement.pipeline)
    qtbot.waitUntil(lambda: bool(answered), timeout=WAIT)
    assert place.improvement.is_going
    assert not ended
    with qtbot.waitSignal(place.improvement.ended, timeout=WAIT):
        QTest.mouseClick(place.halt, Qt.MouseButton.LeftButton)


def test_a_build_waits_for_the_run_that_goes_on(
    qtbot: QtBot, start_window: Callable[[float], MainWindow], short_case: Path
) -> None:
    window = start_window(0.2)
    place = opened(qtbot, window, short_case)
    choose_small(place)
    run = place_of(window, RunPlace)
    run.queue.load()
    run.queue.add(place.improvement.pipeline)
    qtbot.waitUntil(lambda: len(run.queue.entries) == 1, timeout=WAIT)
    going: list[bool] = []
    window.workspace.job.finished.connect(lambda code: going.append(place.improvement.is_going))
    run.start()
    place.start()
    qtbot.waitUntil(lambda: place.improvement.is_waiting, timeout=WAIT)
    assert "Waits in the queue" in place.status.text()
    assert not place.go.isEnabled()
    with qtbot.waitSignal(place.improvement.began, timeout=WAIT):
        pass
    assert window.workspace.job.name == "build"
    assert going == [True]  # the end of the run does not end the build that it let begin
    with qtbot.waitSignal(place.improvement.ended, timeout=WAIT):
        window.workspace.job.cancel()


def test_a_build_goes_on_whole_while_another_case_is_open(
    qtbot: QtBot, start_window: Callable[[float], MainWindow], short_case: Path
) -> None:
    other = Path(shutil.copy(short_case, short_case.with_name("other.redwell")))
    window = start_window(0.2)
    place = opened(qtbot, window, short_case)
    choose_small(place)
    place.start()
    model = place.improvement
    qtbot.waitUntil(lambda: bool(model.tree.lines.lines), timeout=WAIT)
    lines = model.tree.lines
    open_case(qtbot, window, other)
    before, progress = dict(lines.lines), lines.progress
    qtbot.waitUntil(lambda: (lines.lines, lines.progress) != (before, progress), timeout=WAIT)
    assert not model.is_going and not model.tree.lines.lines
    place = opened(qtbot, window, short_case)
    assert model.is_going and model.tree.lines is lines
    with qtbot.waitSignal(model.ended, timeout=WAIT):
        model.stop()


def test_a_build_that_is_continued_keeps_its_documents_and_its_model(qtbot: QtBot, window: MainWindow) -> None:
    form = place_of(window, ImprovePlace).before.form
    qtbot.waitUntil(lambda: not window.workspace.client.waiting, timeout=WAIT)
    form.show_options(tagged("gone"), {"agent_model": "removed"})
    form.look()
    qtbot.waitUntil(lambda: not window.workspace.client.waiting, timeout=WAIT)
    assert (form.given, form.documents.currentText()) == (tagged("gone"), "tagged gone")
    assert form.options["agent_model"] == "removed"


def test_the_documents_of_a_build_are_those_of_the_case_that_is_open(
    qtbot: QtBot, window: MainWindow, short_case: Path
) -> None:
    form = place_of(window, ImprovePlace).before.form
    form.show_options(tagged("of the last case"), {})
    open_case(qtbot, window, shutil.copy(short_case, short_case.with_name("other.redwell")))
    assert (form.given, form.documents.currentText()) == (ALL_DOCUMENTS, "all documents")


def test_a_question_that_cannot_run_says_why(
    qtbot: QtBot, start_window: Callable[[], MainWindow], short_case: Path
) -> None:
    questions = short_case.with_name("short questions")
    window = start_window()
    place = opened(qtbot, window, short_case)
    (questions / "wrong.yaml").write_text(PIPELINE.replace("input.text", "input.txt"), encoding="utf-8")
    window.workspace.improve_wanted.emit(str(questions / "wrong.yaml"))
    qtbot.waitUntil(lambda: "txt" in place.before.trouble.text(), timeout=WAIT)
    assert not place.go.isEnabled()
    place.start()
    assert "cannot be improved" in window.messages.text or "no question" in window.messages.text


def test_a_question_of_choices_is_not_improved_until_rows_are_reviewed(
    qtbot: QtBot, start_window: Callable[[], MainWindow], short_case: Path
) -> None:
    questions = short_case.with_name("short questions")
    window = start_window()
    place = opened(qtbot, window, short_case)
    (questions / "kinds.yaml").write_text(PIPELINE.replace('"list[string]"', '"enum[theft, other]"'), encoding="utf-8")
    window.workspace.improve_wanted.emit(str(questions / "kinds.yaml"))
    qtbot.waitUntil(lambda: "nothing to rate plans by" in place.before.gold.text(), timeout=WAIT)
    assert not place.go.isEnabled()
    assert "5 rows in Results" in place.go.toolTip()
    place.start()
    assert "There is nothing yet to compare plans by" in window.messages.text
    assert not window.workspace.job.is_going


def test_a_case_without_questions_says_what_to_do(
    qtbot: QtBot, start_window: Callable[[], MainWindow], short_case: Path
) -> None:
    (short_case.with_name("short questions") / "acts.yaml").unlink()
    window = start_window()
    open_case(qtbot, window, short_case)
    window.go_to("Improve")
    place = place_of(window, ImprovePlace)
    qtbot.waitUntil(lambda: not window.workspace.client.waiting, timeout=WAIT)
    assert not place.tabs.isVisible()
    assert "Write one in Question" in place._none.text()


def test_the_place_is_hidden_where_the_worker_cannot_build(
    qtbot: QtBot, start_window: Callable[[], MainWindow], short_case: Path
) -> None:
    window = start_window()
    place = opened(qtbot, window, short_case)
    window.go_to("Documents")
    window.workspace.client.commands = ("run",)
    window.workspace.client.ready.emit()
    assert not place.is_offered()
    window.go_to("Improve")
    assert window.current is not place


def test_an_event_of_a_long_build_does_not_read_the_whole_tree(
    qtbot: QtBot, start_window: Callable[[], MainWindow], short_case: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = opened(qtbot, start_window(), short_case)
    place.tabs.setCurrentWidget(place.plans)
    model = place.improvement.tree
    model.take(BuildStarted("a.redwell", "m", "m", 20.0, documents=4, rows=12, operators=(), plan=1, reviewed=0))
    for plan in range(2, 101):
        model.take(found_event(plan))
    columns = range(1, model.columnCount())
    header = place.plans.tree.header()
    narrow = [header.sectionSize(column) for column in columns]
    read: list[int] = []
    state_of = PlanLines.state_of

    def counted(self: PlanLines, line: PlanLine) -> str:
        read.append(line.id)
        return state_of(self, line)

    qtbot.wait(200)
    monkeypatch.setattr(PlanLines, "state_of", counted)
    for plan in range(2, 52):
        model.take(rated_event(plan))
    assert len(read) <= 50 * model.columnCount()  # of fifty lines, not fifty times of a hundred
    fits = lambda: all(header.sectionSize(c) >= place.plans.tree.sizeHintForColumn(c) for c in columns)  # noqa: E731
    qtbot.waitUntil(fits, timeout=WAIT)
    assert [header.sectionSize(column) for column in columns] != narrow


def found_event(plan: int) -> CandidateFound:
    return CandidateFound(plan, 1, "chaining", "w", "s", depth=0, by_model=False)


def rated_event(plan: int) -> CandidateRated:
    return CandidateRated(plan, rows=1234, score=3.25, seconds=7203.0, tokens=9)


def test_gold_time_and_verdict_are_said_in_words() -> None:
    setup = BuildSetup("a.yaml", reviewed=7, least_reviewed=5, checkable=(), calls=120, seconds=10_800.0, model="m")
    assert gold_text(setup) == "7 rows are reviewed: plans are rated by them."
    assert can_rate(replace(setup, reviewed=5))
    assert not can_rate(replace(setup, reviewed=4))
    one = replace(setup, reviewed=1)
    assert gold_text(one).startswith("1 row is reviewed. Accept, correct or reject 5 rows")
    assert "nothing to rate plans by" in gold_text(one)
    assert "(officer, date)" in gold_text(replace(setup, reviewed=0, checkable=("officer", "date")))
    assert folder_text(setup) == "Your question takes about 3.0 h for all documents now (120 calls)."
    assert "measure m in Models" in folder_text(replace(setup, calls=1, seconds=None))
    told = verdict_text(
        LastBuild(
            own=1,
            chosen=1,
            reason="no plan did better",
            status="out of time",
            minutes=1.0,
            seconds=60.0,
            sample=8,
            rows=40,
            outputs_reused=3,
            outputs_made=1,
            points=(),
            plans=(),
            report="",
        ),
        "",
    )
    assert told.startswith("Your own question stays: no plan did better.")
    assert "Time ran out after 1 min, tried on 8 of 40 rows; 3 outputs of 4 were there from before." in told


def test_the_question_that_was_built_is_shown_however_late_the_queue_comes(
    qtbot: QtBot, start_window: Callable[[float], MainWindow], short_case: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = start_window(0.0)
    place = opened(qtbot, window, short_case)
    model, client = place.improvement, window.workspace.client
    asked: list[tuple[object, Callable[[object], None]]] = []
    monkeypatch.setattr(client, "ask", lambda query, then, *rest, **given: asked.append((query, then)))
    model.pipeline = ""
    model.load()
    assert [query for query, _ in asked] == [queue.SHOW]
    asked.pop()[1]([QueueEntry(1, "later", kind="build", state="finished")])
    assert [query for query, _ in asked] == ["pipelines.list"]
    asked.pop()[1]([{"path": name, "name": name} for name in ("first", "later")])
    assert model.pipeline == "later"


def test_all_that_a_rating_is_made_of_has_words() -> None:
    assert {POOLED, WEIGHED, COMPLETED, *WEIGHTS} <= GROUNDS.keys()
