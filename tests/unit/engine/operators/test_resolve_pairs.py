import math

import numpy as np
import pytest

import engine.operators.pairs
import models.nearest
from engine.errors import PipelineError
from engine.language.conditions import condition
from engine.operators.blocking import recall_threshold
from engine.operators.pairs import (
    Proposal,
    Sampled,
    count_pairs,
    in_order,
    sample_by_rank,
    top_pairs,
)
from models.nearest import ROWS


def on_circle(*degrees):
    points = [[math.cos(math.radians(d)), math.sin(math.radians(d))] for d in degrees]
    return np.array(points, np.float32).reshape(-1, 2)


def found(proposals):
    return [(p.left, p.right) for p in proposals]


async def similar(vectors, threshold, others=None):
    return (await top_pairs(vectors, 10**6, others, at_least=threshold))[0]


async def test_similar_pairs_have_at_least_the_threshold():
    vectors = np.array([[1, 0], [0.6, 0.8], [0, 1]], np.float32)
    pairs = [(p.left, p.right, p.score) for p in await similar(vectors, 0.6)]
    assert pairs == [(1, 2, pytest.approx(0.8)), (0, 1, pytest.approx(0.6))]


async def test_similar_pairs_across_blocks():
    vectors = np.eye(ROWS + 3, dtype=np.float32)
    vectors[ROWS + 2] = vectors[1]
    vectors[ROWS] = vectors[ROWS + 1]
    assert found(await similar(vectors, 0.9)) == [(1, ROWS + 2), (ROWS, ROWS + 1)]


async def test_similar_pairs_of_two_lists():
    assert found(await similar(on_circle(0, 90), 0.9, on_circle(95, 0, 10))) == [(0, 1), (1, 0), (0, 2)]
    assert found(await similar(on_circle(0), 0.9, on_circle())) == []


async def test_the_most_similar_pairs_come_first():
    # Distances in degrees: 0-1 10, 1-2 20, 0-2 30, 2-3 60, 1-3 80, 0-3 90.
    pairs, seen = await top_pairs(on_circle(0, 10, 30, 90), 3)
    assert (found(pairs), seen) == ([(0, 1), (1, 2), (0, 2)], 6)
    assert found((await top_pairs(on_circle(0, 90), 2, on_circle(85, 10, 45)))[0]) == [(1, 0), (0, 1)]
    assert len((await top_pairs(on_circle(0, 10, 30), 50))[0]) == 3
    assert await top_pairs(on_circle(0, 10), 0) == ([], 1)
    assert await top_pairs(on_circle(), 5) == await top_pairs(on_circle(0), 5) == ([], 0)


async def test_a_vector_of_zeros_is_in_no_pair():
    vectors = np.array([[1, 0], [0, 0], [1, 0]], np.float32)
    assert found((await top_pairs(vectors, 9))[0]) == found(await similar(vectors, -1.0)) == [(0, 2)]
    assert found((await top_pairs(vectors, 9, vectors[:2]))[0]) == [(0, 0), (2, 0)]


