"""Tell a person who looks elsewhere that something came to its end."""

from __future__ import annotations

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication, QSystemTrayIcon, QWidget

from desktop.plain_text import plain
from desktop.theme import icon

SHOWN_MILLISECONDS = 15_000


class Notifier(QObject):
    """A message of the system's tray where there is one, else the window asks to be looked at."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._tray: QSystemTrayIcon | None = None
        self.told: list[str] = []
        """What was told so far."""

    def tell(self, title: str, text: str) -> None:
        """Tell it; nothing waits for the person."""
        self.told.append(f"{title}: {text}")
        top = self._window.window()
        if QSystemTrayIcon.isSystemTrayAvailable() and QSystemTrayIcon.supportsMessages():
            if self._tray is None:
                self._tray = QSystemTrayIcon(icon("run"), self)
                self._tray.messageClicked.connect(top.activateWindow)
            self._tray.show()
            self._tray.showMessage(plain(title), plain(text), icon("run"), SHOWN_MILLISECONDS)
        else:
            QApplication.alert(top)
