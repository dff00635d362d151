"""Keeping the computer awake: by a program, by the session's bus, or not at all."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from gui_waiting import WAIT
from pytestqt.qtbot import QtBot

import desktop.sleep
from desktop.sleep import SleepInhibitor


@pytest.fixture
def no_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desktop.sleep, "_child_command", list)


def test_a_program_holds_and_is_ended(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desktop.sleep, "_child_command", lambda: ["sleep", "60"])
    sleep = SleepInhibitor()
    with qtbot.waitSignal(sleep.changed, timeout=WAIT):
        sleep.hold()
    assert (sleep.how, sleep.why_not) == ("sleep", "")
    sleep.release()
    assert sleep.how == ""


def test_a_program_that_is_refused_says_why(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desktop.sleep, "_child_command", lambda: ["sh", "-c", "echo Access denied >&2; exit 1"])
    sleep = SleepInhibitor()
    sleep.hold()
    qtbot.waitUntil(lambda: sleep.why_not == "Access denied", timeout=WAIT)
    assert sleep.how == ""


def test_without_program_and_bus_it_is_said(
    qtbot: QtBot, no_program: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    sleep = SleepInhibitor()
    with qtbot.waitSignal(sleep.changed, timeout=WAIT):
        sleep.hold()
    assert "neither systemd-inhibit nor a session bus" in sleep.why_not


@pytest.fixture
def bus(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    program = shutil.which("dbus-daemon")
    if program is None:
        pytest.skip("no dbus-daemon here")
    command = [program, "--session", "--nofork", "--print-address"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as daemon:
        assert daemon.stdout is not None
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", daemon.stdout.readline().strip())
        yield
        daemon.terminate()


def test_a_bus_without_a_screen_saver_is_said(qtbot: QtBot, no_program: None, bus: None) -> None:
    sleep = SleepInhibitor()
    with qtbot.waitSignal(sleep.changed, timeout=WAIT):
        sleep.hold()
    assert "the screen saver does not answer" in sleep.why_not
    sleep.release()
