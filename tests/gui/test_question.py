"""The place Question as a person uses it: templates, cards, the YAML beside them, a trial."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gui_places import open_case, place_of
from gui_waiting import WAIT, shut
from PySide6.QtCore import QMimeData, Qt, QUrl
from PySide6.QtGui import QAction, QTextCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QComboBox,
    QInputDialog,
    QLineEdit,
    QPlainTextEdit,
    QToolButton,
)
from pytestqt.qtbot import QtBot
from watchdog import Watchdog

from desktop.places.documents import DocumentsPlace
from desktop.places.question import QuestionPlace
from desktop.places.results import ResultsPlace
from desktop.places.run import RunPlace
from desktop.question.ask_box import AskBox
from desktop.question.ask_box import estimate_text as estimate_line
from desktop.question.cards import OperatorCard
from desktop.question.document import History
from desktop.question.fields import KeyEditor, PromptEditor
from desktop.question.header import estimate_text
from desktop.question.schema_table import SchemaTable
from desktop.question.texts import PromptEdit, SharedHistoryEdit, YamlEditor
from desktop.run_queue import STARRED
from desktop.window import MainWindow
from engine.disk import questions_folder
from engine.worker.contract.events import CaseChanged, CommandFailed
from engine.worker.contract.queue import CLARIFY

EMPTY = "Start empty\nOne question about each document, for you to write."


@pytest.fixture
def window(start_window: Callable[[float], MainWindow]) -> MainWindow:
    """A window whose worker has a scripted model."""
    return start_window(0.0)


@pytest.fixture
def place(qtbot: QtBot, opened: MainWindow) -> QuestionPlace:
    opened.go_to("Question")
    found = place_of(opened, QuestionPlace)
    qtbot.waitUntil(lambda: found.begin.templates.count() == 5, timeout=WAIT)
    return found


def begin(qtbot: QtBot, place: QuestionPlace, row: int) -> None:
    """Choose a template, and wait until its cards are there and it is checked."""
    item = place.begin.templates.item(row)
    with qtbot.waitSignal(place.document.problems_changed, timeout=WAIT):
        place.begin.templates.itemClicked.emit(item)
        if place.begin.templates.item(row).text() != EMPTY:
            qtbot.waitUntil(place.begin.ask.proposed.isVisible, timeout=WAIT)
            place.begin.ask.edit.click()
    qtbot.waitUntil(lambda: len(place.cards.cards) == len(place.document.cards) > 0, timeout=WAIT)
    qtbot.waitUntil(lambda: bool(place.document.types), timeout=WAIT)


def open_card(qtbot: QtBot, place: QuestionPlace, name: str) -> OperatorCard:
    """Open a card, and wait for its form."""
    place.cards.open_card(name)
    qtbot.waitUntil(lambda: place.cards.current is not None and is_whole(place.cards.current), timeout=WAIT)
    assert place.cards.current is not None
    return place.cards.current


def is_whole(card: OperatorCard) -> bool:
    """Say whether the form of a card is there with all its settings."""
    return card._body is not None and not card._body._coming


def action(window: MainWindow, text: str) -> QAction:
    return next(each for each in window.actions_.all if each.text().replace("&", "") == text)


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
    qtbot.waitUntil(lambda: is_whole(card), timeout=WAIT)
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
    place.document.keeper.rename("What it is")
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


def test_what_was_typed_last_is_saved_with_the_rest(qtbot: QtBot, place: QuestionPlace, case: Path) -> None:
    begin(qtbot, place, 4)
    prompt = open_card(qtbot, place, "read").findChild(PromptEditor)
    path = case.parent / "sample questions" / "Start empty.yaml"
    QTest.keyClicks(prompt.text, "Word ")
    place.document.save(then=(saved := []).append)
    place.save()
    qtbot.waitUntil(lambda: path.exists() and not place.document.is_keeping, timeout=WAIT)
    assert "Word " in path.read_text(encoding="utf-8")
    assert saved == [str(path)]


@pytest.mark.parametrize(("column", "text"), [(0, "gist"), (1, "integer"), (2, "in a word")])
def test_what_is_typed_into_a_field_of_the_answer_is_saved_with_the_rest(
    qtbot: QtBot, place: QuestionPlace, case: Path, column: int, text: str
) -> None:
    begin(qtbot, place, 4)
    table = open_card(qtbot, place, "read").findChild(SchemaTable).table
    table.setCurrentCell(0, column)
    table.editItem(table.item(0, column))
    qtbot.waitUntil(lambda: table.viewport().findChild(QLineEdit) is not None, timeout=WAIT)
    editor = table.viewport().findChild(QLineEdit)
    editor.selectAll()
    QTest.keyClicks(editor, text)
    place.save()
    path = case.parent / "sample questions" / "Start empty.yaml"
    qtbot.waitUntil(lambda: path.exists() and not place.document.is_keeping, timeout=WAIT)
    assert text in path.read_text(encoding="utf-8").split("schema:")[1]


@pytest.mark.parametrize("how", ["close", "new", "other", "file"])
def test_what_was_typed_last_is_kept_when_it_is_left(
    qtbot: QtBot, opened: MainWindow, place: QuestionPlace, case: Path, how: str
) -> None:
    begin(qtbot, place, 4)
    prompt = open_card(qtbot, place, "read").findChild(PromptEditor)
    path = case.parent / "sample questions" / "Start empty.yaml"
    QTest.keyClicks(prompt.text, "Word ")
    if how == "close":
        shut(opened)
    elif how == "new":
        place.new_question()
    elif how == "file":
        file = case.with_name("elsewhere.yaml")
        file.write_text(place.document.text, encoding="utf-8")
        place.open_file(str(file))
        qtbot.waitUntil(lambda: place.document.file.path == str(file), timeout=WAIT)
        assert place.shows_steps and "Word " not in place.document.text
    else:
        place.workspace.open_case(str(case.with_name("other.redwell")), create=True)
    if how != "close":
        qtbot.waitUntil(path.exists, timeout=WAIT)
    assert "Word " in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("folder", ["sample questions old", "sample questions/more"])
def test_a_question_beside_the_folder_of_the_case_or_below_it_is_offered_again(
    qtbot: QtBot, opened: MainWindow, place: QuestionPlace, case: Path, folder: str
) -> None:
    begin(qtbot, place, 4)
    file = case.parent / folder / "elsewhere.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(place.document.text, encoding="utf-8")
    place.open_file(str(file))
    qtbot.waitUntil(lambda: place.document.file.path == str(file), timeout=WAIT)
    place.new_question()
    paths = lambda: [place.begin.files.item(n).data(Qt.ItemDataRole.UserRole) for n in range(place.begin.files.count())]  # noqa: E731
    qtbot.waitUntil(lambda: str(file) in paths(), timeout=WAIT)


def test_what_was_typed_last_is_undone_alone_and_is_tried(
    qtbot: QtBot, opened: MainWindow, place: QuestionPlace
) -> None:
    begin(qtbot, place, 4)
    prompt = open_card(qtbot, place, "read").findChild(PromptEditor)
    place.document.change(do="set", operator=0, key=["max_tokens"], value=50)
    settled(qtbot, place)
    QTest.keyClicks(prompt.text, "Word ")
    place.undo()
    settled(qtbot, place)
    assert "max_tokens: 50" in place.document.text and "Word " not in place.document.text
    place.redo()
    settled(qtbot, place)
    assert "Word " in place.document.text
    QTest.keyClicks(prompt.text, "again ")
    with qtbot.waitSignal(place.trial.tried, timeout=WAIT):
        place.try_now()
    assert "again " in opened.workspace.job.given["text"]
    qtbot.waitUntil(lambda: not opened.workspace.job.is_going, timeout=WAIT)


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
            documents = place_of(opened, DocumentsPlace)
            with qtbot.waitSignal(documents.viewer.page_shown, timeout=WAIT):
                trial.places.itemClicked.emit(item)
            break
    assert found
    assert opened.workspace.summary.runs == 0


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


def test_a_long_name_does_not_widen_the_window(qtbot: QtBot, place: QuestionPlace) -> None:
    place.document.begin("a: 1\n", "Cars")
    width = place.header.minimumSizeHint().width()
    place.document.begin("a: 1\n", "Cars " * 60)
    assert place.header.title.text().startswith("Cars Cars")
    assert place.header.minimumSizeHint().width() == width


@pytest.mark.parametrize("editor", [PromptEdit, YamlEditor])
def test_a_file_that_is_dropped_on_a_text_is_left_to_the_window(qtbot: QtBot, editor: type[SharedHistoryEdit]) -> None:
    made = editor()
    qtbot.addWidget(made)
    files, words = QMimeData(), QMimeData()
    files.setUrls([QUrl.fromLocalFile("/records")])
    files.setText("file:///records")
    words.setText("officer")
    assert not made.canInsertFromMimeData(files)
    assert made.canInsertFromMimeData(words)


def test_an_estimate_is_one_line() -> None:
    found = {"calls": 1200, "prompt_tokens": 90000, "sampled_tokens": 10000, "seconds": 120.0}
    assert estimate_text(found) == "1,200 calls, 100,000 tokens, about 2 min"
    assert estimate_text({**found, "seconds": None}) == "1,200 calls, 100,000 tokens, time not measured yet"
    assert estimate_text({**found, "calls": 0}) == "No call of a model is needed"


def ask_plates(qtbot: QtBot, place: QuestionPlace) -> AskBox:
    """Type a question; the scripted model proposes a row and one column."""
    ask = place.begin.ask
    place.window().activateWindow()
    qtbot.waitUntil(place.window().isActiveWindow, timeout=WAIT)
    qtbot.keyClicks(ask.question, "Which plates are mentioned?")
    qtbot.keyClick(ask.question, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: ask.proposed.isVisible() and ask.propose.isEnabled(), timeout=WAIT)
    return ask


def names_of(ask: AskBox) -> list[str]:
    return [chip.name.text() for chip in ask.chips.chips]


def test_a_question_in_plain_words_becomes_chips_that_are_changed_by_keyboard(
    qtbot: QtBot, place: QuestionPlace
) -> None:
    assert not place.begin.ask.proposed.isVisible()
    assert place.begin.templates.isVisible()
    ask = ask_plates(qtbot, place)
    assert not place.begin.templates.isVisible()
    assert ask.chips.row.text() == "Sgt. Varrick"
    assert names_of(ask)[-1] == "plate number"

    chip = ask.chips.chips[-1]
    chip.name.setFocus()
    chip.name.selectAll()
    qtbot.keyClicks(chip.name, "license plate")
    qtbot.keyClick(chip.name, Qt.Key.Key_Tab)
    qtbot.waitUntil(lambda: "license_plate: " in ask.text, timeout=WAIT)
    ask.chips.chips[-1].choose("quotation")
    qtbot.waitUntil(lambda: "license_plate: quote(text_chunk)" in ask.text, timeout=WAIT)

    ask.chips.chips[-1].choose("one of")  # nothing is written until there are two choices
    chip = ask.chips.chips[-1]
    qtbot.waitUntil(chip.choices.isVisible, timeout=WAIT)
    qtbot.keyClicks(chip.choices, "new, old")
    qtbot.keyClick(chip.choices, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: 'license_plate: enum["new", "old"]' in ask.text.replace("\\", ""), timeout=WAIT)

    ask.chips.chips[-1].name.clear()
    ask.chips.chips[-1].name.editingFinished.emit()
    qtbot.waitUntil(lambda: "a column cannot be called" in ask.state.text(), timeout=WAIT)
    assert names_of(ask)[-1] == "license plate"

    before = len(names_of(ask))
    ask.chips.add.setFocus()
    qtbot.keyClick(ask.chips.add, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: len(names_of(ask)) == before + 1, timeout=WAIT)
    qtbot.waitUntil(ask.chips.chips[-1].name.hasFocus, timeout=WAIT)
    qtbot.keyClicks(ask.chips.chips[-1].name, "owner")
    qtbot.keyClick(ask.chips.chips[-1].name, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: "owner: string?" in ask.text, timeout=WAIT)
    remove = ask.chips.chips[-1].remove
    remove.setFocus()
    qtbot.keyClick(remove, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: "owner" not in ask.text and len(names_of(ask)) == before, timeout=WAIT)

    ask.chips.row.clear()
    ask.chips.row.editingFinished.emit()
    qtbot.waitUntil(lambda: "one_row_per" not in ask.text, timeout=WAIT)


def type_name(qtbot: QtBot, ask: AskBox, name: str) -> None:
    """Type over the name of the last column, and leave the keyboard there."""
    line = ask.chips.chips[-1].name
    line.setFocus()
    line.selectAll()
    qtbot.keyClicks(line, name)


def test_what_stands_in_a_chip_is_previewed_run_and_kept(
    qtbot: QtBot, place: QuestionPlace, opened: MainWindow, case: Path
) -> None:
    ask = ask_plates(qtbot, place)
    type_name(qtbot, ask, "license plate")
    with qtbot.waitSignal(ask.preview.shown, timeout=WAIT):
        place.try_now()
    assert [column.name for column in ask.preview.model.columns] == ["filename", "license_plate"]
    qtbot.waitUntil(lambda: not opened.workspace.job.is_going, timeout=WAIT)
    type_name(qtbot, ask, "owner")
    with qtbot.waitSignal(ask.wanted, timeout=WAIT) as wanted:
        ask.edit.click()
    assert "owner: " in wanted.args[0]
    qtbot.waitUntil(lambda: place.shows_steps and "owner: " in place.document.text, timeout=WAIT)
    place.show_table()
    qtbot.waitUntil(lambda: not opened.workspace.client.waiting, timeout=WAIT)
    type_name(qtbot, ask, "colour")
    shut(opened)
    file = questions_folder(case) / "Which plates are mentioned.yaml"
    assert "colour: " in file.read_text(encoding="utf-8")


@pytest.mark.parametrize("is_kept", [False, True])
def test_what_stands_in_a_chip_is_improved(
    qtbot: QtBot, place: QuestionPlace, opened: MainWindow, case: Path, is_kept: bool
) -> None:
    ask = ask_plates(qtbot, place)
    if is_kept:
        ask.edit.click()
        qtbot.waitUntil(lambda: place.shows_steps and bool(place.document.text), timeout=WAIT)
        place.show_table()
    qtbot.waitUntil(lambda: not opened.workspace.client.waiting, timeout=WAIT)
    type_name(qtbot, ask, "owner")
    with qtbot.waitSignal(opened.workspace.improve_wanted, timeout=WAIT) as wanted:
        place.improve()
    file = questions_folder(case) / "Which plates are mentioned.yaml"
    assert Path(wanted.args[0]) == file
    assert "owner: " in file.read_text(encoding="utf-8")


def test_a_question_in_the_box_is_saved_and_where_there_is_none_that_is_said(
    qtbot: QtBot, place: QuestionPlace, opened: MainWindow, case: Path
) -> None:
    ask = place.begin.ask
    for do in (place.save, place.improve, place.run, place.try_now, place.toggle_steps):
        ask._say("")
        do()
        assert ask.state.text().startswith("Type what you want to know")
    ask_plates(qtbot, place)
    type_name(qtbot, ask, "owner")
    place.save()
    file = questions_folder(case) / "Which plates are mentioned.yaml"
    qtbot.waitUntil(lambda: file.exists() and not place.is_keeping, timeout=WAIT)
    assert "owner: " in file.read_text(encoding="utf-8")
    assert not place.shows_steps


@pytest.mark.parametrize("how", ["new", "others", "case"])
def test_what_stands_in_a_chip_is_kept_when_its_question_is_left(
    qtbot: QtBot, place: QuestionPlace, opened: MainWindow, case: Path, how: str
) -> None:
    ask = ask_plates(qtbot, place)
    ask.edit.click()
    qtbot.waitUntil(lambda: place.shows_steps and bool(place.document.text), timeout=WAIT)
    place.show_table()
    qtbot.waitUntil(lambda: not opened.workspace.client.waiting, timeout=WAIT)
    type_name(qtbot, ask, "owner")
    if how == "new":
        action(opened, "New question…").trigger()
    elif how == "others":
        ask.others.click()
    else:
        place.workspace.open_case(str(case.with_name("other.redwell")), create=True)
    file = questions_folder(case) / "Which plates are mentioned.yaml"
    qtbot.waitUntil(lambda: file.exists() and not place.is_keeping, timeout=WAIT)
    assert "owner: " in file.read_text(encoding="utf-8")
    assert ask.proposal is None and not place.document.is_open


@pytest.mark.parametrize("how", ["new", "others"])
def test_a_table_that_was_left_before_it_was_saved_is_brought_back(
    qtbot: QtBot, place: QuestionPlace, opened: MainWindow, how: str
) -> None:
    ask = ask_plates(qtbot, place)
    type_name(qtbot, ask, "owner & driver")
    if how == "new":
        action(opened, "New question…").trigger()
    else:
        ask.others.click()
    qtbot.waitUntil(lambda: ask.proposal is None and ask.back.isVisible(), timeout=WAIT)
    assert ask.back.text() == "Back to “Which plates are mentioned?”"
    ask.back.click()
    assert (ask.question.text(), names_of(ask)[-1]) == ("Which plates are mentioned?", "owner & driver")
    assert not ask.back.isVisible()


def test_a_table_is_not_offered_again_where_it_is_in_a_file_or_of_another_case(
    qtbot: QtBot, place: QuestionPlace, opened: MainWindow, case: Path
) -> None:
    ask = ask_plates(qtbot, place)
    place.save()
    qtbot.waitUntil(lambda: bool(place.document.file.path) and not place.is_keeping, timeout=WAIT)
    ask.others.click()
    qtbot.waitUntil(lambda: ask.proposal is None, timeout=WAIT)
    assert not ask.back.isVisible()
    ask.question.clear()
    ask_plates(qtbot, place)
    place.workspace.open_case(str(case.with_name("other.redwell")), create=True)
    qtbot.waitUntil(lambda: ask.proposal is None, timeout=WAIT)
    assert not ask.back.isVisible()


def test_what_cannot_be_written_of_a_chip_does_not_hold_up_a_new_question(qtbot: QtBot, place: QuestionPlace) -> None:
    ask = ask_plates(qtbot, place)
    ask.chips.chips[-1].name.clear()
    place.new_question()
    qtbot.waitUntil(lambda: ask.proposal is None, timeout=WAIT)


def test_a_note_changes_the_table_with_what_stands_in_a_chip(
    qtbot: QtBot, place: QuestionPlace, opened: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask, client = ask_plates(qtbot, place), opened.workspace.client
    qtbot.waitUntil(lambda: not client.waiting, timeout=WAIT)
    asked: dict[str, Any] = {}
    ask_worker = client.ask

    def listen(query: Any, *args: Any, **given: Any) -> str:
        if query == "ask.change":
            asked.update(given)
        return ask_worker(query, *args, **given)

    monkeypatch.setattr(client, "ask", listen)
    ask.note.setText("only old ones")
    type_name(qtbot, ask, "owner")
    ask.apply.click()
    qtbot.waitUntil(lambda: not ask.note.text(), timeout=WAIT)
    assert asked["proposal"]["columns"][-1]["name"] == "owner"


def test_a_note_changes_the_table_and_what_changed_is_shown(qtbot: QtBot, place: QuestionPlace) -> None:
    ask = ask_plates(qtbot, place)
    ask.chips.add_column()
    qtbot.waitUntil(lambda: "column 1" in names_of(ask), timeout=WAIT)
    qtbot.keyClicks(ask.note, "only old ones")
    qtbot.keyClick(ask.note, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: not ask.note.text(), timeout=WAIT)
    assert "column 1 was removed." in ask.state.text()
    assert "column 1" not in names_of(ask)


def test_a_note_that_is_typed_while_the_last_one_changes_the_table_stays(qtbot: QtBot, place: QuestionPlace) -> None:
    ask = ask_plates(qtbot, place)
    ask.note.setText("only old ones")
    ask.change()
    ask.note.setText("split make and model")
    qtbot.waitUntil(ask.propose.isEnabled, timeout=WAIT)
    assert "The model is also told: only old ones" in ask.state.text()
    assert ask.note.text() == "split make and model"


def choose(box: QComboBox, value: str) -> None:
    box.setCurrentIndex(box.findData(value))
    box.activated.emit(box.currentIndex())


def test_the_estimate_names_the_documents_that_are_chosen(
    qtbot: QtBot, place: QuestionPlace, opened: MainWindow
) -> None:
    ask = ask_plates(qtbot, place)
    count = opened.workspace.summary.documents
    qtbot.waitUntil(lambda: ask.estimate.text().startswith(f"All {count} documents"), timeout=WAIT)
    # On a machine whose default model was measured, the time is known.
    times = (", time not measured yet", ", about ")
    qtbot.waitUntil(lambda: any(time in ask.estimate.text() for time in times), timeout=WAIT)
    assert ask.run.isEnabled()
    choose(ask.documents.box, STARRED)
    qtbot.waitUntil(lambda: ask.estimate.text() == "No document fits: choose others.", timeout=WAIT)
    assert not ask.run.isEnabled()
    choose(ask.documents.box, "search")
    qtbot.keyClicks(ask.documents.words, "nosuchwordatall")
    qtbot.waitUntil(lambda: ask.documents.value.endswith("words=nosuchwordatall"), timeout=WAIT)
    qtbot.waitUntil(lambda: ask.count == 0, timeout=WAIT)
    ask.documents.words.setText("officer")
    qtbot.waitUntil(lambda: "with the words officer" in ask.estimate.text(), timeout=WAIT)
    assert ask.count is not None and 0 < ask.count <= count


def test_an_estimate_is_said_in_plain_words() -> None:
    found: dict[str, Any] = {"calls": 92, "seconds": 720.0}
    assert estimate_line("case:", 92, found) == "All 92 documents, about 12 minutes"
    assert estimate_line("case:", 1, {**found, "seconds": 40.0}) == "1 document, about 40 seconds"
    assert estimate_line(STARRED, 7, {**found, "seconds": 12600.0}) == "7 starred documents, about 3.5 hours"
    assert estimate_line("case:tag=to+read", 2, None) == "2 documents tagged to read"
    assert estimate_line("case:words=fire", 2, {"calls": 0}) == "2 documents with the words fire, at once"
    assert estimate_line("case:", 0, None) == "No document fits: choose others."


def test_the_steps_stay_in_step_with_the_table(qtbot: QtBot, place: QuestionPlace) -> None:
    ask = ask_plates(qtbot, place)
    ask.edit.click()
    qtbot.waitUntil(lambda: place.document.is_open and len(place.cards.cards) == 5, timeout=WAIT)
    assert place.shows_steps
    assert place.document.file.name == "Which plates are mentioned"
    place.show_table()
    qtbot.waitUntil(lambda: not place.shows_steps, timeout=WAIT)
    ask.chips.add_column()
    qtbot.waitUntil(lambda: "column_1" in place.document.text, timeout=WAIT)  # the steps follow the table
    assert place.document.text == ask.text

    ask.edit.click()
    qtbot.waitUntil(lambda: place.shows_steps and place.yaml.toPlainText() == ask.text, timeout=WAIT)
    place.yaml.setPlainText(ask.text.replace("num_tokens: 6000", "num_tokens: 600"))
    place.show_table()
    qtbot.waitUntil(lambda: "num_tokens: 600\n" in ask.text, timeout=WAIT)  # and the table follows the steps
    assert "several steps, which run as they are" in ask.state.text()
    assert not ask.apply.isEnabled()
    assert ask.chips.chips[0].name.isReadOnly()


def test_what_was_changed_in_the_steps_runs_though_the_table_does_not_follow_yet(
    qtbot: QtBot, place: QuestionPlace, opened: MainWindow
) -> None:
    ask = ask_plates(qtbot, place)
    ask.edit.click()
    qtbot.waitUntil(lambda: place.shows_steps and bool(place.document.text), timeout=WAIT)
    place.yaml.setPlainText(ask.text.replace("num_tokens: 6000", "num_tokens: 600"))
    place.show_table()
    with qtbot.waitSignal(opened.workspace.answer_wanted, timeout=WAIT) as wanted:
        ask.run.click()
    assert "num_tokens: 600\n" in Path(wanted.args[0]).read_text(encoding="utf-8")


def test_the_table_follows_what_was_typed_last_into_a_card(qtbot: QtBot, place: QuestionPlace) -> None:
    ask = ask_plates(qtbot, place)
    ask.edit.click()
    qtbot.waitUntil(lambda: place.shows_steps and len(place.cards.cards) == 5, timeout=WAIT)
    prompt = open_card(qtbot, place, place.cards.cards[1].name).findChild(PromptEditor)
    settled(qtbot, place)
    QTest.keyClicks(prompt.text, "Word ")
    place.show_table()
    qtbot.waitUntil(lambda: "Word " in ask.text, timeout=WAIT)
    assert ask.text == place.document.text


def test_undo_in_the_box_takes_the_table_back_with_the_file(
    qtbot: QtBot, place: QuestionPlace, opened: MainWindow
) -> None:
    ask = ask_plates(qtbot, place)
    ask.edit.click()
    qtbot.waitUntil(lambda: place.shows_steps and bool(place.document.text), timeout=WAIT)
    place.show_table()
    qtbot.waitUntil(lambda: not opened.workspace.client.waiting, timeout=WAIT)
    ask.chips.add_column()
    qtbot.waitUntil(lambda: "column_1" in place.document.text, timeout=WAIT)
    opened.undo()
    qtbot.waitUntil(lambda: "column 1" not in names_of(ask), timeout=WAIT)
    assert ask.text == place.document.text and "column_1" not in ask.text
    opened.redo()
    qtbot.waitUntil(lambda: "column 1" in names_of(ask), timeout=WAIT)
    assert ask.text == place.document.text


def test_keys_for_steps_change_nothing_while_these_are_not_shown(
    qtbot: QtBot, place: QuestionPlace, opened: MainWindow
) -> None:
    ask = ask_plates(qtbot, place)
    ask.edit.click()
    qtbot.waitUntil(lambda: place.shows_steps and len(place.cards.cards) == 5, timeout=WAIT)
    open_card(qtbot, place, place.cards.cards[1].name)
    place.show_table()
    settled(qtbot, place)
    text = place.document.text
    for name in ("Remove the operator", "Run the operator later", "Duplicate the operator", "Add an operator…"):
        opened.messages.hide()
        action(opened, name).trigger()
        assert opened.messages.text == "The steps of the question are not shown.\nAdvanced (F10) shows them."
    settled(qtbot, place)
    assert place.document.text == text


def test_a_question_that_is_not_saved_has_no_other_name_yet(place: QuestionPlace, opened: MainWindow) -> None:
    for name in ("Save question as…", "Rename question…", "Duplicate question…"):
        opened.messages.hide()
        action(opened, name).trigger()
        assert opened.messages.text.startswith("No saved question is open."), name


def test_a_name_with_a_slash_is_no_folder(qtbot: QtBot, place: QuestionPlace, case: Path) -> None:
    save_as(qtbot, place, "Mine", "a: 1\n")
    place._ask_duplicate()
    dialog = place.findChild(QInputDialog)
    assert dialog is not None
    dialog.setTextValue("cars / trucks?")
    dialog.accept()
    qtbot.waitUntil((questions_folder(case) / "cars - trucks-.yaml").exists, timeout=WAIT)


def test_a_name_that_differs_in_capitals_alone_is_taken(qtbot: QtBot, place: QuestionPlace, case: Path) -> None:
    folder = questions_folder(case)
    folder.mkdir(exist_ok=True)
    (folder / "WHICH plates are mentioned.yaml").write_text("a: 1\n", encoding="utf-8")
    ask_plates(qtbot, place).edit.click()
    qtbot.waitUntil(lambda: place.shows_steps and bool(place.document.text), timeout=WAIT)
    assert place.document.file.name == "Which plates are mentioned 2"


def test_a_question_is_named_by_its_words_in_any_script(place: QuestionPlace) -> None:
    ask = place.begin.ask
    for question in ("कौन सी गाड़ी है", "รถคันไหนถูกกล่าวถึง", "Quelles voitures, et où"):
        ask.proposal = {"question": f"{question}?"}
        assert ask._name() == question
    ask.proposal = None


def test_a_choice_is_not_asked_about_before_its_choices_are_written(
    qtbot: QtBot, place: QuestionPlace, opened: MainWindow
) -> None:
    ask = ask_plates(qtbot, place)
    qtbot.waitUntil(lambda: not opened.workspace.client.waiting, timeout=WAIT)
    chip = ask.chips.chips[-1]
    chip.choose("one of")
    qtbot.waitUntil(chip.choices.isVisible, timeout=WAIT)
    qtbot.keyClicks(chip.choices, "new")
    for button in (ask.look, ask.run, ask.edit):
        ask._say("")
        button.setFocus()
        button.click()
        assert ask.state.text() == "Write two choices for plate number, with commas between them."
        assert chip.choices.hasFocus()
    assert not ask.preview.is_going and not place.document.is_open
    qtbot.keyClicks(chip.choices, ", old")
    with qtbot.waitSignal(ask.wanted, timeout=WAIT) as wanted:
        ask.edit.click()
    assert 'plate_number: enum["new", "old"]' in wanted.args[0].replace("\\", "")


def test_a_question_runs_from_the_box_on_the_documents_that_are_chosen(
    qtbot: QtBot, place: QuestionPlace, opened: MainWindow, case: Path
) -> None:
    ask = ask_plates(qtbot, place)
    choose(ask.documents.box, "search")
    ask.documents.words.setText("officer")
    qtbot.waitUntil(lambda: "with the words officer" in ask.estimate.text(), timeout=WAIT)
    with qtbot.waitSignal(opened.workspace.run_finished, timeout=WAIT):
        ask.run.click()
    run = place_of(opened, RunPlace)
    [entry] = run.queue.entries
    assert entry.input == "case:words=officer"
    assert Path(entry.pipeline) == case.parent / "sample questions" / "Which plates are mentioned.yaml"
    assert opened.current is run
    opened.go_to("Question")
    assert not place.shows_steps and ask.proposal is not None  # the table is still there

    run.results.click()
    results = place_of(opened, ResultsPlace)
    qtbot.waitUntil(lambda: results.model.row(0) is not None, timeout=WAIT)
    assert results.parts.runs.currentText().startswith("Which plates are mentioned (run ")
    assert [column.name for column in results.model.columns] == ["filename", "plate_number"]
    results.review.note(results.run, results.model.row(0).id, "only of this county")  # type: ignore[index]
    qtbot.waitUntil(results.parts.improve.isVisible, timeout=WAIT)
    results.parts.improve.click()
    qtbot.waitUntil(lambda: "The model is also told: only of this county" in ask.state.text(), timeout=WAIT)
    assert opened.current is place
    assert Path(place.document.file.path) == Path(entry.pipeline)  # it is this question that changes
    assert "only of this county" in place.document.text


def test_a_ready_made_question_has_the_same_form(qtbot: QtBot, place: QuestionPlace) -> None:
    assert "Columns: officer, acts, dates" in place.begin.templates.item(0).text()
    place.begin.templates.itemClicked.emit(place.begin.templates.item(0))
    ask = place.begin.ask
    qtbot.waitUntil(ask.proposed.isVisible, timeout=WAIT)
    assert names_of(ask) == ["officer", "acts", "dates", "evidence", "records"]
    assert ask.question.text() == "Which officers committed misconduct, and which sentence says so?"
    ask.edit.click()
    qtbot.waitUntil(lambda: place.shows_steps and len(place.cards.cards) > 4, timeout=WAIT)
    assert place.document.file.name == "Officers and misconduct"


def test_a_ready_made_question_can_be_made_ones_own(qtbot: QtBot, place: QuestionPlace) -> None:
    place.begin.templates.itemClicked.emit(place.begin.templates.item(0))
    ask = place.begin.ask
    qtbot.waitUntil(ask.proposed.isVisible, timeout=WAIT)
    assert ask.own.isVisible() and not ask.note.isEnabled()
    ask.own.click()
    qtbot.waitUntil(lambda: not ask.own.isVisible(), timeout=WAIT)
    assert "one plain question now" in ask.state.text()
    assert names_of(ask) == ["officer", "acts", "dates", "evidence", "records"]
    assert ask.note.isEnabled() and "type: resolve" not in ask.text
    ask.chips.edited.emit({"columns": [{"name": "officer", "kind": "person", "choices": []}]})
    qtbot.waitUntil(lambda: names_of(ask) == ["officer"], timeout=WAIT)


def test_a_preview_shows_a_table_whose_cells_open_their_page(
    qtbot: QtBot, place: QuestionPlace, opened: MainWindow
) -> None:
    ask = ask_plates(qtbot, place)
    preview = ask.preview
    with qtbot.waitSignal(preview.shown, timeout=WAIT):
        ask.look.click()
    assert opened.workspace.summary.runs == 0
    qtbot.waitUntil(lambda: preview.model.row(0) is not None, timeout=WAIT)
    names = [column.name for column in preview.model.columns]
    assert names == ["filename", "plate_number"]
    assert preview.table.isVisible() and not preview.evidence.isVisible()
    assert preview.table.findChildren(QLineEdit) == [], "nothing filters the rows of a preview"
    with qtbot.waitSignal(preview.evidence.shown, timeout=WAIT):
        preview.table.clicked.emit(preview.model.index(0, 1))
    with qtbot.waitSignal(preview.evidence.viewer.page_shown, timeout=WAIT):
        preview.table.go_to(0, 1)
        preview.table.clicked.emit(preview.model.index(0, 1))
    qtbot.waitUntil(lambda: not opened.workspace.job.is_going, timeout=WAIT)

    # A row that is wrong changes the question without a note.
    preview.table.go_to(0, 1)
    qtbot.keyClick(preview.table, Qt.Key.Key_R)
    qtbot.waitUntil(lambda: preview.rejected() == ["Sgt. Varrick"], timeout=WAIT)
    qtbot.waitUntil(lambda: ask.apply.text() == "Change it by 1 wrong row", timeout=WAIT)
    ask.apply.click()
    qtbot.waitUntil(lambda: "The model is also told: Leave out what is like these" in ask.state.text(), timeout=WAIT)
    assert "Preview it again" in preview.status.text()
    assert ask.apply.text() == "Change it"  # these rows changed it once
    assert "Sgt. Varrick" in ask.text
    with qtbot.waitSignal(preview.shown, timeout=WAIT):
        ask.look.click()
    assert preview.rejected() == []


def previewed(qtbot: QtBot, ask: AskBox) -> None:
    """Preview the table, and wait until its rows are there and the worker is free."""
    with qtbot.waitSignal(ask.preview.shown, timeout=WAIT):
        ask.look.click()
    qtbot.waitUntil(lambda: ask.preview.model.row(0) is not None, timeout=WAIT)
    qtbot.waitUntil(lambda: not ask.preview.is_going and ask.look.isEnabled(), timeout=WAIT)


def test_rows_that_were_called_wrong_count_after_a_column_was_changed_by_hand(
    qtbot: QtBot, place: QuestionPlace
) -> None:
    ask = ask_plates(qtbot, place)
    preview = ask.preview
    previewed(qtbot, ask)
    preview.table.go_to(0, 1)
    preview.judge("reject")
    qtbot.waitUntil(lambda: preview.rejected() == ["Sgt. Varrick"], timeout=WAIT)
    ask.chips.add_column()
    qtbot.waitUntil(lambda: "column 1" in names_of(ask), timeout=WAIT)
    qtbot.waitUntil(lambda: "Preview it again" in preview.status.text(), timeout=WAIT)
    assert preview.rejected() == ["Sgt. Varrick"]  # they have changed nothing yet


def test_a_preview_whose_case_is_gone_is_not_shown_any_more(
    qtbot: QtBot, place: QuestionPlace, opened: MainWindow
) -> None:
    ask, begun = ask_plates(qtbot, place), "Preview shows the table of three documents."
    previewed(qtbot, ask)
    ask.edit.click()
    qtbot.waitUntil(lambda: place.shows_steps and len(place.cards.cards) == 5, timeout=WAIT)
    settled(qtbot, place)
    with qtbot.waitSignal(place.trial.tried, timeout=WAIT):  # it takes the place of the preview
        place.try_now()
    qtbot.waitUntil(lambda: not opened.workspace.job.is_going, timeout=WAIT)
    assert (ask.preview.model.rowCount(), ask.preview.status.text()) == (0, begun)
    place.show_table()
    previewed(qtbot, ask)
    with qtbot.waitSignal(opened.workspace.client.ready, timeout=WAIT):  # another worker
        opened.workspace.client.restart()
    assert (ask.preview.model.rowCount(), ask.preview.status.text()) == (0, begun)
    previewed(qtbot, ask)
    with qtbot.waitSignal(opened.workspace.job.finished, timeout=WAIT):
        opened.workspace.convert_case(opened.workspace.case, "", "correct horse battery")
    assert (ask.preview.model.rowCount(), ask.preview.status.text()) == (0, begun)


def test_rows_of_a_preview_that_were_given_up_come_when_it_is_seen_again(
    qtbot: QtBot, place: QuestionPlace, opened: MainWindow
) -> None:
    preview = ask_plates(qtbot, place).preview
    preview.shown.connect(lambda: opened.go_to("Start"))  # before the rows are here
    place.begin.ask.look.click()
    qtbot.waitUntil(lambda: opened.current is not place, timeout=WAIT)
    qtbot.waitUntil(lambda: not opened.workspace.client.waiting, timeout=WAIT)
    assert not preview.model.rowCount()
    opened.go_to("Question")
    qtbot.waitUntil(lambda: preview.model.rowCount() > 0, timeout=WAIT)


def test_a_question_of_the_case_opens_in_the_box(qtbot: QtBot, place: QuestionPlace) -> None:
    ask = ask_plates(qtbot, place)
    ask.edit.click()
    qtbot.waitUntil(lambda: place.shows_steps and bool(place.document.text), timeout=WAIT)
    place.save()
    qtbot.waitUntil(lambda: bool(place.document.file.path), timeout=WAIT)
    path, text = place.document.file.path, place.document.text
    place.new_question()
    assert ask.proposal is None
    place.open_file(path)
    qtbot.waitUntil(lambda: ask.proposal is not None, timeout=WAIT)
    assert not place.shows_steps
    assert (ask.text, names_of(ask)[-1]) == (text, "plate number")


@pytest.mark.parametrize("is_begun", [False, True])
def test_a_preview_of_a_question_that_was_left_is_not_shown(
    qtbot: QtBot, place: QuestionPlace, opened: MainWindow, is_begun: bool
) -> None:
    ask, job = ask_plates(qtbot, place), opened.workspace.job
    ask.look.click()
    if is_begun:
        qtbot.waitUntil(lambda: job.is_going, timeout=WAIT)
    assert ask.preview.is_going and job.is_going == is_begun
    ask.others.click()
    assert not ask.preview.is_going
    qtbot.waitUntil(lambda: not job.is_going and not opened.workspace.client.waiting, timeout=WAIT)
    ask_plates(qtbot, place)
    qtbot.waitUntil(lambda: not job.is_going and not opened.workspace.client.waiting, timeout=WAIT)
    assert not ask.preview.table.isVisible() and not ask.preview.model.rowCount()
    assert ask.preview.status.text() == "Preview shows the table of three documents."
    with qtbot.waitSignal(ask.preview.shown, timeout=WAIT):
        ask.look.click()


def test_a_question_that_changes_during_its_preview_is_to_be_previewed_again(
    qtbot: QtBot, place: QuestionPlace, opened: MainWindow
) -> None:
    ask = ask_plates(qtbot, place)
    with qtbot.waitSignal(ask.preview.shown, timeout=WAIT):
        ask.look.click()
        qtbot.waitUntil(lambda: opened.workspace.job.is_going, timeout=WAIT)
        ask.preview.outdate()
    assert ask.preview.status.text() == "The question has changed. Preview it again."
    qtbot.waitUntil(lambda: not opened.workspace.job.is_going, timeout=WAIT)
    with qtbot.waitSignal(ask.preview.shown, timeout=WAIT):
        ask.look.click()
    assert "Click a cell" in ask.preview.status.text()


def test_no_permission_is_asked_for_where_documents_cannot_be_chosen(
    qtbot: QtBot, place: QuestionPlace, opened: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask, space = ask_plates(qtbot, place), opened.workspace
    qtbot.waitUntil(lambda: not space.client.waiting, timeout=WAIT)
    ask_worker = space.client.ask

    def refuse(query: Any, then: Any, failed: Any = None, **given: Any) -> str:
        if query != "ask.documents":
            return ask_worker(query, then, failed, **given)
        failed("these words cannot be searched for", "Type others.")
        return ""

    monkeypatch.setattr(space.client, "ask", refuse)
    space.job.refusal = CommandFailed("c1", "export", "", "", 2, need="overwrite", path="/of/an/export.csv")
    with qtbot.assertNotEmitted(space.permission_wanted):
        ask.look.click()
    assert ask.preview.status.text() == "these words cannot be searched for. Type others."


def test_a_trial_beside_another_job_is_refused_in_words(qtbot: QtBot, place: QuestionPlace, opened: MainWindow) -> None:
    begin(qtbot, place, 4)
    settled(qtbot, place)
    job = opened.workspace.job
    job.name, job.state = "run", "going"
    place.try_now()
    assert opened.messages.text.startswith("Redwell is busy with something else.")
    assert place.trial.status.text() != "Trying…"
    job.state = "none"


def test_a_preview_that_finds_another_job_going_says_so(
    qtbot: QtBot, place: QuestionPlace, opened: MainWindow, records: Path, case: Path
) -> None:
    ask = ask_plates(qtbot, place)
    ask.look.click()
    opened.workspace.job.start("ingest", folder=str(records), case=str(case))
    qtbot.waitUntil(lambda: "busy with something else" in ask.preview.status.text(), timeout=WAIT)
    assert not ask.preview.is_going
    qtbot.waitUntil(lambda: not opened.workspace.job.is_going, timeout=WAIT)


def test_a_trial_of_a_pipeline_that_was_left_is_not_shown(
    qtbot: QtBot, place: QuestionPlace, opened: MainWindow
) -> None:
    empty = next(row for row in range(5) if place.begin.templates.item(row).text() == EMPTY)
    begin(qtbot, place, empty)
    settled(qtbot, place)
    job, trial = opened.workspace.job, place.trial
    trial.try_now()
    assert job.is_going
    place.new_question()
    qtbot.waitUntil(lambda: not job.is_going and not opened.workspace.client.waiting, timeout=WAIT)
    assert trial.items.topLevelItemCount() == 0
    assert trial.status.text().startswith("See on a few documents")


def test_a_question_that_is_not_kept_yet_stays_with_its_case(
    qtbot: QtBot, place: QuestionPlace, opened: MainWindow, case: Path, read_case: Path
) -> None:
    other = Path(shutil.copy(read_case, case.with_name("other.redwell")))
    theirs = questions_folder(other) / "Mine.yaml"
    theirs.parent.mkdir()
    theirs.write_text("theirs", encoding="utf-8")
    place.document.begin("a: 1\n", "Mine")
    place.document.type_text("a: 2\n")
    open_case(qtbot, opened, other)
    mine = questions_folder(case) / "Mine.yaml"
    qtbot.waitUntil(mine.exists, timeout=WAIT)
    qtbot.waitUntil(lambda: not opened.workspace.client.waiting, timeout=WAIT)
    assert mine.read_text(encoding="utf-8") == "a: 2\n"
    assert theirs.read_text(encoding="utf-8") == "theirs"
    assert place.document.file.folder == theirs.parent


def save_as(qtbot: QtBot, place: QuestionPlace, name: str, text: str) -> Path:
    """Begin a pipeline, and keep it beside the case."""
    place.document.begin(text, name)
    place.document.save()
    qtbot.waitUntil(lambda: bool(place.document.file.path), timeout=WAIT)
    return Path(place.document.file.path)


def test_what_others_wrote_into_the_file_meanwhile_is_not_lost(
    qtbot: QtBot, place: QuestionPlace, opened: MainWindow
) -> None:
    file = save_as(qtbot, place, "Mine", "a: 1\n")
    place.document.type_text("a: 2\n")
    file.write_text("a: 1  # clarified\n", encoding="utf-8")
    with qtbot.waitSignal(opened.workspace.said, timeout=WAIT) as said:
        place.new_question()
    assert file.read_text(encoding="utf-8") == "a: 1  # clarified\n"
    assert file.with_stem("Mine (2)").read_text(encoding="utf-8") == "a: 2\n"
    assert said.args == ["Mine holds another text by now, so yours is kept as Mine (2).", ""]


def test_a_text_is_kept_though_it_was_refused_before(qtbot: QtBot, place: QuestionPlace, opened: MainWindow) -> None:
    file = save_as(qtbot, place, "Mine", "a: 1\n")
    place.document.type_text("a: 2\n")
    file.write_text("a: 1  # clarified\n", encoding="utf-8")
    place.document.save()
    place.new_question()
    qtbot.waitUntil(file.with_stem("Mine (2)").exists, timeout=WAIT)
    qtbot.waitUntil(lambda: not opened.workspace.client.waiting, timeout=WAIT)
    assert file.read_text(encoding="utf-8") == "a: 1  # clarified\n"


def test_texts_that_are_kept_one_after_the_other_go_into_one_file(
    qtbot: QtBot, place: QuestionPlace, opened: MainWindow
) -> None:
    """The second is on its way when another question is begun: it is known then what the first has written."""
    document = place.document
    document.begin("a: 1\n", "Mine")
    document.save()
    document.type_text("a: 2\n")
    folder = document.file.folder
    place.new_question()
    qtbot.waitUntil(lambda: not opened.workspace.client.waiting, timeout=WAIT)
    assert [file.name for file in folder.glob("*.yaml")] == ["Mine.yaml"]
    assert (folder / "Mine.yaml").read_text(encoding="utf-8") == "a: 2\n"


def test_what_a_person_decided_in_results_comes_into_the_question_that_is_open(
    qtbot: QtBot, place: QuestionPlace, opened: MainWindow, case: Path
) -> None:
    ask = ask_plates(qtbot, place)
    ask.edit.click()
    qtbot.waitUntil(lambda: place.shows_steps and bool(place.document.text), timeout=WAIT)
    place.save()
    qtbot.waitUntil(lambda: place.document.is_kept, timeout=WAIT)
    place.show_table()
    settled(qtbot, place)
    file = Path(place.document.file.path)
    text = f"{place.document.text}# clarified\n"
    file.write_text(text, encoding="utf-8")
    opened.workspace.client.told.emit(CaseChanged(str(case), CLARIFY.name))
    qtbot.waitUntil(lambda: place.document.text == text, timeout=WAIT)
    qtbot.waitUntil(lambda: ask.text == text, timeout=WAIT)
    assert place.document.is_kept
    place.document.replace(f"{text}# and more\n")
    place.save()
    qtbot.waitUntil(lambda: place.document.is_kept, timeout=WAIT)
    assert file.read_text(encoding="utf-8") == f"{text}# and more\n"
