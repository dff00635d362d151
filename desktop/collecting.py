"""Python's garbage is collected in the thread of the window, never in another.

Python collects wherever an allocation makes it due, also in a thread that reads a picture. What it finds may hold
widgets, and Qt's widgets may be ended in the thread of the window alone: elsewhere the process dies, seconds later and
in another place.
"""

from __future__ import annotations

import gc

from PySide6.QtCore import QCoreApplication, QObject, QTimer

_LOOK_MILLISECONDS = 500


class Collector(QObject):
    """Turns the automatic collection off and looks twice a second whether one is due; lives as long as the app."""

    def __init__(self, app: QCoreApplication) -> None:
        super().__init__(app)
        gc.disable()
        timer = QTimer(self, interval=_LOOK_MILLISECONDS)
        timer.timeout.connect(collect_what_is_due)
        timer.start()


def collect_what_is_due() -> None:
    """Collect the oldest generation whose threshold is passed, as Python would have done by itself."""
    due = [
        generation
        for generation, (count, threshold) in enumerate(zip(gc.get_count(), gc.get_threshold(), strict=True))
        if count > threshold
    ]
    if due:
        gc.collect(max(due))
