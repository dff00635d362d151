"""The places Models and Settings, the panel Offline, and what Start offers: a real worker, a cache of its own."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pymupdf
import pytest
from gguf_files import MODEL, TEXT, gguf, pair, text
from gui_dropping import drop
from gui_places import open_case, place_of
from gui_waiting import WAIT
from PySide6.QtCore import QSettings, QStandardPaths
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPushButton, QSpinBox
from pytestqt.qtbot import QtBot

from desktop.offline_panel import report_lines, verdict_text
from desktop.places.documents import DocumentsPlace
from desktop.places.models import ModelsPlace
from desktop.places.results import ResultsPlace
from desktop.places.settings import SettingsPlace
from desktop.places.start import StartPlace
from desktop.settings_values import worker_environment
from desktop.theme import is_dark
from desktop.viewer import PasswordBar
from desktop.window import NETWORK_ALLOWED, NETWORK_REFUSED, NETWORK_UNKNOWN, MainWindow
from engine.worker.contract.case import COPY_SAMPLE
from engine.worker.contract.doctor import CheckedThing
from engine.worker.contract.offline import (
    Allowed,
    Check,
    IsolatedCheck,
    LiveProcess,
    OfflineState,
    OpenSocket,
    Tried,
)
from models.catalog import default_entry
from models.fence.seccomp import seccomp_is_known


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REDWELL_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache" / "models").mkdir(parents=True)
    return tmp_path / "cache" / "models"


def test_models_are_shown_with_what_to_expect(qtbot: QtBot, window: MainWindow, cache: Path) -> None:
    place: ModelsPlace = place_of(window, ModelsPlace)
    window.go_to("Models")
    qtbot.waitUntil(lambda: place.model.rowCount() > 2, timeout=WAIT)
    assert place.current() is not None
    assert place.buttons["install"].isEnabled()
    assert not place.buttons["measure"].isEnabled()
    ids = [row.id for row in place.model.rows]
    place.table.selectRow(ids.index(default_entry().id))
    assert place.details.facts["SHA-256"].text() == default_entry().files[0].sha256
    assert place.details.facts["Licence"].text() == default_entry().licence
    assert place.details.facts["Place"].text() == ""


MAMBA = gguf(pair("general.architecture", TEXT, text("mamba")))


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("odd.gguf", b"GGUF" + b"\xff" * 5000, "is not supported"),
        ("odd.GGUF", b"%PDF-1.7", "not a GGUF file"),
        ("mamba.gguf", MAMBA, "recurrent or hybrid model"),
    ],
)
def test_a_dropped_file_that_is_no_model_is_refused_and_the_window_lives(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, cache: Path, name: str, data: bytes, reason: str
) -> None:
    odd = tmp_path / name
    odd.write_bytes(data)
    place: ModelsPlace = place_of(window, ModelsPlace)
    with qtbot.waitSignal(window.workspace.said, timeout=WAIT):
        drop(window, odd)
        assert window.current is place
    qtbot.waitUntil(lambda: not place.bar.isVisible(), timeout=WAIT)
    assert name in place.status.text()
    assert reason in place.status.text()
    assert list(cache.glob("*.gguf")) == []


def test_an_own_model_is_chosen_verified_and_removed(qtbot: QtBot, window: MainWindow, cache: Path) -> None:
    (cache / "mine.gguf").write_bytes(gguf(*MODEL))
    place: ModelsPlace = place_of(window, ModelsPlace)
    window.go_to("Models")
    qtbot.waitUntil(lambda: bool((model := place.current()) and model.id == "mine"), timeout=WAIT)
    assert "choose Verify" in place.details.facts["SHA-256"].text()
    place.check()
    qtbot.waitUntil(lambda: len(place.details.facts["SHA-256"].text()) == 64, timeout=WAIT)
    place.choose()
    qtbot.waitUntil(lambda: bool((model := place.current()) and model.is_default), timeout=WAIT)
    assert not place.buttons["choose"].isEnabled()
    place.remove("mine")
    qtbot.waitUntil(lambda: "mine" not in [row.id for row in place.model.rows], timeout=WAIT)
    assert "are free again" in place.status.text()
    assert list(cache.glob("*.gguf")) == []


def number(place: SettingsPlace, name: str) -> QSpinBox:
    return next(box for box in place.findChildren(QSpinBox) if box.accessibleName() == name)


def test_settings_are_kept_and_the_worker_gets_those_of_models(
    qtbot: QtBot, window: MainWindow, settings: QSettings
) -> None:
    place: SettingsPlace = place_of(window, SettingsPlace)
    window.go_to("Settings")
    qtbot.waitUntil(lambda: "cores" in place._machine.text(), timeout=WAIT)
    assert place.ocr.text()
    place.theme_chosen.emit("dark")
    assert (is_dark(), settings.value("theme")) == (True, "dark")
    place.theme_chosen.emit("light")
    place.letters_chosen.emit(1.3)
    assert float(str(settings.value("font_scale"))) == 1.3
    place.letters_chosen.emit(1.0)
    number(place, "Files read at once").setValue(3)
    assert window.workspace.reading_options() == {"workers": 3}
    assert not place.restart.isVisible()
    number(place, "Threads of a model").setValue(1)
    assert worker_environment(settings) == {"REDWELL_THREADS": "1"}
    assert place.restart.isVisible()
    before = window.workspace.client.process_id
    with qtbot.waitSignal(window.workspace.client.ready, timeout=WAIT):
        place.restart.click()
    qtbot.waitUntil(lambda: "REDWELL_THREADS=1" in place._machine.text(), timeout=WAIT)
    assert window.workspace.client.process_id != before
    assert not place.restart.isVisible()


REFUSED = "refused" if seccomp_is_known() else "refused by Python alone"


def test_the_panel_starts_nothing_until_it_is_told_to(qtbot: QtBot, window: MainWindow, cache: Path) -> None:
    panel = window.show_offline()
    qtbot.waitUntil(lambda: bool(panel.report.toPlainText()), timeout=WAIT)
    lines = panel.report.toPlainText().splitlines()
    assert "  reads files, draws pages, OCR: not tried (not in this session)" in lines
    assert "  runs a model: not tried (not in this session)" in lines
    assert "  not tried in this window" in lines
    assert "  not known: no case is open" in lines
    assert "  the window: not tried (not in this session)" in lines
    assert "Not tried: the window; the worker, in which embeddings run; reads files" in panel.verdict.text()
    assert [line for line in lines if " refused" in line] == []
    panel.close()


def test_each_kind_of_process_asks_for_a_socket(qtbot: QtBot, window: MainWindow, cache: Path) -> None:
    (cache / "mine.gguf").write_bytes(gguf(*MODEL))
    panel = window.show_offline()
    qtbot.waitUntil(panel.attempt.isEnabled, timeout=WAIT)
    panel.attempt.click()
    assert not panel.attempt.isEnabled()
    qtbot.waitUntil(panel.attempt.isEnabled, timeout=WAIT)
    lines = panel.report.toPlainText().splitlines()
    for kind in ("reads files, draws pages, OCR", "runs code of a pipeline", "runs a model"):
        assert [line for line in lines if line.startswith(f"  {kind}: {REFUSED}")], lines
    # The window is the process of the test, which nobody fences; its worker was started without a model.
    assert [line for line in lines if line.startswith("  the window: NOT REFUSED")], lines
    assert "These could reach the network when tried: the window" in panel.verdict.text()
    assert "Not tried" not in panel.verdict.text()
    panel.close()


def test_the_indicator_says_what_the_kernel_says(
    qtbot: QtBot, window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The window of a test is the process of the test, which nobody fences; here is no model, so the worker may."""
    qtbot.waitUntil(lambda: window._offline.text() != NETWORK_UNKNOWN, timeout=WAIT)
    assert window._offline.text() == NETWORK_ALLOWED
    if seccomp_is_known():
        why = "no model is installed yet, and installing one downloads it"
        assert f"the worker ({why})" in window._offline.toolTip()
    worker = LiveProcess("the worker", 1, "refused", "")
    window._show_fence([worker])
    assert window._offline.text() == NETWORK_ALLOWED  # the window is not fenced
    monkeypatch.setattr("desktop.window.window_process", lambda: replace(worker, kind="the window"))
    window._show_fence([worker])
    assert window._offline.text() == NETWORK_REFUSED
    assert "blocks the network for all 2 programs" in window._offline.toolTip()
    window._show_fence([replace(worker, state="unknown", why="it cannot be looked at")])
    assert window._offline.text() == NETWORK_UNKNOWN
    window._show_fence(None, "unknown query")
    assert window._offline.text() == NETWORK_UNKNOWN
    assert "could not be found out: unknown query" in window._offline.toolTip()


