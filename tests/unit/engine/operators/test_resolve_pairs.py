import math

import numpy as np
import pytest

from engine.operators.blocking import blocking_text, recall_threshold
from engine.operators.pairs import (
    BLOCK,
    Proposal,
    count_pairs,
    in_order,
    pairs_by_condition,
    similar_pairs,
    top_pairs,
)


def on_circle(*degrees):
    points = [[math.cos(math.radians(d)), math.sin(math.radians(d))] for d in degrees]
    return np.array(points, np.float32).reshape(-1, 2)


def found(proposals):
    return [(p.left, p.right) for p in proposals]


def test_similar_pairs_have_at_least_the_threshold():
    vectors = np.array([[1, 0], [0.6, 0.8], [0, 1]], np.float32)
    pairs = [(p.left, p.right, p.score) for p in similar_pairs(vectors, 0.6)]
    assert pairs == [(0, 1, pytest.approx(0.6)), (1, 2, pytest.approx(0.8))]


def test_similar_pairs_across_blocks():
    vectors = np.eye(BLOCK + 3, dtype=np.float32)
    vectors[BLOCK + 2] = vectors[1]
    vectors[BLOCK] = vectors[BLOCK + 1]
    assert found(similar_pairs(vectors, 0.9)) == [(1, BLOCK + 2), (BLOCK, BLOCK + 1)]


def test_similar_pairs_of_two_lists():
    assert found(similar_pairs(on_circle(0, 90), 0.9, on_circle(95, 0, 10))) == [(0, 1), (0, 2), (1, 0)]
    assert found(similar_pairs(on_circle(0), 0.9, on_circle())) == []


def test_the_most_similar_pairs_come_first():
    # Distances in degrees: 0-1 10, 1-2 20, 0-2 30, 2-3 60, 1-3 80, 0-3 90.
    assert found(top_pairs(on_circle(0, 10, 30, 90), 3)) == [(0, 1), (1, 2), (0, 2)]
    assert found(top_pairs(on_circle(0, 90), 2, on_circle(85, 10, 45))) == [(1, 0), (0, 1)]
    assert len(top_pairs(on_circle(0, 10, 30), 50)) == 3
    assert top_pairs(on_circle(0, 10), 0) == top_pairs(on_circle(), 5) == top_pairs(on_circle(0), 5) == []


def test_a_sample_is_repeatable_and_leans_to_similar_pairs():
    vectors = on_circle(*range(0, 100))
    sample = top_pairs(vectors, 100, seed=1)
    assert sample == top_pairs(vectors, 100, seed=1)
    assert sample != top_pairs(vectors, 100, seed=2)
    assert len(set(found(sample))) == 100
    assert all(p.left < p.right for p in sample)
    # e^(20 cosine) falls to e^-10 of its top at 60 degrees; 780 of the 4,950 pairs are farther apart than that.
    assert all(p.score > 0.5 for p in sample)
    assert not all(p.score > math.cos(math.radians(3)) for p in sample)


def test_pairs_are_counted():
    assert (count_pairs(4), count_pairs(0), count_pairs(3, 5)) == (6, 0, 15)


@pytest.mark.parametrize(
    ("recall", "expected"), [(1.0, 0.1), (0.95, 0.1), (0.9, 0.2), (0.8, 0.3), (0.05, 1.0), (0.000001, 1.0)]
)
def test_the_threshold_keeps_the_wanted_part(recall, expected):
    cosines = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    assert recall_threshold(cosines, recall) == expected


async def test_conditions_read_like_the_python_ones_peers_document():
    people = [
        {"last_name": "Smith", "ssn": "11-1234"},
        {"last_name": "SMYTHE", "ssn": "22-1234"},
        {"last_name": "Roe", "ssn": "9"},
    ]
    conditions = ("left['last_name'][:2].lower() == right['last_name'][:2].lower()",)
    assert found((await pairs_by_condition(conditions, people))[0]) == [(0, 1)]
    either = ("left.ssn in right.ssn", "input1['ssn'][-4:] == input2['ssn'][-4:]")
    proposals, decisions = await pairs_by_condition(either, people)
    assert [(p.left, p.right, p.reason) for p in proposals] == [(0, 1, f"condition {either[1]}")]
    assert decisions == []


async def test_a_condition_may_hold_one_way_round():
    proposals, _ = await pairs_by_condition(("left.n in right.n",), [{"n": "Daniel Harmon"}, {"n": "Harmon"}])
    assert [(p.left, p.right, p.reason) for p in proposals] == [(0, 1, "condition left.n in right.n")]


async def test_between_two_lists_a_condition_holds_one_way_only():
    proposals, _ = await pairs_by_condition(("left.n in right.n",), [{"n": "ab"}, {"n": "a"}], [{"n": "a"}])
    assert found(proposals) == [(1, 0)]


async def test_a_condition_that_cannot_be_computed_is_told():
    proposals, decisions = await pairs_by_condition(("left.n == right.m",), [{"n": "a", "m": "a"}, {"n": "a"}])
    assert found(proposals) == [(0, 1)]
    assert [(d.left, d.verdict, d.by) for d in decisions] == [("left.n == right.m", "undecided", "error")]
    assert "cannot be computed for 1 rows or pairs" in decisions[0].detail
    assert "there is no field 'm'" in decisions[0].detail


def test_a_pair_proposed_twice_keeps_its_best_score():
    proposals = [Proposal(0, 1, 0.2), Proposal(1, 2, 0.5), Proposal(0, 1, 0.9)]
    assert in_order(proposals) == [Proposal(0, 1, 0.9), Proposal(1, 2, 0.5)]


def test_the_text_that_is_embedded():
    values = {"name": "Ann", "drugs": ["a", "b"], "age": 3, "gone": None}
    assert blocking_text(values, ("name", "gone", "missing", "drugs", "age")) == "Ann a, b 3"
