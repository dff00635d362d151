"""Encrypted cases in the window, with a real worker: asked for, converted, opened again when the worker restarts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from gui_dropping import drop
from gui_places import place_of
from gui_waiting import UNFORKED, WAIT, shut
from PySide6.QtCore import QSettings, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog, QPushButton, QWidget
from pytestqt.qtbot import QtBot

import desktop.app
from desktop.case_dialogs import ask_for_new_case
from desktop.passphrase_dialogs import NewPassphraseDialog, PassphraseDialog
from desktop.places.settings import SettingsPlace
from desktop.places.start import StartPlace
from desktop.window import MainWindow
from engine.worker.contract.case import SUMMARY
from engine.worker.contract.events import ConvertProgress
from storage import passphrases
from storage.case import Case
from storage.conversion import encrypt_case, is_encrypted

FIRST, SECOND = "correct horse battery", "staple behind the barn"


@pytest.fixture
def encrypted(case: Path) -> Path:
    encrypt_case(case, FIRST)
    passphrases.forget(case)
    return case


def dialogs(window: MainWindow, kind: type[Any]) -> list[Any]:
    return [dialog for dialog in window.findChildren(kind) if dialog.isVisible()]


def the_dialog(qtbot: QtBot, window: MainWindow, kind: type[Any]) -> Any:
    qtbot.waitUntil(lambda: len(dialogs(window, kind)) == 1, timeout=WAIT)
    return dialogs(window, kind)[0]


def type_in(qtbot: QtBot, dialog: Any, *texts: str) -> None:
    for field, text in zip(dialog._fields, texts, strict=True):
        field.clear()
        QTest.keyClicks(field, text)
    with qtbot.waitSignal(dialog.finished, timeout=WAIT):
        QTest.keyClick(dialog._fields[-1], Qt.Key.Key_Return)


def settings_box(window: MainWindow) -> Any:
    window.go_to("Settings")
    return place_of(window, SettingsPlace).encryption


def command_line(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text() + Path(f"/proc/{pid}/environ").read_text(errors="replace")


@UNFORKED
def test_an_encrypted_case_asks_until_the_passphrase_is_right(
    qtbot: QtBot, window: MainWindow, encrypted: Path, settings: QSettings
) -> None:
    told: list[str] = []
    window.workspace.client.told.connect(lambda event: told.append(str(event)))
    drop(window, encrypted)
    dialog = the_dialog(qtbot, window, PassphraseDialog)
    assert not dialog.isModal()
    assert not dialog.go.isEnabled()
    assert (window.workspace.case, window.current.name) == ("", "Start")
    type_in(qtbot, dialog, SECOND)
    dialog = the_dialog(qtbot, window, PassphraseDialog)
    assert "does not open it" in dialog.hint.text()
    with qtbot.waitSignal(window.workspace.case_opened, timeout=WAIT):
        type_in(qtbot, dialog, FIRST)
    assert window.workspace.case == str(encrypted)
    assert window.workspace.summary.is_encrypted is True
    assert window.workspace.recent() == [str(encrypted)]
    settings.sync()
    for text in (Path(settings.fileName()).read_text(), *told):
        assert FIRST not in text
        assert SECOND not in text
    if sys.platform == "linux":
        assert FIRST not in command_line(window.workspace.client.process_id)


def test_a_cancelled_question_leaves_the_first_page(qtbot: QtBot, window: MainWindow, encrypted: Path) -> None:
    window.workspace._remember(str(encrypted))
    start: StartPlace = place_of(window, StartPlace)
    start.activate()
    start._recent.itemActivated.emit(start._recent.item(0))
    dialog = the_dialog(qtbot, window, PassphraseDialog)
    with qtbot.waitSignal(dialog.finished, timeout=WAIT):
        QTest.keyClick(dialog, Qt.Key.Key_Escape)
    assert (window.workspace.case, window.workspace.is_opening, window.current.name) == ("", False, "Start")
    assert window.messages.text == ""


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_the_next_worker_opens_it_without_asking(qtbot: QtBot, window: MainWindow, encrypted: Path) -> None:
    window.workspace.open_case(str(encrypted))
    with qtbot.waitSignal(window.workspace.case_opened, timeout=WAIT):
        type_in(qtbot, the_dialog(qtbot, window, PassphraseDialog), FIRST)
    client, found = window.workspace.client, []
    qtbot.waitUntil(lambda: not client.waiting, timeout=WAIT)
    with qtbot.waitSignal(client.ready, timeout=WAIT):
        os.kill(client.process_id, signal.SIGKILL)
    window.workspace.ask(SUMMARY, found.append)
    qtbot.waitUntil(lambda: bool(found), timeout=WAIT)
    assert found[0].is_encrypted is True
    client.restart()
    window.workspace.ask(SUMMARY, found.append)
    qtbot.waitUntil(lambda: len(found) == 2, timeout=WAIT)
    assert dialogs(window, PassphraseDialog) == []


def test_the_open_case_is_encrypted_changed_and_decrypted(qtbot: QtBot, opened: MainWindow, case: Path) -> None:
    box, documents = settings_box(opened), opened.workspace.summary.documents
    assert "is not encrypted" in box.state.text()
    assert (box.encrypt.isVisible(), box.change.isVisible(), box.decrypt.isVisible()) == (True, False, False)
    box.encrypt.click()
    dialog = the_dialog(qtbot, opened, NewPassphraseDialog)
    assert "Nobody can recover" in dialog.text.text()
    QTest.keyClicks(dialog.new, "short")
    assert "At least 8 characters" in dialog.hint.text()
    dialog.new.setText(FIRST)
    dialog.again.setText(SECOND)
    assert (dialog.hint.text(), dialog.go.isEnabled()) == ("The two are not the same yet.", False)
    type_in(qtbot, dialog, FIRST, FIRST)
    qtbot.waitUntil(lambda: "opens with its passphrase only" in box.state.text(), timeout=WAIT)
    assert is_encrypted(case)
    assert opened.workspace.job.given == {"case": str(case)}

    box.change.click()
    with qtbot.waitSignal(opened.workspace.said, timeout=WAIT) as said:
        type_in(qtbot, the_dialog(qtbot, opened, NewPassphraseDialog), SECOND, SECOND, SECOND)
    assert "does not open" in said.args[0]
    assert FIRST not in str(said.args)
    qtbot.waitUntil(box.change.isEnabled, timeout=WAIT)
    box.change.click()
    with qtbot.waitSignal(opened.workspace.job.finished, timeout=WAIT):
        type_in(qtbot, the_dialog(qtbot, opened, NewPassphraseDialog), FIRST, SECOND, SECOND)
    with qtbot.waitSignal(opened.workspace.client.ready, timeout=WAIT):
        opened.workspace.client.restart()
    found: list[Any] = []
    opened.workspace.ask(SUMMARY, found.append)
    qtbot.waitUntil(lambda: bool(found), timeout=WAIT)
    assert found[0].is_encrypted is True

    qtbot.waitUntil(box.decrypt.isEnabled, timeout=WAIT)
    box.decrypt.click()
    type_in(qtbot, the_dialog(qtbot, opened, PassphraseDialog), SECOND)
    qtbot.waitUntil(lambda: "is not encrypted" in box.state.text(), timeout=WAIT)
    qtbot.waitUntil(lambda: not opened.workspace.client.waiting, timeout=WAIT)
    with Case(case, read_only=True) as read:
        assert not read.is_encrypted
        assert read.listing.count_documents() == documents > 0


@pytest.mark.parametrize("which", ["encrypt", "change", "decrypt"])
def test_a_question_about_a_passphrase_names_its_case_and_ends_with_it(
    qtbot: QtBot, opened: MainWindow, case: Path, which: str, tmp_path: Path
) -> None:
    box, other = settings_box(opened), tmp_path / "other.redwell"
    dialog = getattr(box, f"ask_to_{which}")()
    assert str(case) in dialog.text.text()
    with qtbot.waitSignal(dialog.finished, timeout=WAIT), qtbot.waitSignal(opened.workspace.case_opened, timeout=WAIT):
        opened.workspace.open_case(str(other), create=True)


def test_a_passphrase_is_for_the_case_that_was_open_when_it_was_asked_for(
    qtbot: QtBot, opened: MainWindow, case: Path, tmp_path: Path
) -> None:
    space = opened.workspace
    dialog = settings_box(opened).ask_to_encrypt()
    space.case = str(tmp_path / "other.redwell")
    type_in(qtbot, dialog, FIRST, FIRST)
    assert space.job.given == {"case": str(case)}
    qtbot.waitUntil(lambda: not space.job.is_going, timeout=WAIT)
    assert is_encrypted(case)
    assert space.client._passphrases == {str(case): FIRST}


def test_the_dialog_has_room_for_a_line_of_letters(qtbot: QtBot) -> None:
    dialog = PassphraseDialog("a.redwell")
    qtbot.addWidget(dialog)
    assert dialog.minimumWidth() == 46 * dialog.fontMetrics().averageCharWidth()


def new_case_dialog(window: MainWindow, path: Path, *, encrypted: bool) -> QFileDialog:
    dialog = ask_for_new_case(window, window.workspace, encrypted=encrypted)
    dialog.selectFile(str(path))
    return dialog


def test_a_new_case_is_encrypted_from_its_first_byte(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    path = tmp_path / "new.redwell"
    dialog = new_case_dialog(window, path, encrypted=True)
    dialog.fileSelected.emit(str(path))
    dialog.close()
    asked = the_dialog(qtbot, window, NewPassphraseDialog)
    with qtbot.waitSignal(window.workspace.case_opened, timeout=WAIT):
        type_in(qtbot, asked, FIRST, FIRST)
    assert window.workspace.summary.is_encrypted is True
    qtbot.waitUntil(lambda: not window.workspace.client.waiting, timeout=WAIT)
    assert is_encrypted(path)


def test_a_new_case_is_plain_where_nothing_else_was_chosen(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    path = tmp_path / "new.redwell"
    dialog = new_case_dialog(window, path, encrypted=False)
    with qtbot.waitSignal(window.workspace.case_opened, timeout=WAIT):
        dialog.fileSelected.emit(str(path))
    dialog.close()
    assert window.workspace.summary.is_encrypted is False
    assert dialogs(window, NewPassphraseDialog) == []


@pytest.mark.parametrize("encrypted", [True, False])
def test_where_a_case_is_already_a_new_one_opens_it_and_says_so(
    qtbot: QtBot, window: MainWindow, case: Path, encrypted: bool
) -> None:
    dialog = new_case_dialog(window, case, encrypted=encrypted)
    assert dialog.testOption(QFileDialog.Option.DontConfirmOverwrite)
    with qtbot.waitSignal(window.workspace.case_opened, timeout=WAIT):
        dialog.fileSelected.emit(str(case))
    dialog.close()
    assert window.workspace.summary.documents > 0
    assert window.workspace.summary.is_encrypted is False
    assert "was opened, and not replaced" in window.messages.text
    assert dialogs(window, NewPassphraseDialog) == []


def test_a_new_case_is_plain_where_an_encrypted_one_was_deleted(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    space, path, other = window.workspace, tmp_path / "new.redwell", tmp_path / "other.redwell"
    for make in (lambda: space.make_encrypted_case(str(path), FIRST), lambda: space.open_case(str(other), create=True)):
        with qtbot.waitSignal(space.case_opened, timeout=WAIT):
            make()
    qtbot.waitUntil(lambda: not space.client.waiting, timeout=WAIT)
    path.unlink()
    with qtbot.waitSignal(space.case_opened, timeout=WAIT):
        space.open_case(str(path), create=True)
    assert space.summary.is_encrypted is False
    assert not is_encrypted(path)


def test_a_plain_case_that_was_there_is_not_taken_for_encrypted(qtbot: QtBot, window: MainWindow, case: Path) -> None:
    with qtbot.waitSignal(window.workspace.said, timeout=WAIT) as said:
        window.workspace.make_encrypted_case(str(case), FIRST)
    assert "is not encrypted" in said.args[0]


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
@UNFORKED
def test_a_worker_that_dies_while_it_encrypts_leaves_a_case_that_opens(
    qtbot: QtBot, opened: MainWindow, case: Path
) -> None:
    box, client = settings_box(opened), opened.workspace.client
    qtbot.waitUntil(lambda: not client.waiting, timeout=WAIT)
    os.kill(client.process_id, signal.SIGSTOP)
    opened.workspace.convert_case(str(case), "", FIRST)
    assert not box.encrypt.isEnabled()
    with qtbot.waitSignal(opened.workspace.case_opened, timeout=WAIT):
        os.kill(client.process_id, signal.SIGKILL)
    assert (opened.workspace.summary.is_encrypted, box.encrypt.isEnabled()) == (False, True)


def test_the_command_line_opens_it_with_the_variable(
    qtbot: QtBot, encrypted: Path, settings: QSettings, monkeypatch: pytest.MonkeyPatch, qapp: QWidget
) -> None:
    monkeypatch.setenv(passphrases.VARIABLE, FIRST)
    made: list[MainWindow] = []
    make_window = desktop.app.make_window

    def make(ignored: QSettings, **given: str) -> MainWindow:
        made.append(make_window(settings, **given))
        return made[0]

    def run() -> int:
        qtbot.waitUntil(lambda: bool(made[0].workspace.case), timeout=WAIT)
        return 0

    monkeypatch.setattr(desktop.app, "make_window", make)
    monkeypatch.setattr(type(qapp), "exec", staticmethod(run))
    assert desktop.app.main(["redwell", str(encrypted)]) == 0
    assert made[0].workspace.summary.is_encrypted is True
    assert passphrases.VARIABLE not in os.environ
    if sys.platform == "linux":
        assert FIRST not in command_line(made[0].workspace.client.process_id)
    qtbot.waitUntil(lambda: not made[0].workspace.client.waiting, timeout=WAIT)
    shut(made[0])
    made[0].deleteLater()


def test_another_program_finds_the_passphrase_nowhere_beside_the_case(
    qtbot: QtBot, window: MainWindow, encrypted: Path
) -> None:
    window.workspace.open_case(str(encrypted))
    with qtbot.waitSignal(window.workspace.case_opened, timeout=WAIT):
        type_in(qtbot, the_dialog(qtbot, window, PassphraseDialog), FIRST)
    window.workspace.edit("queue.add", pipeline="question.yaml")
    qtbot.waitUntil(lambda: not window.workspace.client.waiting, timeout=WAIT)
    found = subprocess.run(
        ["grep", "-rlaF", FIRST, str(encrypted.parent)], capture_output=True, text=True, check=False
    ).stdout
    assert found == ""


def test_a_locked_case_that_is_opened_twice_is_asked_for_once(
    qtbot: QtBot, window: MainWindow, encrypted: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.redwell"
    Case(other).close()
    encrypt_case(other, SECOND)
    passphrases.forget(other)
    window.workspace.open_case(str(encrypted))
    dialog = the_dialog(qtbot, window, PassphraseDialog)
    QTest.keyClicks(dialog.passphrase, FIRST)
    with qtbot.waitSignal(window.workspace.passphrase_wanted, timeout=WAIT):
        window.workspace.open_case(str(encrypted))
    assert dialogs(window, PassphraseDialog) == [dialog]
    assert dialog.passphrase.text() == FIRST
    with qtbot.waitSignal(window.workspace.passphrase_wanted, timeout=WAIT):
        window.workspace.open_case(str(other))
    (second,) = dialogs(window, PassphraseDialog)
    assert str(other) in second.text.text()
    with qtbot.waitSignal(window.workspace.case_opened, timeout=WAIT):
        type_in(qtbot, second, SECOND)
    assert dialogs(window, PassphraseDialog) == []


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
@UNFORKED
def test_a_conversion_says_how_far_it_is_and_can_be_cancelled(qtbot: QtBot, opened: MainWindow, case: Path) -> None:
    box, client, job = settings_box(opened), opened.workspace.client, opened.workspace.job
    qtbot.waitUntil(lambda: not client.waiting, timeout=WAIT)
    assert not box.progress.isVisible()
    os.kill(client.process_id, signal.SIGSTOP)
    try:
        opened.workspace.convert_case(str(case), "", FIRST)
        client.told.emit(ConvertProgress("copied", done=3_000_000, total=4_000_000))
        assert "75 %" in box.state.text()
        assert (box.progress.isVisible(), box.progress.value(), box.progress.maximum()) == (True, 750, 1000)
        client.told.emit(ConvertProgress("compared", done=0, total=0))
        assert ("compared" in box.state.text(), box.progress.maximum()) == (True, 0)
        opened.close()
        asked = opened._leaving
        assert asked.informativeText() == "The case then stays as it was."
        next(button for button in asked.findChildren(QPushButton) if button.text() == "Go on working").click()
        box.cancel.click()
        assert (box.cancel.isEnabled(), job.state) == (False, "cancelling")
    finally:
        os.kill(client.process_id, signal.SIGCONT)
    qtbot.waitUntil(lambda: not job.is_going, timeout=WAIT)
    assert (box.progress.isVisible(), box.encrypt.isEnabled()) == (False, True)
    counted: list[Any] = []
    opened.workspace.ask(SUMMARY, counted.append)
    qtbot.waitUntil(lambda: bool(counted), timeout=WAIT)
    assert counted[0].is_encrypted is False
    assert not is_encrypted(case)