async def test_the_best_of_many_blocks_are_those_of_all_pairs_at_once(monkeypatch):
    monkeypatch.setattr(models.nearest, "ROWS", 16)
    monkeypatch.setattr(models.nearest, "COLUMNS", 24)
    monkeypatch.setattr(engine.operators.pairs, "MOST_SPARE", 10)
    generator = np.random.default_rng(3)
    vectors = generator.standard_normal((100, 4)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    table = np.round(vectors @ vectors.T, 4)
    every = sorted((-table[i, j], i, j) for i in range(100) for j in range(i + 1, 100))
    pairs, seen = await top_pairs(vectors, 300)
    assert [-p.score for p in pairs] == pytest.approx([score for score, _, _ in every[:300]], abs=2e-4)
    assert seen == 4950
    reached, seen = await top_pairs(vectors, 10**6, at_least=0.9)
    assert len(reached) == seen == pytest.approx(int((table[np.triu_indices(100, 1)] >= 0.9).sum()), abs=2)
    cut, seen_again = await top_pairs(vectors, 20, at_least=0.9)
    # Of pairs whose rounded scores are equal, any may be the last.
    assert ([p.score for p in cut], seen_again) == ([p.score for p in reached[:20]], seen)


def ranked(count):
    return [Proposal(i, i + 1, 1 - i / count) for i in range(count)]


def test_a_sample_is_repeatable_and_has_as_many_of_each_doubling_of_the_rank():
    pairs = ranked(10_000)
    sample = sample_by_rank(pairs, 200, seed=1)
    assert sample == sample_by_rank(pairs, 200, seed=1)
    assert sample != sample_by_rank(pairs, 200, seed=2)
    assert len({drawn.pair.left for drawn in sample}) == 200
    drawn = [drawn.pair.left + 1 for drawn in sample]
    # The sum of 1 - exp(-c / r) over all ranks is 200 at c = 30.
    expected = sum(1 - math.exp(-30 / r) for r in range(1024, 4096))
    assert abs(sum(1024 <= rank < 4096 for rank in drawn) - expected) < 4 * math.sqrt(expected)
    assert set(range(1, 6)) <= set(drawn)


def test_the_weights_of_a_sample_add_up_to_all_pairs():
    pairs = ranked(5_000)
    sums = [sum(drawn.weight for drawn in sample_by_rank(pairs, 200, seed=seed)) for seed in range(200)]
    # The estimator is unbiased; the mean of 200 has a standard error of about 1 %.
    assert np.mean(sums) == pytest.approx(5_000, rel=0.05)
    assert all(drawn.weight >= 1 for drawn in sample_by_rank(pairs, 200, seed=3))


def test_few_pairs_are_all_in_the_sample():
    assert [drawn.weight for drawn in sample_by_rank(ranked(3), 3, seed=0)] == [1.0, 1.0, 1.0]
    assert sample_by_rank([], 5, seed=0) == []


def test_pairs_are_counted():
    assert (count_pairs(4), count_pairs(0), count_pairs(3, 5)) == (6, 0, 15)


@pytest.mark.parametrize(
    ("recall", "expected"), [(1.0, 0.1), (0.95, 0.1), (0.9, 0.2), (0.8, 0.3), (0.05, 1.0), (0.000001, 1.0)]
)
def test_the_threshold_keeps_the_wanted_part(recall, expected):
    cosines = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    assert recall_threshold([Sampled(Proposal(0, 1, cosine), 1.0) for cosine in cosines], recall) == expected


def test_a_pair_that_stands_for_many_counts_as_many():
    same = [Sampled(Proposal(0, 1, 0.9), 1.0), Sampled(Proposal(0, 2, 0.5), 9.0), Sampled(Proposal(0, 3, 0.4), 1.0)]
    assert recall_threshold(same, 10 / 11) == 0.5
    assert recall_threshold(same, 0.95) == 0.4
    assert recall_threshold(same, 0.09) == 0.9


async def pairs_by_condition(conditions, *sides):
    return await engine.operators.pairs.pairs_by_condition([condition(text) for text in conditions], *sides)


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
    assert "right has no field 'm'" in decisions[0].detail


def test_a_pair_proposed_twice_keeps_its_best_score():
    proposals = [Proposal(0, 1, 0.2), Proposal(1, 2, 0.5), Proposal(0, 1, 0.9)]
    assert in_order(proposals) == [Proposal(0, 1, 0.9), Proposal(1, 2, 0.5)]


async def test_a_condition_that_blocks_nothing_is_an_error(monkeypatch):
    monkeypatch.setattr(engine.operators.pairs, "MOST_PAIRS", 10)
    rows = [{"x": 1}] * 6
    with pytest.raises(PipelineError, match=r"left\.x == right\.x' holds for more than 10 pairs") as caught:
        await pairs_by_condition(["left.x == right.x"], rows)
    assert "limit_comparisons" in caught.value.advice
    assert len((await pairs_by_condition(["left.x == right.x"], rows[:4]))[0]) == 6
