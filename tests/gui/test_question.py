"""The place Question as a person uses it: templates, cards, the YAML beside them, a trial."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from gui_waiting import WAIT
from PySide6.QtCore import QSettings, Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QAbstractItemView, QComboBox, QLineEdit, QPlainTextEdit, QToolButton
from pytestqt.qtbot import QtBot

from desktop.app import make_window
from desktop.client import WorkerClient
from desktop.places.documents import DocumentsPlace
from desktop.places.question import QuestionPlace
from desktop.question.card import OperatorCard
from desktop.question.document import History
from desktop.question.fields import KeyEditor, PromptEditor
from desktop.question.header import estimate_text
from desktop.question.schema_table import SchemaTable
from desktop.watchdog import Watchdog
from desktop.window import MainWindow

SCRIPTED = Path(__file__).resolve().parents[1] / "fixtures" / "scripted_redwell.py"


@pytest.fixture
def window(qtbot: QtBot, settings: QSettings) -> Iterator[MainWindow]:
    """A window whose worker has a scripted model."""
    made = make_window(settings, WorkerClient(command=(sys.executable, "-P", str(SCRIPTED), "worker")))
    qtbot.addWidget(made)
    made.resize(1280, 720)
    made.show()
    yield made
    made.close()


@pytest.fixture
def place(qtbot: QtBot, opened: MainWindow) -> QuestionPlace:
    opened.go_to("Question")
    found = next(place for place in opened.places if isinstance(place, QuestionPlace))
    qtbot.waitUntil(lambda: found.begin.templates.count() == 5, timeout=WAIT)
    return found


def begin(qtbot: QtBot, place: QuestionPlace, row: int) -> None:
    """Choose a template, and wait until its cards are there and it is checked."""
    item = place.begin.templates.item(row)
    with qtbot.waitSignal(place.document.problems_changed, timeout=WAIT):
        place.begin.templates.itemClicked.emit(item)
    qtbot.waitUntil(lambda: len(place.cards.cards) == len(place.document.cards) > 0, timeout=WAIT)
    qtbot.waitUntil(lambda: bool(place.document.types), timeout=WAIT)


def open_card(qtbot: QtBot, place: QuestionPlace, name: str) -> OperatorCard:
    """Open a card, and wait for its form."""
    place.cards.open_card(name)
    qtbot.waitUntil(lambda: place.cards.current is not None and place.cards.current.is_whole, timeout=WAIT)
    assert place.cards.current is not None
    return place.cards.current


def settled(qtbot: QtBot, place: QuestionPlace) -> None:
    qtbot.waitUntil(lambda: not place.document.is_busy, timeout=WAIT)


def test_a_template_becomes_cards_and_yaml(qtbot: QtBot, place: QuestionPlace, watchdog: Watchdog) -> None:
    begin(qtbot, place, 0)
    assert place.document.file.name == "Officers and misconduct"
    assert [card.name for card in place.cards.cards][:3] == ["cut", "list_officers", "one_row_per_officer"]
    assert place.yaml.toPlainText() == place.document.text
    qtbot.waitUntil(lambda: place.header.estimate.text() != "", timeout=WAIT)
    assert "calls" in place.header.estimate.text()
    assert place.header.problems.isHidden()
    for card in place.cards.cards:
        card.set_open(True)
        qtbot.wait(20)
    assert place.cards.current is place.cards.cards[-1]
    card = open_card(qtbot, place, "list_officers")
    [more] = [button for button in card.findChildren(QToolButton) if button.text() == "More settings"]
    more.click()
    qtbot.waitUntil(lambda: card.is_whole, timeout=WAIT)
    names = [editor.name for editor in card.findChildren(KeyEditor)]
    assert "Temperature" in names and "Gleaning: num rounds" in names
    more.click()
    qtbot.wait(50)


def test_a_card_changes_the_yaml_and_the_yaml_the_card(qtbot: QtBot, place: QuestionPlace, watchdog: Watchdog) -> None:
    begin(qtbot, place, 4)
    prompt = open_card(qtbot, place, "read").findChild(PromptEditor)
    assert prompt is not None
    prompt.text.moveCursor(QTextCursor.MoveOperation.Start)
    QTest.keyClicks(prompt.text, "Summary: ")
    qtbot.waitUntil(lambda: "      Summary: {{ input.text }}" in place.yaml.toPlainText(), timeout=WAIT)
    assert place.yaml.toPlainText().startswith("# Start empty\n")
    place.yaml.go_to(1)
    text = place.yaml.toPlainText().replace("name: read", "name: sum_up").replace("[read]", "[sum_up]")
    place.yaml.setPlainText(text)
    qtbot.waitUntil(lambda: [card.name for card in place.cards.cards] == ["sum_up"], timeout=WAIT)
    settled(qtbot, place)
    place.undo()
    qtbot.waitUntil(lambda: [card.name for card in place.cards.cards] == ["read"], timeout=WAIT)
    place.undo()
    qtbot.waitUntil(lambda: "Summary" not in place.yaml.toPlainText(), timeout=WAIT)
    qtbot.waitUntil(lambda: "Summary" not in prompt.text.toPlainText(), timeout=WAIT)
    place.redo()
    place.redo()
    qtbot.waitUntil(lambda: [card.name for card in place.cards.cards] == ["sum_up"], timeout=WAIT)


def test_operators_are_added_copied_moved_and_removed(qtbot: QtBot, place: QuestionPlace, watchdog: Watchdog) -> None:
    begin(qtbot, place, 4)
    place.cards.add_operator("filter")
    qtbot.waitUntil(lambda: place.cards.current is not None and place.cards.current.name == "filter", timeout=WAIT)
    place.cards.act("duplicate")
    qtbot.waitUntil(lambda: [c.name for c in place.cards.cards] == ["read", "filter", "filter_2"], timeout=WAIT)
    qtbot.waitUntil(lambda: place.cards.current is not None and place.cards.current.name == "filter_2", timeout=WAIT)
    place.cards.act("up")
    qtbot.waitUntil(lambda: [c.name for c in place.cards.cards] == ["read", "filter_2", "filter"], timeout=WAIT)
    place.cards.act("remove")
    qtbot.waitUntil(lambda: [c.name for c in place.cards.cards] == ["read", "filter"], timeout=WAIT)
    settled(qtbot, place)
    assert "[read, filter]" in place.document.text


def test_fields_of_the_answer_are_edited_in_their_table(qtbot: QtBot, place: QuestionPlace, watchdog: Watchdog) -> None:
    begin(qtbot, place, 4)
    table = open_card(qtbot, place, "read").findChild(SchemaTable)
    assert table is not None
    table.add_field()
    qtbot.waitUntil(lambda: table.table.rowCount() == 2, timeout=WAIT)
    table.table.item(1, 0).setText("author")
    settled(qtbot, place)
    table.table.item(1, 1).setText("string?")
    table.table.item(1, 2).setText("who wrote it")
    settled(qtbot, place)
    expected = {"summary": "string", "author": {"type": "string?", "description": "who wrote it"}}
    assert place.document.cards[0]["values"]["output"]["schema"] == expected
    table.table.setCurrentCell(1, 0)
    table.move_field(-1)
    settled(qtbot, place)
    assert list(place.document.cards[0]["values"]["output"]["schema"]) == ["author", "summary"]


def test_problems_are_shown_at_the_card_and_the_line(qtbot: QtBot, place: QuestionPlace, watchdog: Watchdog) -> None:
    begin(qtbot, place, 4)
    with qtbot.waitSignal(place.document.problems_changed, timeout=WAIT):
        place.yaml.setPlainText(place.yaml.toPlainText().replace("input.text", "input.txet"))
    qtbot.waitUntil(lambda: place.header.problems.text() == "1 error", timeout=WAIT)
    line = next(n for n, text in enumerate(place.document.text.split("\n"), 1) if "txet" in text)
    assert place.yaml.problems_at(line)
    assert not place.cards.cards[0]._mark.isHidden()
    assert not place.header.run.isEnabled()
    place.go_to_problem()
    assert place.cards.current is place.cards.cards[0]
    assert "Did you mean 'text'?" in place.cards.cards[0]._said.text()
    place.yaml.setPlainText("operations: [")
    qtbot.waitUntil(
        lambda: bool(place.document.problems) and "not valid YAML" in place.header.problems.toolTip(), timeout=WAIT
    )
    assert [card.name for card in place.cards.cards] == ["read"]  # the cards of before


def test_a_pipeline_is_kept_beside_the_case_and_run(qtbot: QtBot, place: QuestionPlace, case: Path) -> None:
    begin(qtbot, place, 4)
    with qtbot.waitSignal(place.workspace.run_wanted, timeout=WAIT) as wanted:
        place.run()
    path = Path(wanted.args[0])
    assert path == case.parent / "sample questions" / "Start empty.yaml"
    assert path.read_text(encoding="utf-8") == place.document.text
    place._rename("What it is")
    qtbot.waitUntil(lambda: place.document.file.path.endswith("What it is.yaml"), timeout=WAIT)
    place._duplicate("Another")
    qtbot.waitUntil(lambda: place.document.file.path.endswith("Another.yaml"), timeout=WAIT)
    place.document.close()
    qtbot.waitUntil(lambda: place.begin.files.count() == 2, timeout=WAIT)
    with qtbot.waitSignal(place.document.opened, timeout=WAIT):
        place.begin.files.itemClicked.emit(place.begin.files.item(0))
    qtbot.waitUntil(lambda: place.document.file.name in ("Another", "What it is"), timeout=WAIT)


def test_changes_are_kept_without_asking(qtbot: QtBot, place: QuestionPlace, case: Path) -> None:
    begin(qtbot, place, 4)
    place.document.change(do="set", operator=0, key=["max_tokens"], value=50)
    path = case.parent / "sample questions" / "Start empty.yaml"
    qtbot.waitUntil(lambda: path.exists() and "max_tokens: 50" in path.read_text(encoding="utf-8"), timeout=WAIT)


def test_a_trial_shows_prompt_reply_values_and_evidence(
    qtbot: QtBot, opened: MainWindow, place: QuestionPlace, watchdog: Watchdog
) -> None:
    begin(qtbot, place, 4)
    with qtbot.waitSignal(place.trial.tried, timeout=WAIT):
        place.try_now()
    trial = place.trial
    qtbot.waitUntil(lambda: trial.prompt.toPlainText() != "", timeout=WAIT)
    assert "What is the document above about" in trial.prompt.toPlainText()
    assert '"summary"' in trial.reply.toPlainText()
    assert "summary: Sgt. Varrick" in trial.values.toPlainText()
    assert trial.items.topLevelItem(0).childCount() == 3
    qtbot.waitUntil(lambda: not opened.workspace.job.is_going, timeout=WAIT)
    found = False
    for number in range(3):
        trial.items.setCurrentItem(trial.items.topLevelItem(0).child(number))
        settled(qtbot, place)
        qtbot.waitUntil(lambda: not opened.workspace.client.waiting, timeout=WAIT)
        item = trial.places.item(0)
        if item is not None and item.data(Qt.ItemDataRole.UserRole) is not None:
            found = True
            documents = next(one for one in opened.places if isinstance(one, DocumentsPlace))
            with qtbot.waitSignal(documents.viewer.page_shown, timeout=WAIT):
                trial.places.itemClicked.emit(item)
            break
    assert found
    assert opened.workspace.summary["runs"] == 0


def test_everything_has_a_name_and_can_be_reached(qtbot: QtBot, place: QuestionPlace) -> None:
    begin(qtbot, place, 0)
    open_card(qtbot, place, "list_officers")
    kinds = (QAbstractButton, QLineEdit, QPlainTextEdit, QComboBox, QAbstractItemView)
    for kind in kinds:
        for widget in place.findChildren(kind):
            if widget.isVisible() and not widget.objectName().startswith("qt_"):
                named = widget.accessibleName() or (widget.text() if isinstance(widget, QAbstractButton) else "")
                assert named or not widget.focusPolicy() & Qt.FocusPolicy.TabFocus, widget


def test_the_history_takes_together_what_is_typed_in_one_go() -> None:
    history = History("a")
    for text in ("ab", "abc", "abcd"):
        history.push(text, "yaml")
    history.push("x", "")
    assert history.undo() == "abcd"
    assert history.undo() == "a"
    assert not history.can_undo
    assert history.redo() == "abcd"
    history.push("y")
    assert not history.can_redo


def test_an_estimate_is_one_line() -> None:
    found = {"calls": 1200, "prompt_tokens": 90000, "sampled_tokens": 10000, "seconds": 120.0}
    assert estimate_text(found) == "1,200 calls, 100,000 tokens, about 2 min"
    assert estimate_text({**found, "seconds": None}) == "1,200 calls, 100,000 tokens, time not measured yet"
    assert estimate_text({**found, "calls": 0}) == "No model is asked"


def test_a_question_in_plain_words_becomes_a_table_that_is_changed_and_tried(
    qtbot: QtBot, place: QuestionPlace
) -> None:
    ask = place.begin.ask
    assert not ask.proposed.isVisible()
    qtbot.keyClicks(ask.question, "Which plates are mentioned?")
    qtbot.keyClick(ask.question, Qt.Key.Key_Return)
    qtbot.waitUntil(ask.proposed.isVisible, timeout=WAIT)
    assert ask.row.text() == "Sgt. Varrick"
    names = [ask.table.item(n, 0).text() for n in range(ask.table.rowCount())]
    assert names[-1] == "plate number"

    last = len(names) - 1
    ask.table.item(last, 0).setText("license plate")
    ask.table.cellWidget(last, 1).setCurrentText("quotation")  # type: ignore[attr-defined]
    qtbot.waitUntil(lambda: "license_plate: quote(text_chunk)" in ask._text, timeout=WAIT)
    ask.table.item(last, 0).setText("")
    qtbot.waitUntil(lambda: "is no name of a column" in ask.state.text(), timeout=WAIT)
    assert ask.table.item(last, 0).text() == "license plate"

    qtbot.keyClicks(ask.note, "only old ones")
    qtbot.keyClick(ask.note, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: not ask.note.text(), timeout=WAIT)
    ask.edit.click()
    qtbot.waitUntil(lambda: place.document.is_open and len(place.cards.cards) == 4, timeout=WAIT)
    assert place.document.file.name == "Which plates are mentioned"
    assert "Which plates are mentioned?" in place.document.text
