"""Notices when the event loop was held up."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from PySide6.QtCore import QObject, Qt, QTimer, Signal

LONGEST_MILLISECONDS = 50.0
_BEAT_MILLISECONDS = 5


class Watchdog(QObject):
    """Measures the time between beats of a timer, less what the system gave the processor to others.

    `blocks` lists what was longer than the limit, in milliseconds.
    """

    blocked = Signal(float)

    def __init__(self, parent: QObject | None = None, limit_milliseconds: float = LONGEST_MILLISECONDS) -> None:
        super().__init__(parent)
        self.blocks: list[float] = []
        self._limit = limit_milliseconds
        self._schedule = Path(f"/proc/self/task/{threading.get_native_id()}/schedstat")
        self._last = 0.0
        self._timer = QTimer(self, interval=_BEAT_MILLISECONDS, timerType=Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._beat)

    def start(self) -> None:
        """Begin to watch."""
        self._last = self._now()
        self._timer.start()

    def stop(self) -> None:
        """Stop watching; what was found stays."""
        self._timer.stop()

    def _beat(self) -> None:
        now = self._now()
        gap, self._last = (now - self._last) * 1000 - _BEAT_MILLISECONDS, now
        if gap > self._limit:
            self.blocks.append(gap)
            self.blocked.emit(gap)

    def _now(self) -> float:
        """Return seconds in which this thread ran or slept: the time it waited for a processor does not count."""
        waited = int(self._schedule.read_text("ascii").split()[1]) / 1e9 if self._schedule.exists() else 0.0
        return time.monotonic() - waited