def test_what_is_known_is_looked_for_again_where_it_could_not_be_found_out(qtbot: QtBot, window: MainWindow) -> None:
    panel = window.show_offline()
    panel._failed("no answer", "")
    panel._take_isolated(IsolatedCheck(was_possible=False, why="no namespaces"))
    qtbot.waitUntil(lambda: "  not tried: no namespaces" in panel.report.toPlainText(), timeout=WAIT)
    assert "Not tried: the window" in panel.verdict.text()
    panel.close()


FENCED = LiveProcess("the worker", 3, "refused", "")
OPEN = LiveProcess("the window", 4, "allowed", "this system (darwin) has no seccomp")
MODEL_TRIED = Tried("runs a model", "kernel", "no", "2026-11-24T10:00:00.000+00:00")
QUIET = OfflineState(
    processes=(FENCED, FENCED),
    missing=(),
    tried=(MODEL_TRIED,),
    allowed=(),
    why_not_allowed="",
    sockets=(),
    servers=(),
    variables=(),
)


def test_the_verdict_says_no_more_than_is_known() -> None:
    refused = "The system blocks the network for all 2 programs of Redwell that run now."
    assert verdict_text(QUIET) == refused
    untried = replace(QUIET, tried=(Tried("runs a model", "untried", "not in this session"),))
    assert verdict_text(untried) == f"{refused} Not tried: runs a model."
    assert "  runs a model: not tried (not in this session)" in report_lines(untried)
    made = replace(QUIET, tried=(replace(MODEL_TRIED, outcome="made"),))
    assert verdict_text(made) == f"{refused} These could reach the network when tried: runs a model."
    python = replace(QUIET, tried=(replace(MODEL_TRIED, outcome="python"),))
    assert verdict_text(python) == f"{refused} Blocked by Python only, not by the system: runs a model."
    hidden = replace(OPEN, state="unknown", why="it cannot be looked at")
    assert verdict_text(replace(QUIET, processes=(FENCED, OPEN, hidden))) == (
        "The system does not block the network for: the window (this system (darwin) has no seccomp)."
        " Not known: the window (it cannot be looked at). It is blocked for: the worker."
    )
    assert "  there is no Landlock" in report_lines(replace(QUIET, missing=("there is no Landlock",)))


