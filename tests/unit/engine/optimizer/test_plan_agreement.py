"""Kendall's tau by the count of pairs in order and out of order."""

from __future__ import annotations

import math

import pytest

from engine.errors import UsageError
from engine.optimizer.agreement import kendalls_tau

TRUE = {"a": 0.1, "b": 0.4, "c": 0.5, "d": 0.9}


def test_the_same_order_is_1_and_its_reverse_minus_1():
    assert kendalls_tau({"a": 1, "b": 2, "c": 3, "d": 4}, TRUE) == pytest.approx(1.0)
    assert kendalls_tau({"a": 4, "b": 3, "c": 2, "d": 1}, TRUE) == pytest.approx(-1.0)


def test_one_of_six_pairs_out_of_order():
    assert kendalls_tau({"a": 2, "b": 1, "c": 3, "d": 4}, TRUE) == pytest.approx((5 - 1) / 6)


def test_ties_are_tau_b():
    # 5 pairs in order, one tied on the judge's side: 5 / sqrt((6 - 1) * 6)
    assert kendalls_tau({"a": 1, "b": 1, "c": 3, "d": 4}, TRUE) == pytest.approx(5 / math.sqrt(30))


def test_where_there_is_no_order_there_is_no_tau():
    assert kendalls_tau({"a": 1.0}, {"a": 2.0}) is None
    assert kendalls_tau({"a": 1, "b": 1}, {"a": 1, "b": 2}) is None


def test_plans_of_which_only_one_side_knows_are_named():
    with pytest.raises(UsageError, match="names e"):
        kendalls_tau({**TRUE, "e": 1.0}, TRUE)
