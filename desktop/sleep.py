"""Keep the computer awake while a run goes on overnight."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from PySide6.QtCore import QObject, QProcess, Signal
from PySide6.QtDBus import QDBusConnection, QDBusMessage, QDBusPendingCallWatcher

REASON = "Redwell is reading records"
_BUS_NAME = "redwell-awake"
_SAVER = "org.freedesktop.ScreenSaver"
_ENDING_MILLISECONDS = 500
_WINDOWS_AWAKE, _WINDOWS_AS_BEFORE = 0x80000001, 0x80000000
"""ES_CONTINUOUS | ES_SYSTEM_REQUIRED, and ES_CONTINUOUS alone."""


class SleepInhibitor(QObject):
    """`hold` asks the system not to sleep, `release` lets it. `how` says by what, empty while nothing holds.

    Linux: `systemd-inhibit` as a child, which asks logind; else the session's screen saver over D-Bus, which keeps a
    computer that nobody uses awake. macOS: `caffeinate`. Windows: SetThreadExecutionState.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.how = ""
        self.why_not = ""
        self._child = QProcess(self)
        self._child.started.connect(self._child_started)
        self._child.errorOccurred.connect(self._child_failed)
        self._child.finished.connect(self._child_ended)
        self._is_wanted = False
        self._bus: QDBusConnection | None = None
        self._watcher: QDBusPendingCallWatcher | None = None

    def hold(self) -> None:
        """Ask the system not to sleep; `changed` tells when it agreed or cannot."""
        if self._is_wanted:
            return
        self._is_wanted, self.why_not = True, ""
        if sys.platform == "win32":
            self._hold_windows()
        elif command := _child_command():
            self._child.start(command[0], command[1:])
        elif _has_session_bus():
            self._ask_screen_saver()
        else:
            self._refuse("this system has neither systemd-inhibit nor a session bus")

    def release(self) -> None:
        """Let the system sleep as before."""
        self._is_wanted = False
        if self._child.state() != QProcess.ProcessState.NotRunning:
            self._child.kill()
            self._child.waitForFinished(_ENDING_MILLISECONDS)
        if self._bus is not None:  # who leaves the bus lets go
            self._bus, self._watcher = None, None
            QDBusConnection.disconnectFromBus(_BUS_NAME)
        if sys.platform == "win32":
            _set_windows_state(_WINDOWS_AS_BEFORE)
        self.how = ""
        self.changed.emit()

    def _child_started(self) -> None:
        self._agree(self._child.program())

    def _child_failed(self, error: QProcess.ProcessError) -> None:
        if error == QProcess.ProcessError.FailedToStart:
            self._refuse(f"{self._child.program()} could not be started")

    def _child_ended(self, code: int, status: QProcess.ExitStatus) -> None:
        if self._is_wanted:
            said = bytes(self._child.readAllStandardError().data()).decode(errors="replace").strip().splitlines()
            self._refuse(said[-1] if said else f"{self._child.program()} ended with code {code}")

    def _ask_screen_saver(self) -> None:
        self._bus = QDBusConnection.connectToBus(QDBusConnection.BusType.SessionBus, _BUS_NAME)
        message = QDBusMessage.createMethodCall(_SAVER, "/org/freedesktop/ScreenSaver", _SAVER, "Inhibit")
        message.setArguments(["Redwell", REASON])
        self._watcher = QDBusPendingCallWatcher(self._bus.asyncCall(message), self)
        self._watcher.finished.connect(self._screen_saver_answered)

    def _screen_saver_answered(self) -> None:
        if self._watcher is None:
            return
        answer = self._watcher.reply()
        if answer.type() == QDBusMessage.MessageType.ReplyMessage:
            self._agree("the screen saver")
        else:
            self._refuse(f"the screen saver does not answer: {answer.errorMessage()}")

    def _hold_windows(self) -> None:
        if _set_windows_state(_WINDOWS_AWAKE):
            self._agree("Windows")
        else:
            self._refuse("Windows did not agree")

    def _agree(self, how: str) -> None:
        self.how, self.why_not = how, ""
        self.changed.emit()

    def _refuse(self, why: str) -> None:
        self._is_wanted, self.how, self.why_not = False, "", why
        self.changed.emit()


def _child_command() -> list[str]:
    """Return the program that holds as long as it runs; empty where there is none. It ends with the window."""
    if sys.platform == "darwin" and shutil.which("caffeinate"):
        return ["caffeinate", "-i", "-w", str(os.getpid())]
    if shutil.which("systemd-inhibit") and Path("/run/systemd/system").exists() and shutil.which("tail"):
        what = ["--what=sleep:idle:handle-lid-switch", "--who=Redwell", f"--why={REASON}", "--mode=block"]
        return ["systemd-inhibit", *what, "tail", f"--pid={os.getpid()}", "-f", os.devnull]
    return []


def _has_session_bus() -> bool:
    """Say whether there is a session bus already: Qt would start one else, and wait for it."""
    named = os.environ.get("DBUS_SESSION_BUS_ADDRESS")
    usual = Path(os.environ.get("XDG_RUNTIME_DIR") or "/nonexistent") / "bus"
    return bool(named or usual.exists())


def _set_windows_state(state: int) -> bool:
    import ctypes  # noqa: PLC0415 - this system alone

    kernel = getattr(ctypes, "windll").kernel32  # noqa: B009 - other systems' ctypes has none
    return bool(kernel.SetThreadExecutionState(state))