def test_what_was_allowed_to_leave_is_told_with_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    run = Allowed("run 3", ("lab.lan:8000",), "2026-11-24T10:00:00.000+00:00", 1)
    trial = replace(run, what="trial", hosts=("lab.lan:8000", "b.lan:1"), replies=None)
    report = replace(QUIET, allowed=(run, trial))
    assert "In this case 2 jobs were allowed to send text elsewhere" in verdict_text(report)
    lines = report_lines(report)
    assert "  2026-11-24 10:00:00: run 3, to lab.lan:8000, 1 reply of all its models" in lines
    assert "  2026-11-24 10:00:00: trial, to lab.lan:8000, b.lan:1" in lines
    assert "  nothing is recorded" in report_lines(QUIET)
    unknown = replace(QUIET, allowed=None, why_not_allowed="the log is broken")
    assert "  not known: the log is broken" in report_lines(unknown)
    monkeypatch.undo()
    time.tzset()


def test_sockets_and_work_without_network_are_told_as_they_are() -> None:
    checks = (
        Check("Reading", False, "no"),
        Check("Asking a model", True, "not tried: no model is installed"),
        Check("Interfaces", True, "none"),
    )
    isolated = IsolatedCheck(was_possible=True, why="", checks=checks)
    closed = OpenSocket("y", 2, "", "", "", None)
    report = replace(QUIET, sockets=(OpenSocket("x", 1, "a:1", "b:2", "ESTABLISHED", True), closed))
    lines = report_lines(report, isolated)
    assert "  x, process 1: a:1 to b:2, established, leaves this computer" in lines
    assert "  y, process 2: not known, the system does not say which it has" in lines
    assert "  Reading: fails (no)" in lines
    assert "  Asking a model: not tried (no model is installed)" in lines
    assert "  Interfaces: works (none)" in lines
    assert "Without network this did not work: Reading." in verdict_text(report, isolated)
    assert "is not on this computer: see below" in verdict_text(report)
    assert "not on this computer" not in verdict_text(replace(QUIET, sockets=(closed,)))
    impossible = IsolatedCheck(was_possible=False, why="no namespaces")
    assert "could not be tested here" in verdict_text(QUIET, impossible)
    assert "  not tried: no namespaces" in report_lines(QUIET, impossible)


