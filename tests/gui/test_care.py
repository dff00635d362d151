"""Check, back up and repair a case from the window: a real worker, and a case with a byte that was really flipped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from gui_places import place_of
from gui_waiting import WAIT
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from desktop.care_dialog import CareDialog, check_text, finding_lines
from desktop.passphrase_dialogs import PassphraseDialog
from desktop.places.start import StartPlace
from desktop.window import MainWindow
from desktop.workspace import RECENT
from engine.worker.contract.care import CareResult, Difference
from engine.worker.contract.events import CaseNoted
from storage import passphrases
from storage.case import Case
from storage.conversion import encrypt_case
from storage.verification import verify_case

PASSPHRASE = "correct horse battery"


def flip_a_letter(path: Path) -> str:
    """Change one bit of the text of one line in the file itself; return the word as it was."""
    with Case(path, read_only=True) as case:
        document = case.documents.entries()[0]
        lines = case.documents.lines(document.id)
        word = max((word for line in lines for word in line.text.split()), key=lambda word: (len(word), word))
    data = bytearray(path.read_bytes())
    assert data.count(word.encode()) >= 1
    place = data.index(word.encode())
    data[place] ^= 1
    path.write_bytes(data)
    return word


@pytest.fixture
def damaged(case: Path) -> Path:
    flip_a_letter(case)
    assert not verify_case(case).is_sound
    return case


def action(window: MainWindow, text: str) -> QAction:
    return next(each for each in window.actions_.all if each.text().replace("&", "") == text)


def dialog_of(window: MainWindow) -> CareDialog:
    return next(dialog for dialog in window.findChildren(CareDialog) if dialog.isVisible())


def wait_for(qtbot: QtBot, dialog: CareDialog) -> None:
    qtbot.waitUntil(dialog.check.isEnabled, timeout=WAIT)


def test_a_sound_case_is_checked_from_the_menu(qtbot: QtBot, opened: MainWindow) -> None:
    action(opened, "Check this case").trigger()
    dialog = dialog_of(opened)
    assert not dialog.isModal()
    assert not dialog.check.isEnabled()
    assert dialog.stop.isVisible()
    wait_for(qtbot, dialog)
    assert dialog.verdict.text().startswith("The case is sound: ")
    assert dialog.findings.toPlainText() == ""
    assert not dialog.stop.isVisible()


def test_without_an_open_case_the_menu_asks_which(qtbot: QtBot, window: MainWindow, damaged: Path) -> None:
    action(window, "Check this case").trigger()
    asked = next(dialog for dialog in window.findChildren(QFileDialog) if dialog.isVisible())
    asked.fileSelected.emit(str(damaged))
    asked.close()
    dialog = dialog_of(window)
    wait_for(qtbot, dialog)
    assert dialog.verdict.text().startswith("The case is damaged: ")
    assert window.workspace.case == ""


def test_a_flipped_bit_is_named_and_the_case_repaired(qtbot: QtBot, window: MainWindow, damaged: Path) -> None:
    before = damaged.read_bytes()
    dialog = window.care_for(str(damaged), CareDialog.verify)
    wait_for(qtbot, dialog)
    assert dialog.verdict.text().startswith("The case is damaged: ")
    assert "choose Repair" in dialog.verdict.text()
    assert "it is not as it was written" in dialog.findings.toPlainText()
    new = damaged.with_name("whole.redwell")
    asked = dialog.ask_repair()
    assert asked.selectedFiles()[0].endswith("sample repaired.redwell")
    asked.fileSelected.emit(str(new))
    asked.close()
    wait_for(qtbot, dialog)
    assert "lost: " in dialog.findings.toPlainText()
    assert f"The new case was written: {new}. " in dialog.verdict.text()
    assert verify_case(new).is_sound
    assert damaged.read_bytes() == before
    with qtbot.waitSignal(window.workspace.case_opened, timeout=WAIT):
        dialog.open_new.click()
    assert window.workspace.case == str(new)


def test_a_backup_is_made_and_a_file_that_is_there_is_left_alone(
    qtbot: QtBot, opened: MainWindow, tmp_path: Path
) -> None:
    out = tmp_path / "copy.redwell"
    dialog = opened.care_for(opened.workspace.case)
    dialog.back_up(str(out))
    wait_for(qtbot, dialog)
    assert dialog.verdict.text().startswith(f"The copy was written: {out}, ")
    assert verify_case(out).is_sound
    written = out.read_bytes()
    dialog.back_up(str(out))
    wait_for(qtbot, dialog)
    assert "there is a file at" in dialog.verdict.text()
    assert out.read_bytes() == written


def test_a_backup_of_a_damaged_case_says_so(qtbot: QtBot, window: MainWindow, damaged: Path, tmp_path: Path) -> None:
    dialog = window.care_for(str(damaged))
    dialog.back_up(str(tmp_path / "copy.redwell"))
    wait_for(qtbot, dialog)
    assert "The case is damaged" in dialog.verdict.text()
    assert "it is not as it was written" in dialog.findings.toPlainText()


@pytest.mark.parametrize("work", [CareDialog.back_up, CareDialog.repair])
def test_what_is_stopped_leaves_no_file(
    qtbot: QtBot, window: MainWindow, case: Path, tmp_path: Path, work: Callable[[CareDialog, str], None]
) -> None:
    dialog = window.care_for(str(case))
    work(dialog, str(tmp_path / "out" / "copy.redwell"))  # there is no such folder yet
    dialog.stop.click()
    assert "was stopped" in dialog.verdict.text()
    folder = tmp_path / "new"
    folder.mkdir()
    work(dialog, str(folder / "copy.redwell"))
    dialog.stop.click()
    dialog.verify()  # the questions of this kind are answered one after the other
    wait_for(qtbot, dialog)
    assert "is sound" in dialog.verdict.text()
    assert list(folder.iterdir()) == []


def test_what_the_worker_notes_of_a_case_is_shown(window: MainWindow) -> None:
    window.workspace.client.told.emit(CaseNoted("a.redwell was upgraded.", "A copy of it is there."))
    assert window.messages.text == "a.redwell was upgraded.\nA copy of it is there."


def test_a_file_that_is_no_case_is_said_to_be_none(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    odd = tmp_path / "odd.redwell"
    odd.write_bytes(b"<b>no case</b>" * 400)
    dialog = window.care_for(str(odd), CareDialog.verify)
    wait_for(qtbot, dialog)
    assert "is not an SQLite database" in dialog.verdict.text()


def test_start_looks_after_a_recent_case_that_is_not_open(qtbot: QtBot, window: MainWindow, damaged: Path) -> None:
    window.workspace.settings.setValue(RECENT, [str(damaged)])
    start = place_of(window, StartPlace)
    start.activate()
    start._care.click()
    dialog = dialog_of(window)
    assert dialog.case == str(damaged)
    assert window.workspace.case == ""
    assert dialog.check.isEnabled()


def test_an_encrypted_case_asks_for_its_passphrase(qtbot: QtBot, window: MainWindow, case: Path) -> None:
    encrypt_case(case, PASSPHRASE)
    passphrases.forget(case)
    dialog = window.care_for(str(case), CareDialog.verify)
    qtbot.waitUntil(lambda: any(d.isVisible() for d in window.findChildren(PassphraseDialog)), timeout=WAIT)
    asking = next(d for d in window.findChildren(PassphraseDialog) if d.isVisible())
    asking._fields[0].setText(PASSPHRASE)
    asking.accept()
    wait_for(qtbot, dialog)
    qtbot.waitUntil(lambda: "is sound" in dialog.verdict.text(), timeout=WAIT)


def test_more_than_is_named_is_counted() -> None:
    difference = Difference("line", "a.pdf, page 1, line 2", "it is not as it was written")
    result = CareResult(differences=(difference,), difference_count=3, not_checked=("the search index",))
    assert finding_lines(result) == [
        "line: a.pdf, page 1, line 2: it is not as it was written",
        "and 2 more (`redwell case verify` lists all)",
        "not checked: the search index",
    ]
    assert check_text(result).startswith("The case is damaged: 3 differences. ")
    assert check_text(CareResult(rows=1200)) == "The case is sound: 1,200 values checked."
