"""Garbage that holds widgets ends in the thread of the window (desktop.app)."""

from __future__ import annotations

import gc
import threading

from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from desktop.app import Collector, collect_what_is_due


class Ring:
    """Refers to itself, so that only the collector ends it; tells in which thread that was."""

    ended_in: list[int]

    def __init__(self, ended_in: list[int]) -> None:
        self.ended_in, self.itself = ended_in, self

    def __del__(self) -> None:
        self.ended_in.append(threading.get_ident())


def test_garbage_is_collected_by_the_thread_of_the_window(qtbot: QtBot, qapp: QApplication) -> None:
    ended_in: list[int] = []
    collector = Collector(qapp)
    try:
        thread = threading.Thread(target=lambda: [Ring(ended_in) for _ in range(5000)])
        thread.start()
        thread.join()
        assert ended_in == []
        qtbot.waitUntil(lambda: len(ended_in) == 5000, timeout=30_000)
        assert set(ended_in) == {threading.get_ident()}
    finally:
        collector.deleteLater()


def test_only_what_is_due_is_collected() -> None:
    ended_in: list[int] = []
    gc.collect()
    Ring(ended_in)
    collect_what_is_due()
    assert ended_in == []
    rings = [[Ring(ended_in)] for _ in range(gc.get_threshold()[0] + 1)]
    del rings
    collect_what_is_due()
    assert len(ended_in) > gc.get_threshold()[0]
