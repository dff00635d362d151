import numpy as np
import pytest

from engine.errors import ItemError, PipelineError
from engine.operators.pairs import BLOCK, Proposal, condition_template, in_order, pairs_by_condition, similar_pairs


def test_similar_pairs_have_at_least_the_threshold():
    vectors = np.array([[1, 0], [0.6, 0.8], [0, 1]], np.float32)
    found = [(p.left, p.right, p.score) for p in similar_pairs(vectors, 0.6)]
    assert found == [(0, 1, pytest.approx(0.6)), (1, 2, pytest.approx(0.8))]


def test_similar_pairs_across_blocks():
    vectors = np.eye(BLOCK + 3, dtype=np.float32)
    vectors[BLOCK + 2] = vectors[1]
    vectors[BLOCK] = vectors[BLOCK + 1]
    assert [(p.left, p.right) for p in similar_pairs(vectors, 0.9)] == [(1, BLOCK + 2), (BLOCK, BLOCK + 1)]


def test_conditions_read_like_the_python_ones_peers_document():
    people = [
        {"last_name": "Smith", "ssn": "11-1234"},
        {"last_name": "SMYTHE", "ssn": "22-1234"},
        {"last_name": "Roe", "ssn": "9"},
    ]
    conditions = ("left['last_name'][:2].lower() == right['last_name'][:2].lower()",)
    assert [(p.left, p.right) for p in pairs_by_condition(conditions, people)] == [(0, 1)]
    either = (*conditions, "left.ssn in right.ssn")
    assert [(p.left, p.right) for p in pairs_by_condition(either, people)] == [(0, 1)]


def test_a_condition_may_hold_one_way_round():
    found = pairs_by_condition(("left.n in right.n",), [{"n": "Daniel Harmon"}, {"n": "Harmon"}])
    assert [(p.left, p.right, p.reason) for p in found] == [(0, 1, "condition left.n in right.n")]


def test_conditions_are_checked_and_cannot_run_code():
    with pytest.raises(PipelineError, match="not a valid template"):
        condition_template("left.n ==")
    with pytest.raises(PipelineError, match="uses 'both'"):
        condition_template("both.n")
    with pytest.raises(ItemError):
        list(pairs_by_condition(("left.n.__class__.__mro__",), [{"n": "a"}, {"n": "b"}]))


def test_a_pair_proposed_twice_keeps_its_best_score():
    proposals = [Proposal(0, 1, 0.2), Proposal(1, 2, 0.5), Proposal(0, 1, 0.9)]
    assert in_order(proposals) == [Proposal(0, 1, 0.9), Proposal(1, 2, 0.5)]
