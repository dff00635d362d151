"""The client and a real worker: answers, failures, a crash, the end."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import shiboken6
from gui_waiting import UNFORKED, WAIT
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QDialog, QPushButton
from pytestqt.qtbot import QtBot

from desktop.client import TURN_SECONDS, WorkerClient
from engine.worker.contract import LONGEST_LINE
from engine.worker.contract.case import SUMMARY, CaseSummary
from engine.worker.contract.documents import TAGS
from engine.worker.contract.events import CommandFailed, Event, Warned


def test_answers_and_failures_come_to_who_asked(qtbot: QtBot, client: WorkerClient, case: Path) -> None:
    answers: list[Any] = []
    client.ask(SUMMARY, answers.append, case=str(case))
    client.ask(TAGS, answers.append, case=str(case))
    client.ask("no.query", answers.append, lambda message, advice: answers.append(message))
    qtbot.waitUntil(lambda: len(answers) == 3, timeout=WAIT)
    assert [] in answers
    assert "unknown query 'no.query'" in answers
    assert next(answer for answer in answers if isinstance(answer, CaseSummary)).documents == 5
    assert client.waiting == 0


def test_a_failure_that_nobody_takes_is_a_problem(qtbot: QtBot, client: WorkerClient) -> None:
    with qtbot.waitSignal(client.problem, timeout=WAIT) as problem:
        client.ask(SUMMARY, lambda result: None, case="/no/such/case.redwell")
    assert "there is no case" in problem.args[0]


def test_a_forgotten_question_is_not_answered(qtbot: QtBot, client: WorkerClient, case: Path) -> None:
    answers: list[Any] = []
    client.forget(client.ask(SUMMARY, answers.append, case=str(case)))
    client.forget("never asked")
    client.ask(TAGS, answers.append, case=str(case))
    qtbot.waitUntil(lambda: bool(answers), timeout=WAIT)
    assert answers == [[]]


class Asker(QDialog):
    def __init__(self) -> None:
        super().__init__()
        self.button = QPushButton(self)

    def take(self, *answer: Any) -> None:
        self.button.setEnabled(True)


def test_an_answer_to_a_dialog_that_was_deleted_is_dropped(qtbot: QtBot, client: WorkerClient, case: Path) -> None:
    asker = Asker()
    client.ask(TAGS, asker.take, case=str(case))
    client.ask("no.query", asker.take, asker.take)
    shiboken6.delete(asker)
    with qtbot.waitSignal(client.problem, timeout=WAIT) as problem:
        qtbot.waitUntil(lambda: client.waiting == 0, timeout=WAIT)
    assert "unknown query" in problem.args[0]


@UNFORKED
def test_after_a_crash_questions_are_asked_again_and_edits_are_not(
    qtbot: QtBot, client: WorkerClient, case: Path
) -> None:
    answers: list[Any] = []
    failed: list[str] = []
    os.kill(client.process_id, signal.SIGSTOP)
    client.ask(SUMMARY, answers.append, case=str(case))
    client.ask(
        "documents.star",
        answers.append,
        lambda message, advice: failed.append(message),
        is_edit=True,
        case=str(case),
        documents=[],
    )
    with qtbot.waitSignal(client.lost, timeout=WAIT):
        os.kill(client.process_id, signal.SIGKILL)
    qtbot.waitUntil(lambda: bool(answers), timeout=WAIT)
    assert answers[0].documents == 5
    assert len(failed) == 1
    assert "may not have been kept" in failed[0]


def test_a_burst_of_events_leaves_turns_to_the_event_loop(qtbot: QtBot) -> None:
    """However long each event takes the window: a person's clicks come in between."""
    burst = 'for n in range(20): print(\'{"event": "Warned", "message": "%d"}\' % n)'
    client = WorkerClient(command=(sys.executable, "-c", f"{burst}\ninput()"))
    told: list[int] = []
    turns: list[int] = []
    turning = QTimer(interval=0)
    turning.timeout.connect(lambda: turns.append(len(told)))

    def take(event: Warned) -> None:
        turning.start()
        time.sleep(TURN_SECONDS)
        told.append(int(event.message))

    client.told.connect(take)
    client.start()
    qtbot.waitUntil(lambda: len(told) == 20, timeout=WAIT)
    turning.stop()
    client.close()
    assert told == list(range(20))
    assert len({turn for turn in turns if 0 < turn < 20}) == 19  # one event a turn


def test_a_program_that_does_not_start_is_tried_again(qtbot: QtBot) -> None:
    client = WorkerClient(command=("/no/such/program",))
    with qtbot.waitSignals([client.lost, client.lost], timeout=WAIT):
        client.start()
    client.close()


def test_the_worker_ends_with_the_client(qtbot: QtBot) -> None:
    client = WorkerClient()
    with qtbot.waitSignal(client.ready, timeout=WAIT):
        client.start()
    process = client.process_id
    client.close()
    assert not Path(f"/proc/{process}").exists()


def test_a_command_given_before_the_next_worker_is_there_reaches_it(client: WorkerClient, qtbot: QtBot) -> None:
    """The window shows *Continue* at once when a worker is lost, and a fast person presses it."""
    given: list[str] = []
    told: list[Event] = []
    client.lost.connect(lambda how: given.append(client.command("run", pipeline="nowhere.yaml", case="no.redwell")))
    client.told.connect(told.append)
    os.kill(client.process_id, signal.SIGKILL)
    failed = lambda: [event for event in told if isinstance(event, CommandFailed) and event.id in given]  # noqa: E731
    qtbot.waitUntil(lambda: bool(failed()), timeout=WAIT)


def test_what_is_too_long_for_a_line_fails_and_is_not_waited_for(
    qtbot: QtBot, client: WorkerClient, case: Path
) -> None:
    told: list[object] = []
    events: list[Event] = []
    client.told.connect(events.append)
    ids = "x" * LONGEST_LINE
    client.ask(TAGS, told.append, lambda *problem: told.append(problem), case=ids)
    client.forget(client.ask(TAGS, told.append, lambda *problem: told.append("forgotten"), case=ids))
    command = client.command("run", pipeline=ids)
    assert not told  # who asks learns its id first
    client.ask(TAGS, told.append, case=str(case))
    qtbot.waitUntil(lambda: len(told) == 2, timeout=WAIT)
    assert told == [("That is too much at once.", "Choose fewer documents."), []]
    [failed] = [event for event in events if isinstance(event, CommandFailed) and event.id == command]
    assert (failed.command, failed.message) == ("run", "That is too much at once.")
    assert client.waiting == 0


def test_the_longest_line_is_answered(qtbot: QtBot, client: WorkerClient, case: Path) -> None:
    answers: list[object] = []
    line = {"command": "ask", "id": "q1", "query": TAGS.name, "case": ""}
    room = LONGEST_LINE - len(json.dumps(line)) - 1
    client.ask(TAGS, answers.append, lambda *problem: answers.append(problem[0]), case="/" * room)
    qtbot.waitUntil(lambda: bool(answers), timeout=WAIT)
    assert "That is too much" not in str(answers[0])
