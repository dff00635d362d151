"""What the window sees of rows while a run goes on."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from engine.operators.asking import EMPTINESS
from engine.rows import Row, RowId
from engine.worker.gate import Gate
from engine.worker.live import LiveRun, preview


def test_values_are_shown_as_in_results() -> None:
    assert preview(Row(RowId("a"), {"force": True, "days": None, "acts": ["a", "b"], "n": 2})) == {
        "force": "yes", "days": "", "acts": "a; b", "n": "2",
    }  # fmt: skip


def test_latest_rows_show_no_field_that_is_kept_for_the_review() -> None:
    row = Row(RowId("a"), {"filename": "a.txt", "officers": ["Vega"], EMPTINESS: {"officers": 0.2}, "text": "Vega"})
    assert preview(row) == {"filename": "a.txt", "officers": "Vega"}


def test_a_pause_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter([100, 105, 3705, 3710])  # begun, closed, opened again, looked at
    monkeypatch.setattr("engine.worker.gate.time", SimpleNamespace(monotonic=lambda: next(seconds)))
    gate = Gate()
    state = LiveRun(gate.clock).state
    gate.close()
    gate.close()
    assert state.elapsed_seconds == 5
    gate.open()
    gate.open()
    assert state.elapsed_seconds == 10