def test_start_opens_the_sample_with_results_to_look_at(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(QStandardPaths, "writableLocation", staticmethod(lambda which: str(tmp_path)))
    results = place_of(window, ResultsPlace)
    place_of(window, StartPlace).open_sample()
    qtbot.waitUntil(lambda: results.isVisible() and results.model.rowCount() > 0, timeout=WAIT)
    assert window.workspace.case == str(tmp_path / "Redwell sample" / "Larkmoor sample.redwell")


def test_a_case_that_is_opened_after_a_sample_that_cannot_be_is_shown_as_any_other(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, ask = window.workspace.client, window.workspace.client.ask

    def copy_nowhere(query: Any, then: Any, *failed: Any, **given: Any) -> str:
        if query is COPY_SAMPLE:
            then(str(tmp_path / "no such folder" / "sample.redwell"))
            return ""
        return ask(query, then, *failed, **given)

    monkeypatch.setattr(client, "ask", copy_nowhere)
    with qtbot.waitSignal(window.workspace.said, timeout=WAIT):
        place_of(window, StartPlace).open_sample()
    open_case(qtbot, window, tmp_path / "mine.redwell", create=True)
    assert window.current is place_of(window, DocumentsPlace)


def test_work_on_a_model_is_begun_again_by_the_next_worker(
    qtbot: QtBot, window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    place: ModelsPlace = place_of(window, ModelsPlace)
    window.go_to("Models")
    qtbot.waitUntil(lambda: not window.workspace.client.waiting, timeout=WAIT)
    monkeypatch.setattr(window.workspace.client, "ask", lambda *asked, **given: "9")
    place._install("some-model")
    window.workspace.client.lost.emit("ended")
    assert place.bar.isVisible()
    assert place.status.text() == "Installing some-model: Redwell's background program ended; beginning again."


def test_buttons_of_start_do_what_is_missing(qtbot: QtBot, window: MainWindow, monkeypatch: pytest.MonkeyPatch) -> None:
    start, models = place_of(window, StartPlace), place_of(window, ModelsPlace)
    asked: list[str] = []
    monkeypatch.setattr(models, "_install", asked.append)
    check = CheckedThing("Default model", "missing", "none", "Install.", "install", "some-model")
    speed = CheckedThing("Speed", "note", "unknown", "Measure.", "measure", "x")
    start._show_checks([check, speed])
    buttons = {button.text(): button for button in start._checks.findChildren(QPushButton)}
    assert set(buttons) == {"Install", "Measure"}
    buttons["Install"].click()
    assert asked == ["some-model"]
    assert window.current is models


def test_start_lists_what_works_only_with_details(qtbot: QtBot, window: MainWindow) -> None:
    start = place_of(window, StartPlace)
    start._show_checks(
        [CheckedThing("Memory", "ok", "8 GB free", ""), CheckedThing("Disk", "note", "1 GB", "Free some.")]
    )

    def shown() -> list[str]:
        return [label.text() for label in start._checks.widget().findChildren(QLabel) if label.text()]

    assert (start._verdict.text(), shown()) == ("Redwell is ready.", ["Disk: 1 GB\nFree some."])
    start._details.click()
    assert shown() == ["Disk: 1 GB\nFree some.", "Memory: 8 GB free"]
    start._details.click()
    assert shown() == ["Disk: 1 GB\nFree some."]


def test_a_password_that_is_being_typed_stays_when_it_is_asked_for_again(qtbot: QtBot) -> None:
    bar = PasswordBar()
    qtbot.addWidget(bar)
    bar.ask(was_wrong=False)
    QTest.keyClicks(bar._password, "op")
    bar.ask(was_wrong=False)  # as when the window becomes larger
    assert bar._password.text() == "op"


def test_an_encrypted_page_asks_for_its_password(
    qtbot: QtBot, new_window: Callable[[], MainWindow], tmp_path: Path
) -> None:
    folder = tmp_path / "sealed"
    folder.mkdir()
    with pymupdf.open() as pdf:
        pdf.new_page().insert_text((72, 72), "A sealed record of May 3, 2021.")
        pdf.save(folder / "sealed.pdf", encryption=pymupdf.PDF_ENCRYPT_AES_256, owner_pw="o", user_pw="open")
    window = new_window()
    place: DocumentsPlace = place_of(window, DocumentsPlace)
    open_case(qtbot, window, tmp_path / "sealed.redwell", create=True)
    with qtbot.waitSignal(window.workspace.job.finished, timeout=WAIT):
        place.ingest.read_again(str(folder / "sealed.pdf"), password="open")
    qtbot.waitUntil(lambda: place.model.row(0) is not None, timeout=WAIT)
    place.show_document(place.model.row(0).id)
    bar = place.viewer.password_bar
    qtbot.waitUntil(bar.isVisible, timeout=WAIT)
    QTest.keyClicks(bar._password, "wrong")
    bar._enter()
    qtbot.waitUntil(lambda: bar.isVisible() and "does not open" in bar._hint.text(), timeout=WAIT)
    with qtbot.waitSignal(place.viewer.picture_shown, timeout=WAIT):
        QTest.keyClicks(bar._password, "open")
        bar._enter()
    assert not bar.isVisible()
