"""What a build's ratings were worth: Kendall's tau over the plans that have them."""

from __future__ import annotations

from typing import Any

import pytest
from evaluation.tried import Tried, TriedPlan


def tried(*plans: tuple[float, dict[str, float]], lower: bool = False) -> Tried:
    """Make plans of (gold, ratings)."""
    made = [
        TriedPlan(
            plan=number,
            parent=None if number == 1 else 1,
            directive="" if number == 1 else "gleaning_map",
            chosen=number == 2,
            ratings=ratings,
            figures={"f1": gold},
            seconds=1.0,
        )
        for number, (gold, ratings) in enumerate(plans, 1)
    ]
    return Tried(rows=2, metric="f1", lower_is_better=lower, plans=tuple(made))


def test_tau_is_over_the_plans_that_have_the_rating() -> None:
    # rating: 2 of 3 pairs in order; judge: two plans, reversed; wins: one plan, no order
    found = tried(
        (0.1, {"rating": 2.0, "judge": 0.9}),
        (0.3, {"rating": 1.5, "judge": 0.2, "wins": 3.0}),
        (0.5, {"rating": 3.5}),
    )
    assert found.taus()["rating"] == (3, pytest.approx((2 - 1) / 3))
    assert found.taus()["judge"] == (2, pytest.approx(-1))
    assert found.taus()["wins"] == (1, None)


def test_of_a_figure_that_should_be_low_the_lower_is_the_better() -> None:
    plans: list[Any] = [(0.5, {"rating": 1.0}), (0.1, {"rating": 2.0})]
    assert tried(*plans).tau("rating") == pytest.approx(-1)
    assert tried(*plans, lower=True).tau("rating") == pytest.approx(1)


def test_sums_in_another_order_are_one_rating() -> None:
    found = tried((0.1, {"rating": 0.1 + 0.2}), (0.2, {"rating": 0.3}), (0.3, {"rating": 0.4}))
    # one pair tied, two in order: 2 / sqrt((3 - 1) * 3)
    assert found.tau("rating") == pytest.approx(2 / 6**0.5)
