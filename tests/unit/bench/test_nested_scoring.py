"""Nested answers are compared value by value."""

from __future__ import annotations

from typing import Any

import pytest
from evaluation.agreement import Agreement
from nested_scoring import agreement, same


@pytest.mark.parametrize(
    ("found", "gold", "counts"),
    [
        ({"a": "x", "b": None}, {"a": "X ", "b": ""}, (1, 1, 1)),
        ({"a": 1}, {"a": 2, "b": 3}, (0, 1, 2)),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, (1, 2, 1)),
        ([{"n": "Ann", "age": 3}, {"n": "Bo", "age": 4}], [{"n": "Bo", "age": 4}, {"n": "Ann", "age": 5}], (3, 4, 4)),
        (["a", "b"], ["b"], (1, 2, 1)),
        (["a"], [], (0, 1, 0)),
        ("a", ["a"], (0, 1, 1)),
        (None, {"a": [1, 2]}, (0, 0, 2)),
    ],
)
def test_values_are_counted(found: Any, gold: Any, counts: tuple[int, int, int]) -> None:
    assert agreement(found, gold) == Agreement(*counts)


@pytest.mark.parametrize(
    ("found", "gold", "is_same"),
    [
        (1.0004, 1, True),
        (1.01, 1, False),
        (True, 1, False),
        ("1", 1, True),
        ("JPMorgan Chase Bank, N.A.", "JPMorgan Chase Bank N.A.", True),
        ("May 5, 2014", "May 6, 2014", False),
        ("Bank of America", "Wells Fargo", False),
    ],
)
def test_what_is_the_same(found: Any, gold: Any, is_same: bool) -> None:
    assert same(found, gold) is is_same
