"""The chart over time says how many rows stand in none of its columns."""

from __future__ import annotations

from typing import Any, cast

import pytest
from pytestqt.qtbot import QtBot

from desktop.charts_panel import ChartsPanel
from desktop.workspace import Workspace
from engine.results.shown import Bar, OverTime


@pytest.mark.parametrize(
    ("told", "note"),
    [
        ({"period": "year", "undated": 2}, "2 rows without a date."),
        ({"period": "month", "undated": 1}, "1 row without a month."),
        (
            {"period": "year", "undated": 1, "earlier": 3},
            "1 row without a date. 3 rows of earlier years, which are left out.",
        ),
        ({"period": "year", "undated": 0}, ""),
    ],
)
def test_rows_in_no_column_are_told(qtbot: QtBot, told: dict[str, Any], note: str) -> None:
    panel = ChartsPanel(cast(Workspace, None), dict)  # which asks nothing here
    qtbot.addWidget(panel)
    panel._show_time(OverTime(column="date", bars=(Bar("2019", 1),), **told))
    assert panel.chart.chart.note == note
