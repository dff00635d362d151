"""The places Models and Settings, the panel Offline, and what Start offers: a real worker, a cache of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pymupdf
import pytest
from gguf_files import MODEL, gguf
from gui_dropping import drop
from gui_waiting import WAIT
from PySide6.QtCore import QSettings, QStandardPaths
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from desktop.offline_panel import report_lines, verdict_text
from desktop.places.documents import DocumentsPlace
from desktop.places.models import ModelsPlace
from desktop.places.settings import SettingsPlace
from desktop.places.start import StartPlace
from desktop.settings_values import worker_environment
from desktop.theme import is_dark
from desktop.window import MainWindow
from models.catalog import default_entry


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REDWELL_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache" / "models").mkdir(parents=True)
    return tmp_path / "cache" / "models"


def place_of(window: MainWindow, kind: type[Any]) -> Any:
    return next(place for place in window.places if isinstance(place, kind))


def test_models_are_shown_with_what_to_expect(qtbot: QtBot, window: MainWindow, cache: Path) -> None:
    place: ModelsPlace = place_of(window, ModelsPlace)
    window.go_to("Models")
    qtbot.waitUntil(lambda: place.model.rowCount() > 2, timeout=WAIT)
    assert place.current() is not None
    assert place.buttons["install"].isEnabled()
    assert not place.buttons["measure"].isEnabled()
    ids = [row["id"] for row in place.model.rows]
    place.table.selectRow(ids.index(default_entry().id))
    assert place.details.text_of("sha256") == default_entry().files[0].sha256
    assert place.details.text_of("licence") == default_entry().licence
    assert place.details.text_of("path") == ""


def test_a_dropped_file_that_is_no_model_is_refused_and_the_window_lives(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, cache: Path
) -> None:
    odd = tmp_path / "odd.gguf"
    odd.write_bytes(b"GGUF" + b"\xff" * 5000)
    place: ModelsPlace = place_of(window, ModelsPlace)
    with qtbot.waitSignal(window.workspace.said, timeout=WAIT):
        drop(window, odd)
        assert window.current is place
    qtbot.waitUntil(lambda: not place.is_busy, timeout=WAIT)
    assert "odd.gguf" in place.status.text()
    assert list(cache.glob("*.gguf")) == []


def test_an_own_model_is_chosen_verified_and_removed(qtbot: QtBot, window: MainWindow, cache: Path) -> None:
    (cache / "mine.gguf").write_bytes(gguf(*MODEL))
    place: ModelsPlace = place_of(window, ModelsPlace)
    window.go_to("Models")
    qtbot.waitUntil(lambda: (place.current() or {}).get("id") == "mine", timeout=WAIT)
    assert "choose Verify" in place.details.text_of("sha256")
    place.check()
    qtbot.waitUntil(lambda: len(place.details.text_of("sha256")) == 64, timeout=WAIT)
    place.choose()
    qtbot.waitUntil(lambda: (place.current() or {}).get("is_default") is True, timeout=WAIT)
    assert not place.buttons["choose"].isEnabled()
    place.remove("mine")
    qtbot.waitUntil(lambda: "mine" not in [row["id"] for row in place.model.rows], timeout=WAIT)
    assert "are free again" in place.status.text()
    assert list(cache.glob("*.gguf")) == []


def test_settings_are_kept_and_the_worker_gets_those_of_models(
    qtbot: QtBot, window: MainWindow, settings: QSettings
) -> None:
    place: SettingsPlace = place_of(window, SettingsPlace)
    window.go_to("Settings")
    qtbot.waitUntil(lambda: "cores" in place._machine.text(), timeout=WAIT)
    assert place.ocr.count() >= 1
    place.theme_chosen.emit("dark")
    assert (is_dark(), settings.value("theme")) == (True, "dark")
    place.theme_chosen.emit("light")
    place.letters_chosen.emit(1.3)
    assert float(str(settings.value("font_scale"))) == 1.3
    place.letters_chosen.emit(1.0)
    place._numbers["reading/workers"].setValue(3)
    assert window.workspace.reading_options() == {"workers": 3}
    assert not place.restart.isVisible()
    place._numbers["models/threads"].setValue(1)
    assert worker_environment(settings) == {"REDWELL_THREADS": "1"}
    assert place.restart.isVisible()
    before = window.workspace.client.process_id
    with qtbot.waitSignal(window.workspace.client.ready, timeout=WAIT):
        place.restart.click()
    qtbot.waitUntil(lambda: "REDWELL_THREADS=1" in place._machine.text(), timeout=WAIT)
    assert window.workspace.client.process_id != before
    assert not place.restart.isVisible()


def test_the_promise_is_tested_by_the_worker(qtbot: QtBot, window: MainWindow) -> None:
    panel = window.show_offline()
    qtbot.waitUntil(lambda: bool(panel.report.toPlainText()), timeout=WAIT)
    assert "No connection to another computer is open" in panel.verdict.text()
    panel.close()


def test_the_verdict_says_no_more_than_was_found() -> None:
    checks = [{"name": "Reading", "ok": False, "detail": "no", "advice": ""}]
    found: dict[str, Any] = {
        "sockets": [
            {"process": "x", "pid": 1, "local": "a:1", "remote": "b:2", "state": "ESTABLISHED", "leaves": True}
        ],
        "servers": [],
        "variables": [{"name": "HF_TOKEN", "value": "(set)", "meaning": "a key"}],
        "isolated": {"was_possible": True, "why": "", "checks": checks},
        "leaves": True,
    }
    assert (
        verdict_text(found)
        == "Something can leave this computer: see below. Without network this did not work: Reading."
    )
    lines = report_lines(found)
    assert "  x (1): a:1 to b:2, established, leaves this computer" in lines
    assert "  fails: Reading: no" in lines
    found |= {"leaves": False, "isolated": {"was_possible": False, "why": "no namespaces", "checks": []}}
    assert "could not be tested here" in verdict_text(found)
    assert "  not tested: no namespaces" in report_lines(found)


def test_start_opens_the_sample_and_offers_to_read_it(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(QStandardPaths, "writableLocation", staticmethod(lambda which: str(tmp_path)))
    documents: DocumentsPlace = place_of(window, DocumentsPlace)
    with qtbot.waitSignal(documents.ingest.estimated, timeout=WAIT) as estimated:
        place_of(window, StartPlace).open_sample()
    assert estimated.args[0]["files"] == 12
    assert window.workspace.case == str(tmp_path / "Redwell sample" / "Larkmoor sample.redwell")


def test_buttons_of_start_do_what_is_missing(qtbot: QtBot, window: MainWindow, monkeypatch: pytest.MonkeyPatch) -> None:
    start, models = place_of(window, StartPlace), place_of(window, ModelsPlace)
    asked: list[str] = []
    monkeypatch.setattr(models, "_install", asked.append)
    check = {
        "name": "Default model",
        "state": "missing",
        "detail": "none",
        "advice": "Install.",
        "subject": "some-model",
    }
    speed = {"name": "Speed", "state": "note", "detail": "unknown", "advice": "Measure.", "subject": "x"}
    start._show_checks([{**check, "mend": "install"}, {**speed, "mend": "measure"}])
    buttons = {button.text(): button for button in start._checks.findChildren(QPushButton)}
    assert set(buttons) == {"Install", "Measure"}
    buttons["Install"].click()
    assert asked == ["some-model"]
    assert window.current is models


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
    with qtbot.waitSignal(window.workspace.case_opened, timeout=WAIT):
        window.workspace.open_case(str(tmp_path / "sealed.redwell"), create=True)
    with qtbot.waitSignal(window.workspace.job.finished, timeout=WAIT):
        place.ingest.read_again(str(folder / "sealed.pdf"), password="open")
    qtbot.waitUntil(lambda: place.model.row(0) is not None, timeout=WAIT)
    place.show_document(place.model.row(0)["id"])
    bar = place.viewer.password_bar
    qtbot.waitUntil(bar.isVisible, timeout=WAIT)
    QTest.keyClicks(bar._password, "wrong")
    bar._enter()
    qtbot.waitUntil(lambda: bar.isVisible() and "does not open" in bar._hint.text(), timeout=WAIT)
    with qtbot.waitSignal(place.viewer.picture_shown, timeout=WAIT):
        QTest.keyClicks(bar._password, "open")
        bar._enter()
    assert not bar.isVisible()
