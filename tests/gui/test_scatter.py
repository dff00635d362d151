"""The chart of plans: its axis of time, and the plan that is chosen in it."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from desktop.improve.choice_view import ChoiceView
from desktop.improve.scatter import MOST_TICKS, STEPS, PlanPoint, ticks_up_to
from desktop.words import duration_text


@pytest.mark.parametrize("seconds", [0, 0.2, 3, 17, 41, 59, 61, 113, 118, 130, 299, 500, 1300, 4000, 7300, 90_000, 4e6])
def test_no_two_marks_of_time_read_alike(seconds: float) -> None:
    ticks = ticks_up_to(seconds)
    assert ticks[-1] >= seconds
    assert len({duration_text(tick) for tick in ticks}) == len(ticks) <= MOST_TICKS
    # The axis is not much longer than what it shows.
    assert seconds < min(STEPS) or ticks[-1] <= max(4 * seconds, min(STEPS))


def test_marks_are_round() -> None:
    assert ticks_up_to(113) == [60, 120]
    assert ticks_up_to(50) == [15, 30, 45, 60]
    assert ticks_up_to(20_000) == [7200, 14_400, 21_600]


def test_the_chosen_plan_stays_chosen_when_another_one_goes(qtbot: QtBot) -> None:
    view = ChoiceView()
    qtbot.addWidget(view)
    points = [PlanPoint(plan, f"Plan {plan}", 5.0 - plan, 60.0 * plan) for plan in (1, 2, 3)]
    view.show_points(points, {}, "")
    view.chart.go_to(3)
    view.show_points(points[1:], {}, "")
    assert view.current == 3
    assert view.table.currentIndex().row() == 1
